"""Distributions of a run's jobs, and pictures of those that are about one kind of job alone."""

import numpy as np
from matplotlib.axes import Axes

from sojourn._internal.errors import InputError
from sojourn._internal.vocabulary import GOODPUT, kind_of
from sojourn.analysis.sample import Group, Warmup, groups_of
from sojourn.analysis.statistics import Values
from sojourn.analysis.steadiness import NONE, is_steady
from sojourn.analysis.summary import incomplete
from sojourn.presentation import style
from sojourn.presentation.axes import Labels, Layout
from sojourn.presentation.style import Picture
from sojourn.store.columns import Column, groups
from sojourn.store.ledger import Ledger
from sojourn.store.stored_run import StoredRun

_CDF_POINTS = 1000
_STAIRS = 40


def goodput(run: StoredRun, layout: Layout, at: str | float | None, warmup: Warmup) -> Picture:
    """How bandwidth is shared among flows that never end: a histogram, and the shares below."""
    title, found = groups_at(run, layout, at, warmup=warmup)
    found = [group for group in found if kind_of(group.kind).main.column == GOODPUT]
    if not found:
        raise InputError("no job of this run has a goodput; there is nothing to draw")
    kind = kind_of(found[0].kind)
    labels = Labels.of(g.case for g in found)
    lines = {labels.case(g.case): g.sample.values(GOODPUT) / kind.main.per_unit for g in found}
    picture, (row,) = style.panels(1, 2, title, note(run))
    highest = max(values[-1] for values in lines.values())
    edges = np.linspace(0, highest * (1 + 1 / _STAIRS) or 1, _STAIRS + 2)
    for place, (line, values) in enumerate(lines.items()):
        share = np.histogram(values, edges)[0] / values.size
        look = style.look(place, dashed=True)
        row[0].stairs(share, edges, label=line, fill=False, **look)
        draw_cdf(row[1], values, line, place)
    row[0].set_ylabel(f"share of {kind.plural} in a bin")
    row[1].set_ylabel(f"share of {kind.plural}")
    for panel in row:
        panel.set_xlabel(kind.main.title)
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)
    style.legend(picture, row)
    return picture


def groups_at(
    run: StoredRun, layout: Layout, at: str | float | None, *, warmup: Warmup
) -> tuple[str, list[Group]]:
    """A picture's title, and the jobs for its lines: of numbers along x those at one of them.

    Of names along x those of all, unless one is asked for.

    Raises:
        InputError: no such value along x, or nothing is swept; rows that cannot be read.
    """
    title, ledger, by = lines_at(run, layout, at)
    return title, list(groups_of(run.directory, ledger, by, warmup=warmup))


def lines_at(
    run: StoredRun, layout: Layout, at: str | float | None
) -> tuple[str, Ledger, list[Column]]:
    """A picture's title, the cases in it, and the columns whose values make a line each.

    Raises:
        InputError: no such value along x, or nothing is swept.
    """
    ledger, by, title = run.ledger, list(layout.by), run.title
    if layout.x and (layout.numeric or at is not None):
        value = layout.value(at)
        ledger = Ledger(groups(ledger, [layout.x])[(value,)])
        shown = Labels.of_values(layout.values).shorter(str(value))
        title = f"{title}: {layout.x.label} = {shown}"
    elif at is not None:
        raise InputError(f"no case at {at}: nothing is swept")
    elif layout.x:
        by.append(layout.x)
    return title, ledger, by


def steps(values: Values) -> tuple[Values, Values]:
    """Values in rising order, and the share of them up to each; infinite ones keep it below 1.

    At most `_CDF_POINTS` of them, and the last ones all, where the tail is.
    """
    kept = int(np.isfinite(values).sum())
    ranks = np.linspace(0, max(kept - 1, 0), _CDF_POINTS).astype(np.int64)
    ranks = np.unique(np.concatenate([ranks, np.arange(max(0, kept - 50), kept)]))[:kept]
    return values[ranks], (ranks + 1) / max(values.size, 1)


def note(run: StoredRun, *said: str) -> str:
    """What stands small below a picture."""
    return "; ".join([*said, *([incomplete(run.missing)] if run.missing else [])])


def unsteady(found: list[Group]) -> list[str]:
    """What stands below distributions of cases without a steady state: which they are."""
    labels = Labels.of(g.case for g in found)
    cases = [labels.case(g.case) for g in found if not is_steady(g.sample)]
    which = " and ".join(filter(None, dict.fromkeys(cases)))
    said = f"{NONE}: a longer run has another distribution"
    return [f"{which}: {said}" if which else said] if cases else []


def draw_cdf(panel: Axes, values: Values, line: str, place: int) -> None:
    """Draw the share of values that are up to each; nothing where there are none."""
    look = style.look(place, dashed=True)
    where, share = steps(values)
    if not where.size:
        return
    start = np.concatenate([where[:1], where]), np.concatenate([[0.0], share])
    panel.plot(*start, drawstyle="steps-post", label=line, **look)
