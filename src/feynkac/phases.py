"""What a long computation is doing now, told to whoever listens.

The library enters phases and knows no screen: `display.py` shows them, a program of one's own can
do something else with them. Without a listener nothing happens.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """What is done now, and how far it is.

    Example:
        >>> Phase("training", 0.5, "step 5/10").name
        'training'
    """

    name: str
    fraction: float | None = None
    """How much of it is done; None if that is not known."""
    detail: str = ""
    """Figures so far."""
    landmark: bool = False
    """Whether it deserves a line where lines stay, as in a pipe: an error was measured."""


Listener = Callable[[Phase], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send the phases of what is computed inside to `listener`, and to nobody else.

    Example:
        >>> import feynkac as fk
        >>> heard = []
        >>> with fk.listening(lambda phase: heard.append(phase.name)):
        ...     solution = fk.solve(fk.BlackScholes(), steps=2, batch_size=64)
        >>> heard[0], "training" in heard
        ('checking the family', True)
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def heard() -> bool:
    """Whether somebody listens."""
    return _listener.get() is not None


def tell(phase: Phase) -> None:
    """Say what is done now."""
    if (listener := _listener.get()) is not None:
        listener(phase)


def enter(name: str, report: Callable[[float], None] | None = None) -> Callable[[float], None]:
    """Say that a phase begins; the function takes the fraction done, and `report` gets it too.

    Example:
        >>> said = []
        >>> with listening(said.append):
        ...     done = enter("certifying")
        ...     done(0.5)
        >>> [phase.fraction for phase in said]
        [None, 0.5]
    """
    tell(Phase(name))

    def done(fraction: float) -> None:
        tell(Phase(name, fraction))
        if report:
            report(fraction)

    return done
