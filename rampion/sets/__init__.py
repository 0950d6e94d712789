"""Relevant sets as data: records of decoded candidates, and their packed form for online training."""
