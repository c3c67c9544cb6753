"""A run: its settings, its folder, its result on disk."""
