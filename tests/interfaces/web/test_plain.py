import math

import numpy as np

from feynkac.interfaces.web.plain import plain


def test_arrays_become_lists_and_what_is_not_finite_null():
    data = {
        "a": np.array([[1.0, math.inf]]),
        "b": (1, "x", None),
        "c": np.float64("nan"),
        "d": True,
    }
    assert plain(data) == {"a": [[1.0, None]], "b": [1, "x", None], "c": None, "d": True}
