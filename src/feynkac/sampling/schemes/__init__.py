"""How S_t is drawn: the schemes, and the vector fields and flows they are made of."""
