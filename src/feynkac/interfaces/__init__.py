"""Use of the library from outside Python: the command line."""
