"""MeanShift++ on Dask: the estimator builds graphs, the tasks run on the workers."""
