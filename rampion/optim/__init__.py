"""How to move the weights: update rules, and the solvers that take a loss to a small value."""
