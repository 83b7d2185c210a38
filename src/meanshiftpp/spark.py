"""Spark: `fit` for data frames, `MeanShiftPP` and `MeanShiftPPModel` for pipelines."""

from meanshiftpp.engines.spark.estimator import MeanShiftPP, MeanShiftPPModel, fit

__all__ = ["MeanShiftPP", "MeanShiftPPModel", "fit"]
