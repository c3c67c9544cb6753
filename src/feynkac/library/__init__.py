"""Solutions in the box: what there is, where it is kept, how it is made."""
