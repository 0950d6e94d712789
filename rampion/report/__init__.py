"""Pages of runs and experiments: each is one HTML file with tables, charts and lists."""
