"""The beam search over block sequences, and what is read from its graph: k-best lists, lattices, oracles."""
