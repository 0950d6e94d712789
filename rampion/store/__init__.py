"""What candidates are: texts, named features and weights, and the arrays that the kernels read."""
