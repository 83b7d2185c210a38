"""Dask: `MeanShiftPP` for Dask arrays and data frames."""

from meanshiftpp.engines.dask.estimator import MeanShiftPP

__all__ = ["MeanShiftPP"]
