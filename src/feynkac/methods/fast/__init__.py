"""Smooth networks fitted to means and slopes of many paths per input."""
