"""Runs, told: the folder that a run leaves, and the page that shows it."""

from rampion.report.folder import RunFolder, manifest

__all__ = ["RunFolder", "manifest"]
