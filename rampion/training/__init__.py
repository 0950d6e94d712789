"""Training: recipes, candidate policies, the loop with a decoder, tuning on lists, and the estimator."""
