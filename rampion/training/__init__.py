"""The loop around losses and solvers: recipes, candidate policies, tuning, and the estimator."""
