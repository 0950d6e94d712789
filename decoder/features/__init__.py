"""Features of block sequences: real-valued ones, binary templates, counts, and learnt phrase channels."""
