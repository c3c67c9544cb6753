"""The catalogue: one model a file, and what several of them share."""
