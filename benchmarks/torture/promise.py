"""A promise, and what became of it when it was tried."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Trial:
    """Cases tried so far, and a sentence for each that failed."""

    quick: bool = False
    """Whether to try about a tenth of the cases."""
    cases: int = 0
    failures: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)
    """Further numbers worth publishing, by name."""

    def count(self, many: int, few: int | None = None) -> int:
        """How many cases: `many`, or when in a hurry `few` (by default a tenth)."""
        return (few or max(1, many // 10)) if self.quick else many

    def check(self, good: bool, what: str) -> None:
        """One case."""
        self.cases += 1
        if not good:
            self.fail(what)

    def fail(self, what: str) -> None:
        """Remember a failure, and print it at once: a trial may take long."""
        self.failures.append(what)
        print(f"    {what}", file=sys.stderr, flush=True)

    @contextmanager
    def case(self, what: str) -> Iterator[None]:
        """One case that fails by raising anything."""
        self.cases += 1
        try:
            yield
        except Exception as error:
            self.fail(f"{what}: {type(error).__name__}: {error}"[:500])


@dataclass(frozen=True)
class Promise:
    """What the program promises, how that is tried, and the function that tries it."""

    name: str
    says: str
    tried: str
    run: Callable[[Trial], None]


@dataclass(frozen=True)
class Verdict:
    """What became of a promise."""

    promise: Promise
    cases: int
    failures: list[str]
    figures: dict[str, str]
    seconds: float

    @property
    def line(self) -> str:
        """For people: name, cases tried, failures, seconds, figures."""
        figures = "".join(f"; {name} {value}" for name, value in self.figures.items())
        return (
            f"{self.promise.name:<34} {self.cases:>6} cases {len(self.failures):>4} failures "
            f"{self.seconds:>8.1f} s{figures}"
        )


def put_to_the_test(promise: Promise, quick: bool) -> Verdict:
    """Try it; an exception that nobody expected is a failure as well."""
    trial, start = Trial(quick), time.perf_counter()
    try:
        promise.run(trial)
    except Exception as error:
        trial.fail(f"the trial itself broke off: {type(error).__name__}: {error}")
    seconds = time.perf_counter() - start
    return Verdict(promise, trial.cases, trial.failures, trial.figures, seconds)
