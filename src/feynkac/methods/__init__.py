"""How a family is solved: a method chooses all settings and says what is minimised."""

from feynkac.methods.fast.fast import Fast
from feynkac.methods.method import Method
from feynkac.methods.paper import Paper

__all__ = ["Fast", "Method", "Paper"]
