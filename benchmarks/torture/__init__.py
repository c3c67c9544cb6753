"""Promises of the program, each tried by many cases: `python -m benchmarks.torture [--quick]`."""
