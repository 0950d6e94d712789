"""The page of a run or of an experiment: one HTML file with its tables, charts and lists."""
