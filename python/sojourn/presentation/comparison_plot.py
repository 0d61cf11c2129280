"""Two runs as a picture: their distribution functions on top of each other."""

from itertools import groupby

from matplotlib.axes import Axes

from sojourn._internal.errors import InputError
from sojourn._internal.vocabulary import ALL_SIZES, MISSED, kind_of
from sojourn.analysis.comparison import Comparisons
from sojourn.analysis.comparison.metric_comparison import MetricComparison
from sojourn.analysis.sample import TIMES
from sojourn.analysis.summary import incomplete
from sojourn.presentation import style
from sojourn.presentation.axes import Labels
from sojourn.presentation.cdf_plots import draw_cdf
from sojourn.presentation.style import Picture

_MOST_ROWS = 24
_FEWEST_VALUES = 20


def draw(found: Comparisons) -> Picture:
    """A row of panels for each case and kind, in it a panel for each metric; all sizes together.

    Raises:
        InputError: more cases than a picture holds.
    """
    whole = [one for one in found if one.a.bin == ALL_SIZES and one.a.metric != MISSED]
    if not whole:
        raise InputError("missed deadlines have no distribution; there is nothing to draw")
    # A handful of values, as of one message, are no distribution worth a panel beside others.
    whole = [one for one in whole if min(one.a.n, one.b.n) >= _FEWEST_VALUES] or whole
    rows = [list(row) for _, row in groupby(whole, lambda one: (one.case, one.a.kind))]
    if len(rows) > _MOST_ROWS:
        raise InputError(f"{len(rows)} cases do not fit a picture; it has room for {_MOST_ROWS}")
    names = [*found.names]
    labels = Labels.of(one.case for one in found)
    several = len({one.a.kind for one in whole}) > 1
    timed = any(one.a.metric in TIMES for one in whole)
    note = "; ".join(
        (["unfinished jobs keep a line below 1"] if timed else [])
        + [f"{run.path}: {incomplete(run.missing)}" for run in found.runs if run.missing]
    )
    with style.applied():
        title = " and ".join(dict.fromkeys(run.title for run in found.runs))
        picture, grid = style.panels(len(rows), max(map(len, rows)), "", note)
        for row, panels in zip(rows, grid, strict=True):
            for one, panel in zip(row, panels, strict=False):
                _draw(panel, one, names)
            for panel in panels[len(row) :]:
                panel.set_axis_off()
            panels[0].set_ylabel(f"share of {kind_of(row[0].a.kind).plural}")
            panels[0].set_title(
                labels.case(row[0].case, row[0].a.kind if several else ""), loc="left"
            )
        style.heading(picture, grid[0][0], title)
    return picture


def _draw(panel: Axes, one: MetricComparison, names: list[str]) -> None:
    kind = kind_of(one.a.kind)
    metric = kind.metric(one.a.metric)
    for place, (values, name) in enumerate(zip(one.values, names, strict=True)):
        draw_cdf(panel, values / metric.per_unit, name, place)
    panel.set_ylim(0, 1.02)
    panel.set_xlabel(metric.title)
    if metric.column in TIMES:
        style.logarithmic(panel, "x")
    else:
        panel.set_xlim(left=0)
