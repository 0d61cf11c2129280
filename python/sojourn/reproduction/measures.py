"""How the claims of several papers are measured; what one paper alone needs is in its `paper.py`.

A measure is a function of the finished runs by name and of the parameters of a claim's `measure`
table. It gives a value for each combination that it looks at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import TypeAlias

from sojourn.analysis.statistics import Interval
from sojourn.reproduction.results import Cell, Point, Quantity, Result
from sojourn.store.ledger import Value

Results: TypeAlias = Mapping[str, Result]
Names: TypeAlias = Sequence[str]
Values: TypeAlias = Sequence[Value]


@dataclass(frozen=True)
class Condition:
    """Something else that a claim asks for: what was found, in words, and whether it agrees."""

    words: str
    holds: bool


@dataclass(frozen=True)
class Measured:
    """The values that a measure found, one for each combination that it looked at.

    `unfinished` counts the jobs that belong there and are in none of the values, `most_unfinished`
    is their largest share of a case; `late` is the largest share of a case's bytes in jobs that
    were not done when the last one arrived; `lacking` counts the cases of which no replication is
    run yet; `too_short` says why fairness is withheld, where the runs are too short for it;
    `conditions` are what else the claim asks for.
    """

    points: tuple[Point, ...]
    unfinished: int = 0
    most_unfinished: float = 0
    late: float = 0
    lacking: int = 0
    too_short: str | None = None
    conditions: tuple[Condition, ...] = ()

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


Measure: TypeAlias = Callable[..., Measured]


def level(results: Results, run: str, lines: Names, at: Values = (), **what: str) -> Measured:
    """A quantity in each line, at each value of `at` or else of the run's axis."""
    result, quantity = results[run], Quantity(**what)
    cells = [result.cell(line, x, quantity) for line, x in product(lines, at or result.values)]
    lacking = 0 if at else result.run.lacking
    return of_cells((cell.point() for cell in cells), cells, lacking)


def ratio(
    results: Results, runs: Names, of: Names, to: Names, at: Values = (), **what: str
) -> Measured:
    """A quantity in each line of `of` over that in each of `to`, at the same value."""
    own, quantity = [results[run] for run in runs], Quantity(**what)
    pairs = [
        (result.cell(above, x, quantity), result.cell(below, x, quantity))
        for result in own
        for x, above, below in product(at or result.values, of, to)
    ]
    return _compared(pairs, 0 if at else sum(result.run.lacking for result in own))


def choice(
    results: Results, run: str, lines: Names, at: Value, than: Values, **what: str
) -> Measured:
    """A quantity in each line at the value `at` along the axis, over that at each of `than`.

    What it costs to have chosen `at`: below 1, it was the better choice.
    """
    result, quantity = results[run], Quantity(**what)
    pairs = [
        (result.cell(line, at, quantity), result.cell(line, other, quantity))
        for line, other in product(lines, than)
    ]
    return _compared(pairs)


def steps(results: Results, run: str, lines: Names, **what: str) -> Measured:
    """A quantity in each line at each value along the axis over that at the value before it."""
    result, quantity = results[run], Quantity(**what)
    pairs = [
        (result.cell(line, value, quantity), result.cell(line, before, quantity))
        for line, (before, value) in product(lines, pairwise(result.values))
    ]
    return _compared(pairs, result.run.lacking)


KINDS: dict[str, Measure] = {"level": level, "ratio": ratio, "choice": choice, "steps": steps}


def of_cells(points: Iterable[Point | None], cells: Iterable[Cell], lacking: int = 0) -> Measured:
    """The values found in cells; `lacking` counts cells of a run that are missing."""
    looked_at = {(cell.run, cell.at, cell.line): cell for cell in cells}.values()
    return Measured(
        points=tuple(point for point in points if point),
        unfinished=sum(cell.unfinished for cell in looked_at),
        most_unfinished=max(cell.unfinished_share for cell in looked_at),
        late=max(cell.late for cell in looked_at),
        lacking=max(lacking, sum(not cell.sample.parts for cell in looked_at)),
        too_short=next((cell.too_short.why for cell in looked_at if cell.too_short), None),
    )


def _compared(pairs: Sequence[tuple[Cell, Cell]], lacking: int = 0) -> Measured:
    """The first of each pair over the second."""
    points = (above.over(below) for above, below in pairs)
    return of_cells(points, [cell for pair in pairs for cell in pair], lacking)
