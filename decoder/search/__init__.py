"""The beam search over block sequences, and k-best lists, lattices and oracles from its graphs."""
