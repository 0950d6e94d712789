"""Parallel text: reading, cleaning and tokenising corpora, coverage of a test text, and invented languages."""
