"""Where a NaN or an infinity arises: the first operation that makes one out of numbers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

WORDS = {
    "sqrt": "the square root of {0}",
    "rsqrt": "one over the square root of {0}",
    "log": "the logarithm of {0}",
    "exp": "the exponential of {0}",
    "pow": "{0} to the power {1}",
    "div": "{0} divided by {1}",
    "true_divide": "{0} divided by {1}",
    "rdiv": "{1} divided by {0}",
    "reciprocal": "1 divided by {0}",
}


class Origin(TorchFunctionMode):
    """Watches what is evaluated inside it.

    Example:
        >>> with Origin() as origin:
        ...     _ = torch.tensor([1.0, -4.0]).sqrt() + 1.0
        >>> origin.sentence
        'the square root of -4'
    """

    sentence: str | None = None
    """The operation in words; None if all is finite, or was computed elsewhere than in torch."""

    def __torch_function__(
        self, func: Callable[..., Any], _types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call `func`; remember it if it is the first to fail."""
        result = func(*args, **(kwargs or {}))
        if self.sentence is None and _is_bad(result) and not any(map(_is_bad, args)):
            self.sentence = _in_words(func.__name__, args, result)
        return result


def _is_bad(value: Any) -> bool:
    return isinstance(value, Tensor) and not bool(value.isfinite().all())


def _in_words(operation: str, args: tuple[Any, ...], result: Tensor) -> str:
    name = operation.strip("_")
    if name not in WORDS:
        return f"torch's {name}"
    place = tuple((~result.isfinite()).nonzero()[0].tolist())
    return WORDS[name].format(*(_number(arg, result.shape, place) for arg in args))


def _number(arg: Any, shape: torch.Size, place: tuple[int, ...]) -> str:
    value = arg.expand(shape)[place].item() if isinstance(arg, Tensor) else arg
    return f"{value:.4g}"
