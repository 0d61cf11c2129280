"""The ways in which a claim can be measured: a closed set, each with a few parameters as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import hypot
from typing import Any, Protocol, TypeAlias

import numpy as np

from sojourn.ledger import Value
from sojourn.reproduce.results import Cell, Point, Result
from sojourn.statistics import Interval, sum_ratio_interval

Results: TypeAlias = Mapping[str, Result]


@dataclass(frozen=True)
class Measured:
    """The values that a measure found, one for each combination that it looked at.

    `unfinished` counts the flows that belong there and are in none of the values; `late` is the
    largest share of a case's bytes in flows that were not done when the last one arrived; `lacking`
    counts the cases that are not run yet.
    """

    points: tuple[Point, ...]
    unfinished: int = 0
    late: float = 0
    lacking: int = 0

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
class Level:
    """A statistic of the slowdowns of a size bin under each scheme, at each value of `at`.

    Without `at`, at all values along the run's axis.
    """

    run: str
    schemes: tuple[str, ...]
    bin: str
    statistic: str
    at: tuple[Value, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        result = results[self.run]
        cells = [
            result.cell(scheme, x, self.bin)
            for scheme, x in product(self.schemes, self.at or result.values)
        ]
        return _measured((cell.point(self.statistic) for cell in cells), cells)


@dataclass(frozen=True)
class Ratio:
    """A statistic under each scheme of `of` over that under each of `to`, at the same value."""

    runs: tuple[str, ...]
    of: tuple[str, ...]
    to: tuple[str, ...]
    bin: str
    statistic: str
    at: tuple[Value, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return self.runs

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        pairs = [
            (result.cell(of, x, self.bin), result.cell(to, x, self.bin))
            for result in (results[run] for run in self.runs)
            for x, of, to in product(self.at or result.values, self.of, self.to)
        ]
        points = (above.over(below, self.statistic) for above, below in pairs)
        return _measured(points, [cell for pair in pairs for cell in pair])


@dataclass(frozen=True)
class Choice:
    """A statistic under each scheme at the value `at` along the axis, over that at each of `than`.

    What it costs to have chosen `at`: below 1, it was the better choice.
    """

    run: str
    schemes: tuple[str, ...]
    at: Value
    than: tuple[Value, ...]
    bin: str
    statistic: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        result = results[self.run]
        pairs = [
            (result.cell(scheme, self.at, self.bin), result.cell(scheme, other, self.bin))
            for scheme, other in product(self.schemes, self.than)
        ]
        points = (chosen.over(other, self.statistic) for chosen, other in pairs)
        return _measured(points, [cell for pair in pairs for cell in pair])


@dataclass(frozen=True)
class Lead:
    """A ratio, as `Ratio` measures it, in one run over the same ratio in another."""

    run: str
    than: str
    of: tuple[str, ...]
    to: tuple[str, ...]
    bin: str
    statistic: str
    at: tuple[Value, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return self.run, self.than

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        ours, theirs = (
            Ratio((run,), self.of, self.to, self.bin, self.statistic, self.at)(results)
            for run in self.needs
        )
        comparable = len(ours.points) == len(theirs.points)
        pairs = zip(ours.points, theirs.points, strict=True) if comparable else ()
        return Measured(
            points=tuple(_quotient(a, b) for a, b in pairs),
            unfinished=ours.unfinished + theirs.unfinished,
            late=max(ours.late, theirs.late),
            lacking=ours.lacking + theirs.lacking,
        )


@dataclass(frozen=True)
class Share:
    """The share of the arriving flows, or of their bytes, that flows of `(above, upto]` are."""

    run: str
    of: str
    above: float = 0
    upto: float = np.inf

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        sections = results[self.run].sizes()
        weights = [section if self.of == "bytes" else np.ones_like(section) for section in sections]
        chosen = [(section > self.above) & (section <= self.upto) for section in sections]
        over = np.array([weight[mine].sum() for weight, mine in zip(weights, chosen, strict=True)])
        under = np.array([weight.sum() for weight in weights])
        value = float(over.sum() / under.sum())
        return Measured((Point(value, sum_ratio_interval(over, under)),))


@dataclass(frozen=True)
class Waste:
    """The share of the data packets sent by hosts that switches drop.

    Of the packets delivered, every second is an acknowledgement.
    """

    run: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        totals = [
            [
                float(record.figures["packets_dropped_at_switches"]),
                float(record.figures["packets_delivered"]) / 2,
            ]
            for record in results[self.run].run.ledger
        ]
        dropped, delivered = np.array(totals).T
        sent = dropped + delivered
        value = float(dropped.sum() / sent.sum())
        return Measured((Point(value, sum_ratio_interval(dropped, sent)),))


KINDS: dict[str, type[Measure]] = {
    "level": Level,
    "ratio": Ratio,
    "choice": Choice,
    "lead": Lead,
    "share": Share,
    "waste": Waste,
}


def measure_of(table: Mapping[str, Any]) -> Measure:
    """The measure that a table of data names by `kind` and gives parameters to."""
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in table.items()
        if name != "kind"
    }
    return KINDS[table["kind"]](**parameters)


def _measured(points: Iterable[Point | None], cells: Iterable[Cell]) -> Measured:
    looked_at = {(cell.run, cell.at, cell.scheme): cell for cell in cells}.values()
    return Measured(
        points=tuple(point for point in points if point),
        unfinished=sum(cell.unfinished for cell in looked_at),
        late=max(cell.late for cell in looked_at),
        lacking=sum(not cell.sample.parts for cell in looked_at),
    )


def _quotient(above: Point, below: Point) -> Point:
    """One value over another that is independent of it: relative widths add as squares."""
    value = above.value / below.value
    where = f"{above.where}, over the same in {below.where.partition(' ')[0]}"
    if not (above.ci95 and below.ci95):
        return Point(value, None, where)
    ours, theirs = above.ci95[1] - above.ci95[0], below.ci95[1] - below.ci95[0]
    half = value * hypot(ours / above.value, theirs / below.value) / 2
    return Point(value, (value - half, value + half), where)
