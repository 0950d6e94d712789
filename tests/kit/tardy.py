"""Loaded by a worker of Dask under test: it takes its time to import."""

import time

time.sleep(3)
