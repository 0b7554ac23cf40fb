"""Benchmarks: ratios against public tools, from interleaved pairs in one run on one input. `make bench`."""
