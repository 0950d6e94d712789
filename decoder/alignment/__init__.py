"""Word alignment of parallel text."""
