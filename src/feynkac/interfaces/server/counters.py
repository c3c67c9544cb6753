"""Counts and times of requests, as Prometheus reads them."""

import bisect
import time
from collections import Counter
from dataclasses import dataclass, field

EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Of the histogram, in seconds."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class Counters:
    """All that `/metrics` tells; used from the event loop alone."""

    started: float = field(default_factory=time.time)
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    points: Counter[str] = field(default_factory=Counter)
    buckets: dict[str, list[int]] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0

    def count(self, route: str, status: int, seconds: float) -> None:
        """One answered request."""
        self.requests[route, status] += 1
        buckets = self.buckets.setdefault(route, [0] * (len(EDGES) + 1))
        buckets[bisect.bisect_left(EDGES, seconds)] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]

    def text(self, gauges: dict[str, float]) -> str:
        """Prometheus' text format."""
        lines = ["# TYPE feynkac_requests_total counter"]
        for (route, status), number in sorted(self.requests.items()):
            lines.append(f'feynkac_requests_total{{route="{route}",status="{status}"}} {number}')
        lines.append("# HELP feynkac_points_total Inputs of requests for values.")
        lines.append("# TYPE feynkac_points_total counter")
        for name, number in sorted(self.points.items()):
            lines.append(f'feynkac_points_total{{solution="{name}"}} {number}')
        lines.append("# TYPE feynkac_request_seconds histogram")
        for route in sorted(self.buckets):
            lines += self._histogram(route)
        gauges = {"in_flight": self.in_flight, "start_time_seconds": self.started, **gauges}
        for name, value in gauges.items():
            lines += [f"# TYPE feynkac_{name} gauge", f"feynkac_{name} {value:.15g}"]
        return "\n".join(lines) + "\n"

    def _histogram(self, route: str) -> list[str]:
        total, lines = 0, []
        for edge, number in zip((*EDGES, "+Inf"), self.buckets[route], strict=True):
            total += number
            labels = f'route="{route}",le="{edge}"'
            lines.append(f"feynkac_request_seconds_bucket{{{labels}}} {total}")
        lines.append(f'feynkac_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.9g}')
        return [*lines, f'feynkac_request_seconds_count{{route="{route}"}} {total}']
