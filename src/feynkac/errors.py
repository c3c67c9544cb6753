"""What can go wrong, in few words. Every message says what was expected, what came, what to do."""


class FeynkacError(Exception):
    """Base of all errors that feynkac raises on purpose.

    Example:
        >>> issubclass(InputError, FeynkacError)
        True
    """


class InputError(FeynkacError, ValueError):
    """The caller gave something that cannot be used (exit code 2).

    Example:
        >>> import feynkac as fk
        >>> try:
        ...     fk.Box(2.0, 1.0)
        ... except fk.InputError as error:
        ...     print(type(error).__name__)
        InputError
    """


class ArtifactError(InputError):
    """A saved solution or run is missing, damaged or of another kind (exit code 2).

    Example:
        >>> import feynkac as fk
        >>> try:
        ...     fk.load("nowhere")
        ... except fk.ArtifactError as error:
        ...     print(error)
        nowhere holds no solution: there is no manifest.json in it.
    """


class NonFiniteError(FeynkacError, ArithmeticError):
    """A NaN or an infinity arose while training (exit code 1).

    Example:
        >>> issubclass(NonFiniteError, FeynkacError)
        True
    """


class FeynkacWarning(UserWarning):
    """A result that deserves less trust than it seems to.

    Example:
        >>> issubclass(FeynkacWarning, UserWarning)
        True
    """


class Interrupted(FeynkacError):  # noqa: N818  (nothing went wrong)
    """The user stopped the run; its state has been kept in its folder, if it has one (code 130).

    Example:
        >>> import feynkac as fk
        >>> try:
        ...     fk.solve(fk.BlackScholes(), steps=9, batch_size=16, report=lambda p: p.step == 2)
        ... except fk.Interrupted as error:
        ...     print(error)
        stopped at step 2 of 9
    """
