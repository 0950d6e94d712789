"""Loaded by a worker of Dask under test: it is of another version."""

from rampion.executors import tasks

tasks.__version__ = "0.0.9"
