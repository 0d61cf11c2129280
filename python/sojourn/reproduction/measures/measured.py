"""What a measure is, and what it finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sojourn.analysis.statistics import Interval
from sojourn.reproduction.results import Point, Result

Results: TypeAlias = Mapping[str, Result]


@dataclass(frozen=True)
class Measured:
    """The values that a measure found, one for each combination that it looked at.

    `unfinished` counts the jobs that belong there and are in none of the values, `most_unfinished`
    is their largest share of a case; `late` is the largest share of a case's bytes in jobs that
    were not done when the last one arrived; `lacking` counts the cases of which no replication is
    run yet; `too_short` says why fairness is withheld, where the runs are too short for it.
    """

    points: tuple[Point, ...]
    unfinished: int = 0
    most_unfinished: float = 0
    late: float = 0
    lacking: int = 0
    too_short: str | None = None

    @property
    def ends(self) -> tuple[Point, Point]:
        """The smallest and the largest, which may be the same one."""
        ranked = sorted(self.points, key=lambda point: point.value)
        return ranked[0], ranked[-1]

    @property
    def ci95(self) -> Interval | None:
        """From the lower end of the smallest value's interval to the upper of the largest's."""
        low, high = (point.ci95 for point in self.ends)
        return (low[0], high[1]) if low and high else None


class Measure(Protocol):
    """One way to measure: its parameters, the runs it needs, and what it finds in them."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""

    def __call__(self, results: Results) -> Measured:
        """Measure.

        Raises:
            InputError: a run cannot be read.
        """


@dataclass(frozen=True)
class OfRun:
    """What measures have in common that look at one run."""

    run: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)
