"""Small pictures as SVG text, for notebooks; figures for papers are in `plotting/`.

They have the colour of the text around them, so that they can be read on dark pages too.
"""

import math
from collections.abc import Callable, Sequence
from html import escape

WIDTH, HEIGHT, MARGIN, FOOT = 240, 110, 8, 16


def curve(x: Sequence[float], y: Sequence[float], label: str) -> str:
    """y over x as a line; what is not finite is left out.

    Example:
        >>> curve([0.0, 1.0], [1.0, 2.0], "u over x").count("polyline")
        1
    """
    points = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    if len(points) < 2:
        return ""
    across, up = (_scale([p[i] for p in points]) for i in (0, 1))
    path = " ".join(
        f"{MARGIN + across(a) * (WIDTH - 2 * MARGIN):.1f},{_down(up(b)):.1f}" for a, b in points
    )
    line = f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="2"/>'
    return _svg(line, label)


def intervals(
    middle: Sequence[float], half: Sequence[float], label: str, level: float = 0.0
) -> str:
    """Points with error bars, and a dashed line at `level`.

    Example:
        >>> intervals([0.1, -0.2], [0.3, 0.1], "network − u").count("<circle")
        2
    """
    bars = [(m, h) for m, h in zip(middle, half, strict=True) if math.isfinite(m + h)]
    if not bars:
        return ""
    up = _scale([level, *(m + s * h for m, h in bars for s in (-1.0, 1.0))])
    step = (WIDTH - 2 * MARGIN) / len(bars)
    parts = [
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{_down(up(level)):.1f}" '
        f'y2="{_down(up(level)):.1f}" stroke="currentColor" stroke-dasharray="3" opacity="0.6"/>'
    ]
    for i, (m, h) in enumerate(bars):
        x = MARGIN + (i + 0.5) * step
        low, high = _down(up(m - h)), _down(up(m + h))
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" '
            'stroke="currentColor"/>'
            f'<circle cx="{x:.1f}" cy="{_down(up(m)):.1f}" r="2" fill="currentColor"/>'
        )
    return _svg("".join(parts), label)


def bars(values: Sequence[float], label: str) -> str:
    """One bar per value, from 0; what is not finite has none.

    Example:
        >>> bars([1.0, 2.0, float("nan")], "u").count("<rect")
        2
    """
    known = [v for v in values if math.isfinite(v)]
    if not known:
        return ""
    up, step = _scale([0.0, *known]), (WIDTH - 2 * MARGIN) / len(values)
    parts = []
    for i, v in enumerate(values):
        if math.isfinite(v):
            top, foot = sorted((_down(up(v)), _down(up(0.0))))
            parts.append(
                f'<rect x="{MARGIN + i * step:.1f}" y="{top:.1f}" width="{0.85 * step:.1f}" '
                f'height="{max(0.5, foot - top):.1f}" fill="currentColor" opacity="0.7"/>'
            )
    return _svg("".join(parts), label)


def _scale(numbers: Sequence[float]) -> Callable[[float], float]:
    """From numbers to the unit interval."""
    low, high = min(numbers), max(numbers)
    return lambda number: (number - low) / (high - low) if high > low else 0.5


def _down(share: float) -> float:
    """SVG counts from the top."""
    return HEIGHT - FOOT - MARGIN - share * (HEIGHT - FOOT - 2 * MARGIN)


def _svg(content: str, label: str) -> str:
    text = (
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 4}" text-anchor="middle" font-size="11" '
        f'fill="currentColor">{escape(label)}</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img" aria-label="{escape(label)}">{content}{text}</svg>'
    )
