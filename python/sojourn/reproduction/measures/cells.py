"""Measures of jobs: a quantity in some cells of a run, alone or over that in others."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, product
from math import hypot, inf

import numpy as np

from sojourn._internal.units import count
from sojourn.analysis.fairness import NoAverageError
from sojourn.analysis.intervals import sectioned_interval
from sojourn.reproduction.measures.measured import Measured, OfRun, Results
from sojourn.reproduction.results import Cell, Point, Quantity
from sojourn.store.ledger import Value


@dataclass(frozen=True)
class Level(OfRun):
    """A quantity in each line, at each value of `at`.

    Without `at`, at all values along the run's axis.
    """

    lines: tuple[str, ...]
    what: Quantity
    at: tuple[Value, ...] = ()

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        result = results[self.run]
        cells = [
            result.cell(line, x, self.what)
            for line, x in product(self.lines, self.at or result.values)
        ]
        lacking = 0 if self.at else result.run.lacking
        return _measured((cell.point() for cell in cells), cells, lacking)


@dataclass(frozen=True)
class Averaged(OfRun):
    """How evenly long flows share over the averaging time `over`, in each line at each of `at`.

    `statistic` is one of `fairness.STATISTICS`.
    """

    lines: tuple[str, ...]
    at: tuple[Value, ...]
    over: str
    statistic: str
    jobs: str = "bulk"

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        result = results[self.run]
        points: list[Point] = []
        lacking, too_short = 0, None
        for line, x in product(self.lines, self.at):
            try:
                found = result.fairness(line, x, self.jobs, [self.over])
            except NoAverageError:
                too_short = f"no run is long enough for an average over {self.over}"
                continue
            lacking += not found
            for own in found:
                if own.withheld:
                    too_short = own.withheld.why
                if own.shares:
                    value = getattr(own.shares, self.statistic)
                    where = f"{result.name} at {result.axis} {x}: {line}, over {self.over}"
                    ends = own.ci95.get(self.statistic)
                    points.append(Point(inf if value is None else value, ends, where))
        return Measured(tuple(points), lacking=lacking, too_short=too_short)


@dataclass(frozen=True)
class Ratio:
    """A quantity in each line of `of` over that in each of `to`, at the same value."""

    runs: tuple[str, ...]
    of: tuple[str, ...]
    to: tuple[str, ...]
    what: Quantity
    at: tuple[Value, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return self.runs

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        own = [results[run] for run in self.runs]
        pairs = [
            (result.cell(of, x, self.what), result.cell(to, x, self.what))
            for result in own
            for x, of, to in product(self.at or result.values, self.of, self.to)
        ]
        return _compared(pairs, 0 if self.at else sum(result.run.lacking for result in own))


@dataclass(frozen=True)
class Choice(OfRun):
    """A quantity in each line at the value `at` along the axis, over that at each of `than`.

    What it costs to have chosen `at`: below 1, it was the better choice.
    """

    lines: tuple[str, ...]
    at: Value
    than: tuple[Value, ...]
    what: Quantity

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        result = results[self.run]
        pairs = [
            (result.cell(line, self.at, self.what), result.cell(line, other, self.what))
            for line, other in product(self.lines, self.than)
        ]
        return _compared(pairs)


@dataclass(frozen=True)
class Steps(OfRun):
    """A quantity in each line at each value along the axis over that at the value before it."""

    lines: tuple[str, ...]
    what: Quantity

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        result = results[self.run]
        pairs = [
            (result.cell(line, value, self.what), result.cell(line, before, self.what))
            for line, (before, value) in product(self.lines, pairwise(result.values))
        ]
        return _compared(pairs, result.run.lacking)


@dataclass(frozen=True)
class Lead:
    """A ratio, as `Ratio` measures it, in one run over the same ratio in another."""

    run: str
    than: str
    of: tuple[str, ...]
    to: tuple[str, ...]
    what: Quantity
    at: tuple[Value, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return self.run, self.than

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        ours, theirs = (
            Ratio((run,), self.of, self.to, self.what, self.at)(results) for run in self.needs
        )
        comparable = len(ours.points) == len(theirs.points)
        pairs = zip(ours.points, theirs.points, strict=True) if comparable else ()
        return Measured(
            points=tuple(_quotient(a, b) for a, b in pairs),
            unfinished=ours.unfinished + theirs.unfinished,
            most_unfinished=max(ours.most_unfinished, theirs.most_unfinished),
            late=max(ours.late, theirs.late),
            lacking=ours.lacking + theirs.lacking,
        )


@dataclass(frozen=True)
class Attained(OfRun):
    """The share of replications in which the metric of each job is at least `least`."""

    line: str
    at: Value
    least: float
    what: Quantity

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        cell = results[self.run].cell(self.line, self.at, self.what)
        if len(cell.sample.parts) < 2:
            return _measured((), [cell])
        attained = np.array([float(own.min() >= self.least) for own in cell.replications()])
        where = f"{cell.run}: {count(len(attained), 'replication')}"
        value = float(attained.mean())
        point = Point(value, sectioned_interval(value, attained), where)
        return _measured([point], [cell])


def _measured(points: Iterable[Point | None], cells: Iterable[Cell], lacking: int = 0) -> Measured:
    """What was found in cells; where they are to be all of a run, so many are `lacking` there."""
    looked_at = {(cell.run, cell.at, cell.line): cell for cell in cells}.values()
    return Measured(
        points=tuple(point for point in points if point),
        unfinished=sum(cell.unfinished for cell in looked_at),
        most_unfinished=max(cell.unfinished_share for cell in looked_at),
        late=max(cell.late for cell in looked_at),
        lacking=max(lacking, sum(not cell.sample.parts for cell in looked_at)),
        too_short=next((cell.too_short.why for cell in looked_at if cell.too_short), None),
    )


def _compared(pairs: Iterable[tuple[Cell, Cell]], lacking: int = 0) -> Measured:
    """The first of each pair over the second."""
    pairs = list(pairs)
    points = (above.over(below) for above, below in pairs)
    return _measured(points, [cell for pair in pairs for cell in pair], lacking)


def _quotient(above: Point, below: Point) -> Point:
    """One value over another that is independent of it: relative widths add as squares."""
    value = above.value / below.value
    where = f"{above.where}, over the same in {below.where.partition(' ')[0]}"
    if not (above.ci95 and below.ci95):
        return Point(value, None, where)
    ours, theirs = above.ci95[1] - above.ci95[0], below.ci95[1] - below.ci95[0]
    half = value * hypot(ours / above.value, theirs / below.value) / 2
    return Point(value, (value - half, value + half), where)
