"""Numbers as text for people:  3.91e-05 ± 4.2e-07  has two digits of the error, no more.

A number without an error has three significant digits.
"""

import math

FLOAT32 = 1e-6  # relative; more digits of a network mean nothing
SMALL, LARGE = 1e-3, 1e6  # beyond them a power of ten is easier to read than zeros


def figure(value: float | None, se: float | None) -> str:
    """A number ± its standard error, both to the error's second digit; – if unknown.

    Example:
        >>> figure(3.9123e-05, 4.2e-07)
        '3.912e-05 ± 4.2e-07'
        >>> figure(0.0123456, 0.0004)
        '0.01235 ± 0.00040'
    """
    if value is None or not math.isfinite(value):
        return f"{number(value)} ± {number(se)}"
    if se is None or not math.isfinite(se) or se <= 0.0:
        return f"{number(value)} ± {'0' if se == 0.0 else number(se)}"
    place = math.floor(math.log10(se)) - 1
    if max(abs(value), se) < SMALL:
        digits = max(1, math.floor(math.log10(max(abs(value), se))) - place)
        return f"{value:.{digits}e} ± {se:.1e}"
    places = max(0, -place)
    return f"{value:.{places}f} ± {se:.{places}f}"


def number(value: float | None) -> str:
    """Three significant digits; – if it could not be measured.

    Example:
        >>> number(0.0123456), number(3.9123e-05), number(0.0), number(None)
        ('0.0123', '3.91e-05', '0', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if value == 0.0 or math.isinf(value):
        return f"{value:g}"
    if not SMALL <= abs(value) < LARGE:
        return f"{value:.2e}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def significant(value: float) -> str:
    """Seven significant digits, as many as the network's float32 has.

    Example:
        >>> significant(1.93028312), significant(3.91e-05), significant(2.0)
        ('1.930283', '3.91e-05', '2')
    """
    return f"{value:.7g}"


def to_digit(value: float, error: float) -> str:
    """A number to the second digit of its error.

    Example:
        >>> to_digit(1.93028312, 0.00012), to_digit(123456.0, 340.0)
        ('1.93028', '123456')
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0.0):
        return significant(value)
    places = 1 - math.floor(math.log10(error))
    return f"{value:.{min(12, max(0, places))}f}" if abs(value) < 1e9 else significant(value)


def error_text(value: float | None, se: float | None, low: float | None, high: float | None) -> str:
    """An error ± its standard error, or an upper bound if noise may explain all of it.

    Example:
        >>> error_text(3e-5, 6e-5, 0.0, 1.5e-4)
        'at most 1.50e-04'
    """
    if value and low == 0.0 and high:
        return f"at most {number(high)}"
    return figure(value, se)
