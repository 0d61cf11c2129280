"""Tables and pictures of how evenly long flows share, by averaging time."""

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes

from sojourn._internal.errors import InputError
from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import PS_PER_S, bracketed, duration, factor, number
from sojourn.analysis.fairness import STATISTICS, Fairness
from sojourn.analysis.summary import TIMES
from sojourn.presentation import style
from sojourn.presentation.axes import Labels
from sojourn.presentation.style import Picture
from sojourn.presentation.table import labels, values
from sojourn.presentation.tables import EVENNESS, JAIN
from sojourn.store.ledger import Value


def show(title: str, found: Sequence[Fairness], longer: str) -> None:
    """Print a line for each group and averaging time; `longer` makes too short windows longer."""
    by = [*found[0].case]
    intervals = any(own.ci95 for own in found)
    groups: list[list[list[str]]] = []
    before: dict[str, Value | None] | None = None
    for own in found:
        case = values(own.case)
        if own.case == before:
            groups[-1].append([*("" for _ in case), *_cells(own, intervals=intervals)])
        else:
            groups.append([[*case, *_cells(own, intervals=intervals)]])
        before = own.case
    heads = ["averaging time", "flows", "runs", "averages a run"]
    for head in EVENNESS:
        heads += [head, "95 % interval"] if intervals else [head]
    print_table(groups, [*labels(by), *heads], title=title, numbers=len(heads))
    print_lines(f"  {line}" for line in _notes(found, longer))


def _cells(own: Fairness, *, intervals: bool) -> list[str]:
    cells = [duration(own.over_ps), f"{own.flows:,}", f"{own.replications:,}", f"{own.starts:,}"]
    for name in STATISTICS:
        value = getattr(own.shares, name) if own.shares else None
        cells.append("-" if value is None else number(value))
        if intervals:
            cells.append(bracketed(own.ci95[name]) if name in own.ci95 else "")
    return cells


def _notes(found: Sequence[Fairness], longer: str) -> Iterable[str]:
    yield "p95/p5: of the flows' goodputs, each averaged over that time"
    if any(own.shares and own.shares.spread is None for own in found):
        yield "no p95/p5 where the lowest twentieth got nothing in that time"
    yield JAIN
    yield "above mean: the share of flows with more than the mean"
    withheld = [own.withheld for own in found if own.withheld]
    if withheld:
        worst = max(withheld, key=lambda own: own.times)
        yield f"no fairness: {worst.why} ({longer.replace(TIMES, factor(worst.times))})"


def draw(title: str, found: Sequence[Fairness], by: Sequence[str]) -> Picture:
    """Draw each statistic against the averaging time, a line for each group.

    Raises:
        InputError: there is nothing to draw, as the measuring windows are too short.
    """
    withheld = [own.withheld for own in found if own.withheld]
    if len(withheld) == len(found):
        raise InputError(f"no fairness to draw: {withheld[0].why}")
    picture, (row,) = style.panels(1, len(STATISTICS), title, _SAID)
    lines: dict[str, list[Fairness]] = {}
    labels = Labels.of(own.case for own in found)
    for own in found:
        lines.setdefault(labels.case({name: own.case[name] for name in by}), []).append(own)
    for panel, name in zip(row, STATISTICS, strict=True):
        for place, (line, of_line) in enumerate(lines.items()):
            draw_statistic(panel, of_line, name, line, place)
        finish_panel(panel, name)
    style.legend(picture, row)
    return picture


def draw_statistic(
    panel: Axes, found: Sequence[Fairness], statistic: str, line: str, place: int
) -> None:
    """Draw one of `STATISTICS` against the averaging time: the line of that name, at its place."""
    told = [(own.over_ps / PS_PER_S, getattr(own.shares, statistic)) for own in found if own.shares]
    told = [(over, value) for over, value in told if value is not None]
    if told:
        panel.plot(*zip(*told, strict=True), label=line, **style.look(place, dashed=True))


def finish_panel(panel: Axes, statistic: str) -> None:
    """Label the axes of a panel of `draw_statistic`."""
    panel.set_xlabel("averaging time [s]")
    panel.set_ylabel(dict(zip(STATISTICS, EVENNESS, strict=True))[statistic])
    if panel.has_data():
        style.logarithmic(panel, "x")
    if statistic != "spread":
        panel.set_ylim(0, 1.02)
    elif panel.has_data():
        style.logarithmic(panel, "y", start=1)


_SAID = (
    "p95/p5: of the flows' goodputs, each averaged over that time;"
    " Jain: 1 where all get the same; above mean: share of flows with more than the mean"
)
