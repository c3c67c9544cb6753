"""Answers as JSON-ready data: arrays as lists, and null for numbers that are not finite."""

import math
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Nested dictionaries, lists and numbers.

    Example:
        >>> plain({"u": np.array([1.0, np.nan])})
        {'u': [1.0, None]}
    """
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
