"""The kernels in plain Python, written from their definitions: the oracle of tests, the baseline of benchmarks."""
