"""How a family is solved: a method chooses all settings and says what is minimised."""
