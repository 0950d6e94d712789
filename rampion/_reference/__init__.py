"""The kernels in plain Python, written from their definitions: twin, oracle of the tests, baseline of the benchmarks."""
