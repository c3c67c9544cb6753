"""What turns gradients into steps, as settings."""
