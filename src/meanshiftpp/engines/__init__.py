"""Clusters of machines: Dask and Spark."""
