"""Is a family what it says it is? One ordered list of checks; `solve` runs the quick ones."""
