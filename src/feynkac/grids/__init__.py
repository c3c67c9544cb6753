"""Finite differences: u at all x and t of a parameter set, for states of few dimensions."""
