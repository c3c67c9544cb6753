"""Accuracy and time on problems with known answers."""
