"""Compiled kernels: loops only. Each module has a twin of the same name in decoder._reference."""
