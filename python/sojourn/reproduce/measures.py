"""The ways in which a claim can be measured: a closed set, each with a few parameters as data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise, product
from math import hypot
from typing import Any, Protocol, TypeAlias

import numpy as np

from sojourn.fanout import Leaf, finish, latest_finish
from sojourn.ledger import Value
from sojourn.mail.logs.stats import Ended
from sojourn.reproduce.hours import counted
from sojourn.reproduce.results import Cell, Point, Quantity, Result
from sojourn.statistics import Interval, batches, mean_interval, sum_ratio_interval
from sojourn.units import count

Results: TypeAlias = Mapping[str, Result]


@dataclass(frozen=True)
class Measured:
    """The values that a measure found, one for each combination that it looked at.

    `unfinished` counts the jobs that belong there and are in none of the values, `most_unfinished`
    is their largest share of a case; `late` is the largest share of a case's bytes in jobs that
    were not done when the last one arrived; `lacking` counts the cases of which no replication is
    run yet.
    """

    points: tuple[Point, ...]
    unfinished: int = 0
    most_unfinished: float = 0
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
    """A quantity in each line, at each value of `at`.

    Without `at`, at all values along the run's axis.
    """

    run: str
    lines: tuple[str, ...]
    what: Quantity
    at: tuple[Value, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

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
class Choice:
    """A quantity in each line at the value `at` along the axis, over that at each of `than`.

    What it costs to have chosen `at`: below 1, it was the better choice.
    """

    run: str
    lines: tuple[str, ...]
    at: Value
    than: tuple[Value, ...]
    what: Quantity

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        result = results[self.run]
        pairs = [
            (result.cell(line, self.at, self.what), result.cell(line, other, self.what))
            for line, other in product(self.lines, self.than)
        ]
        return _compared(pairs)


@dataclass(frozen=True)
class Steps:
    """A quantity in each line at each value along the axis over that at the value before it."""

    run: str
    lines: tuple[str, ...]
    what: Quantity

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

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
class Attained:
    """The share of replications in which the metric of each job is at least `least`."""

    run: str
    line: str
    at: Value
    least: float
    what: Quantity

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        cell = results[self.run].cell(self.line, self.at, self.what)
        if len(cell.sample.parts) < 2:
            return _measured((), [cell])
        attained = np.array([float(own.min() >= self.least) for own in cell.sections()])
        where = f"{cell.run}: {count(len(attained), 'replication')}"
        point = Point(float(attained.mean()), mean_interval(batches(attained)), where)
        return _measured([point], [cell])


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


@dataclass(frozen=True)
class Total:
    """A total of each case and replication, such as the share of time that a line is busy."""

    run: str
    figure: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        run = results[self.run].run
        totals = np.array([float(record.figures[self.figure]) for record in run.ledger])
        ci95 = sum_ratio_interval(totals, np.ones_like(totals)) if totals.size > 1 else None
        where = f"{self.run}: {count(totals.size, 'replication')}"
        return Measured((Point(float(totals.mean()), ci95, where),), lacking=run.lacking)


@dataclass(frozen=True)
class Hours:
    """What a time series counted in some hours of each case and replication, as a ratio.

    `of` are columns of the series, `over` those that they are divided by, all summed over the hours
    from the first of `hours` to the one before the second.
    """

    run: str
    of: tuple[str, ...]
    over: tuple[str, ...]
    hours: tuple[int, int]

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return (self.run,)

    def __call__(self, results: Results) -> Measured:
        """Measure."""
        run = results[self.run].run
        parts = [Ended.sum(counted(run.directory, it.key, *self.hours)) for it in run.ledger]
        sums = [
            np.array([sum(getattr(part, name) for name in names) for part in parts], dtype=float)
            for names in (self.of, self.over)
        ]
        above, below = sums
        ci95 = sum_ratio_interval(above, below) if len(parts) > 1 else None
        where = f"{self.run}: {count(len(parts), 'replication')}"
        value = float(above.sum() / below.sum())
        return Measured((Point(value, ci95, where),), lacking=run.lacking)


@dataclass(frozen=True)
class FanOut:
    """When a `share` of so many leaves has answered, at a percentile of requests; no run.

    `quantiles` are a leaf's latencies at `percentiles`. Leaves are independent; without `leaves`
    the value is the most that leaves can give which hang together in any way.
    """

    percentiles: tuple[float, ...]
    quantiles: tuple[float, ...]
    share: float
    percentile: float
    leaves: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The runs it looks at."""
        return ()

    def __call__(self, results: Results) -> Measured:  # noqa: ARG002
        """Compute."""
        shares = [percentile / 100 for percentile in self.percentiles]
        leaf = Leaf.fitted(dict(zip(shares, self.quantiles, strict=True)))
        if self.leaves is None:
            value = latest_finish(leaf, self.share, self.percentile / 100)
        else:
            value = finish(leaf, self.leaves, self.share, self.percentile / 100)
        return Measured((Point(value, (value, value)),))


KINDS: dict[str, type[Measure]] = {
    "level": Level,
    "ratio": Ratio,
    "choice": Choice,
    "steps": Steps,
    "lead": Lead,
    "share": Share,
    "attained": Attained,
    "waste": Waste,
    "total": Total,
    "hours": Hours,
    "fan-out": FanOut,
}


def measure_of(table: Mapping[str, Any]) -> Measure:
    """The measure that a table of data names by `kind` and gives parameters to."""
    own = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in table.items()
        if name != "kind"
    }
    measure = KINDS[table["kind"]]
    if "what" in {field.name for field in fields(measure)}:  # type: ignore[arg-type]
        own["what"] = Quantity.taken_from(own)
    return measure(**own)


def _measured(points: Iterable[Point | None], cells: Iterable[Cell], lacking: int = 0) -> Measured:
    """What was found in cells; where they are to be all of a run, so many are `lacking` there."""
    looked_at = {(cell.run, cell.at, cell.line): cell for cell in cells}.values()
    return Measured(
        points=tuple(point for point in points if point),
        unfinished=sum(cell.unfinished for cell in looked_at),
        most_unfinished=max(cell.unfinished_share for cell in looked_at),
        late=max(cell.late for cell in looked_at),
        lacking=max(lacking, sum(not cell.sample.parts for cell in looked_at)),
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
