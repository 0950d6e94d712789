"""Looking at lists and results: inspection, significance, and exact solutions of small problems."""
