"""Function classes: normalised inputs, the paper's multilevel network, feed-forward."""
