"""Runs worth repeating, with tables and figures: the demo."""
