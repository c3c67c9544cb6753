"""Ways to use the library from outside Python: the command line."""
