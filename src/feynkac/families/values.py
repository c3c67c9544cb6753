"""Values of variables as users give them: by name, as numbers, lists, arrays or tensors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from feynkac.errors import InputError

At = Mapping[str, Any] | None
"""Values of variables by name, or none but those given as keywords."""


def by_name(at: At, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Values of variables, given as one mapping, as keywords, or some this way and some that.

    The mapping serves variables whose names are also options of the method that is called.

    Example:
        >>> by_name({"noise": 0.3}, {"x": 9.5})
        {'noise': 0.3, 'x': 9.5}
    """
    if at is None:
        return dict(keywords)
    if not isinstance(at, Mapping):
        raise InputError(
            "variables are given as keywords or as one mapping by name, as in "
            f"{{'x': 9.5, 't': 0.5}}; got {type(at).__name__}."
        )
    if twice := [name for name in at if name in keywords]:
        raise InputError(f"{twice[0]} is given twice, in the mapping and as a keyword.")
    return {**at, **keywords}


def as_variable(name: str, shape: tuple[int, ...], value: Any) -> Tensor:
    """A value of the variable `name`; a single number fills its shape.

    Shape: `(…, *shape)`.

    Raises:
        InputError: it is not a real number or an array of them, or has another shape.

    Example:
        >>> as_variable("x", (2,), 0.5)
        tensor([0.5000, 0.5000], dtype=torch.float64)
    """
    try:
        tensor = _as_tensor(value)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{name} must be a number or an array, got {value!r}.") from error
    if tensor.is_complex():
        raise InputError(f"{name} must be a real number or an array of them, got {value!r}.")
    rank = len(shape)
    if tensor.ndim == 0:
        return tensor.expand(shape)
    if tensor.ndim < rank or tuple(tensor.shape[tensor.ndim - rank :]) != shape:
        expected = ", ".join(["…", *map(str, shape)])
        raise InputError(f"{name} must have shape ({expected}), got {tuple(tensor.shape)}.")
    return tensor


def _as_tensor(value: Any) -> Tensor:
    """Tensors and arrays as they are, gradients included; all else as float64."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        # torch takes no negative strides and warns of read-only arrays
        usable = value.flags.writeable and all(step >= 0 for step in value.strides)
        return torch.as_tensor(value if usable else value.copy())
    if _holds_tensors(value):  # torch.as_tensor would cut their gradients off
        return torch.stack([_as_tensor(v).to(torch.float64) for v in value])
    return torch.as_tensor(value, dtype=torch.float64)


def _holds_tensors(value: Any) -> bool:
    listed = isinstance(value, list | tuple)
    return listed and any(isinstance(v, Tensor) or _holds_tensors(v) for v in value)
