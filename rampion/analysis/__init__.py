"""Analysis of lists and results: inspection, significance tests, and exact solutions of small problems."""
