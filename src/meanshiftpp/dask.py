"""Dask: `MeanShiftPP` for Dask arrays and data frames."""

from meanshiftpp.engines.dask import MeanShiftPP

__all__ = ["MeanShiftPP"]
