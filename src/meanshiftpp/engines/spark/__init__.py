"""MeanShift++ on Spark: the estimator runs on the driver, the tasks on the executors."""
