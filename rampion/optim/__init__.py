"""How weights move: update rules, and the solvers that minimise a loss."""
