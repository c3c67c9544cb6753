"""What can go wrong, in few words. Every message says what was expected, what came, what to do."""


class FeynkacError(Exception):
    """Base of all errors that feynkac raises on purpose."""


class InputError(FeynkacError, ValueError):
    """The caller gave something that cannot be used (exit code 2)."""


class ArtifactError(InputError):
    """A saved solution or run is missing, damaged or of another kind (exit code 2)."""


class NonFiniteError(FeynkacError, ArithmeticError):
    """A NaN or an infinity arose while training (exit code 1)."""


class FeynkacWarning(UserWarning):
    """A result that deserves less trust than it seems to."""


class Interrupted(FeynkacError):  # noqa: N818  (nothing went wrong)
    """The user stopped the run; its state has been kept in its folder, if it has one (code 130)."""
