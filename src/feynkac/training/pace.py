r"""The completed fraction s(k) of a run after k steps.

A run of n steps has  s(k) = k/n. A run with a wall-clock budget estimates during training how
many steps fit. When the estimate changes at a step k_j, a segment is added, in which

    s(k) = s(k_j) + (1 − s(k_j)) (k − k_j) / (n_j − k_j),    k_j ≤ k ≤ n_j.

Learning rates are functions of k and s(k). Segments are saved before the first step that uses them,
so a resumed run repeats its past to the bit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

LONGEST_GAP, SHORTEST_GAP = 0.1, 0.005  # of the budget, between two estimates
EARLY = (3, 10)  # steps after which the first estimates are made again
FEW_STEPS = 50


class Segment(NamedTuple):
    """From step `start` on, the run is planned to end at step `end`."""

    start: int
    end: int


@dataclass(frozen=True)
class Pace:
    """The segments of a run, in order.

    Example:
        >>> pace = Pace.of(10).ending(at=5, end=15)
        >>> pace.fraction(5), pace.fraction(10), pace.steps
        (0.5, 0.75, 15)
    """

    segments: tuple[Segment, ...]

    @classmethod
    def of(cls, steps: int) -> Self:
        """A run of a given number of steps."""
        return cls((Segment(0, steps),))

    @property
    def steps(self) -> int:
        """Planned length of the run."""
        return self.segments[-1].end

    @property
    def settled(self) -> int:
        """The step before which the pace cannot change any more."""
        return self.segments[-1].start

    def fraction(self, step: int) -> float:
        """s(step), between 0 and 1."""
        done = 0.0
        for segment, following in zip(self.segments, (*self.segments[1:], None), strict=True):
            until = step if following is None else min(step, following.start)
            if segment.end > segment.start:
                done += (1.0 - done) * (until - segment.start) / (segment.end - segment.start)
            if following is None or step <= following.start:
                break
        return 1.0 if step >= self.steps else done

    def closed(self) -> "Pace":
        """The same pace with its end settled."""
        last = Segment(self.steps, self.steps)
        return self if self.segments[-1] == last else Pace((*self.segments, last))

    def ending(self, at: int, end: int) -> "Pace":
        """The same up to step `at`, then evenly to `end`; unchanged if it already ends there."""
        return self if end == self.steps else Pace((*self.segments, Segment(at, end)))


def read_pace(segments: Sequence[Sequence[int]]) -> Pace:
    """The pace with these segments.

    Raises:
        ValueError: they are not in order, or not made of whole numbers.

    Example:
        >>> read_pace([[0, 10], [5, 15]]).steps
        15
    """
    pace = Pace(tuple(Segment(*pair) for pair in segments))
    starts = [segment.start for segment in pace.segments]
    whole = all(type(number) is int for pair in segments for number in pair)
    if not (whole and starts and starts[0] == 0 and starts == sorted(starts)):
        raise ValueError(f"no pace has the segments {segments}")
    if any(segment.end < segment.start for segment in pace.segments):
        raise ValueError(f"no pace has the segments {segments}")
    return pace


@dataclass
class Pacemaker:
    """Keeps a run within its budget: reads the clock and moves the end of the run.

    It estimates again after a few steps, whenever a tenth of the budget or half of the remaining
    time has passed, and when half of the planned remaining steps are done.
    """

    budget: float
    """Seconds."""
    spent: Callable[[], float]
    """Seconds spent so far."""
    reserved: Callable[[], float]
    """Seconds still needed for evaluations and saving."""
    aside: Callable[[], float] = lambda: 0.0
    """Seconds spent on evaluations so far; they do not count as time of steps."""
    _mark: tuple[int, float] | None = None
    """Step and seconds of work at the last estimate."""
    _due: tuple[float, float] = (0.0, 0.0)
    """Step and seconds spent at which the next estimate is due."""

    def end(self, step: int, pace: Pace) -> int:
        """The end of a run that has just finished `step`."""
        if step < pace.settled or step == pace.steps:
            return pace.steps  # it repeats saved segments, or has ended
        now = self.spent()
        working, left = now - self.aside(), self.budget - now - self.reserved()
        if self._mark is None:
            self._look_again(step, now, working, pace.steps)
            return pace.steps if left > 0.0 else step
        each = (working - self._mark[1]) / max(1, step - self._mark[0])
        if left < 0.5 * each:
            return step
        if step not in EARLY and step < self._due[0] and now < self._due[1]:
            return pace.steps
        end = step + max(1, round(left / each))
        self._look_again(step, now, working, end)
        return end

    def _look_again(self, step: int, now: float, working: float, end: int) -> None:
        gap = min(LONGEST_GAP * self.budget, 0.5 * (self.budget - now))
        self._mark = (step, working)
        self._due = (step + 0.5 * (end - step), now + max(gap, SHORTEST_GAP * self.budget))
