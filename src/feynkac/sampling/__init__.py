"""How paths are drawn: randomness, schemes, labels, reference values."""
