"""The catalogue: one model per file, and what several of them share."""
