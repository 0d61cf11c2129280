"""The pictures of a report as data, for the page's own script to draw."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from sojourn._internal.vocabulary import (
    ALL_SIZES,
    GOODPUT,
    Metric,
    kind_of,
    plural_of,
    sizes,
    whole,
)
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.analysis.statistics import Interval, Values
from sojourn.analysis.steadiness import is_steady
from sojourn.analysis.summary import bins_of_groups, summarise
from sojourn.presentation.axes import LOG_FROM, Labels, Layout
from sojourn.presentation.cdf_plots import groups_at
from sojourn.store.stored_run import StoredRun

_POINTS = 240


@dataclass(frozen=True)
class Line:
    """A line of a chart: a value, and the ends of its interval, for each x; None is a gap."""

    label: str
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None


@dataclass(frozen=True)
class Chart:
    """A chart of lines over common x values.

    `names` stand along the axis where x is the place of a name. `log` says which of the axes `x`
    and `y` are logarithmic; `steps` that lines are distribution functions. `start` is the least
    that the quantity can be.
    """

    title: str
    x_label: str
    y_label: str
    x: list[float]
    lines: list[Line]
    names: list[str] | None
    log: str
    steps: bool
    start: float = 0.0

    def to_dict(self) -> dict[str, object]:
        """The chart as plain values."""
        return asdict(self)


def charts(run: StoredRun) -> Iterator[Chart]:
    """The charts of a run: curves against what is swept, then distributions.

    Raises:
        InputError: rows cannot be read.
    """
    layout = Layout.of(run, None, None)
    if layout.x is not None and len(layout.values) > 1:
        yield from _curves(run, layout)
    yield from _distributions(run, layout)


_POINTS_OF: dict[str, Callable[[MetricSummary], tuple[float | None, Interval | None]]] = {
    "mean": lambda e: (e.mean, e.ci95),
    "99th percentile": lambda e: (e.quantiles["p99"], e.quantiles_ci95["p99"]),
}


_UNSTEADY = "; no point without a steady state"
_GROWING = "; without a steady state, a longer run gives another distribution"


def _curves(run: StoredRun, layout: Layout) -> Iterator[Chart]:
    """Mean and 99th percentile of what is asked first of each kind of job, against what is swept.

    A chart for each size bin.
    """
    x = layout.x
    if x is None:
        return
    by = [column.label for column in layout.by]
    estimates = [e for e in summarise(run, by=[*by, x.label], percentiles=[99]) if e.n]
    labels = Labels.of(e.case for e in estimates)
    for metric, kinds in _asked({e.kind for e in estimates}).items():
        own = [e for e in estimates if e.kind in kinds and e.metric == metric.column]
        for size_bin in dict.fromkeys(e.bin for e in own):
            found = [e for e in own if e.bin == size_bin]
            several = len({e.kind for e in found}) > 1
            for name, point in _POINTS_OF.items():
                yield _curve(
                    f"{metric.name}, {name}{metric.bracketed}",
                    f"{_sized(kinds, size_bin)}: {name}"
                    + _UNSTEADY * any(not e.steady for e in found),
                    layout,
                    {
                        (_named(e, by, labels, several=several), layout.place(e.case)): (
                            point(e) if e.steady else (None, None)
                        )
                        for e in found
                    },
                    metric,
                )


def _asked(names: Iterable[str]) -> dict[Metric, list[str]]:
    """What is asked first of these kinds of jobs, and of which; parts of other jobs left out."""
    found: dict[Metric, list[str]] = {}
    for kind in whole(names):
        found.setdefault(kind.main, []).append(kind.name)
    return found


def _curve(
    y_label: str,
    title: str,
    layout: Layout,
    points: dict[tuple[str, float], tuple[float | None, Interval | None]],
    metric: Metric,
) -> Chart:
    scale = metric.per_unit
    places = sorted({place for _, place in points})
    lines = []
    for name in dict.fromkeys(name for name, _ in points):
        own = [points.get((name, place), (None, None)) for place in places]
        lines.append(
            Line(
                label=name,
                y=[None if value is None else value / scale for value, _ in own],
                low=[None if ends is None else ends[0] / scale for _, ends in own],
                high=[None if ends is None else ends[1] / scale for _, ends in own],
            )
        )
    values = [value for line in lines for value in line.y if value is not None]
    wide = layout.numeric and places[0] > 0 and places[-1] >= LOG_FROM * places[0]
    high = bool(values) and min(values) > 0 and max(values) >= LOG_FROM * min(values)
    return Chart(
        title=title,
        x_label=layout.title,
        y_label=y_label,
        x=places,
        lines=lines,
        names=None if layout.numeric else layout.names,
        log="x" * wide + "y" * high,
        steps=False,
        start=_start(metric),
    )


def _distributions(run: StoredRun, layout: Layout) -> Iterator[Chart]:
    """Distribution functions, of numbers along x at the largest, a chart for each size bin."""
    where = f" at {layout.x.label} = {layout.values[-1]}" if layout.x and layout.numeric else ""
    _, found = groups_at(run, layout, None, warmup=True)
    labels = Labels.of(g.case for g in found)
    for metric, kinds in _asked({g.kind for g in found}).items():
        own = [g for g in found if g.kind in kinds]
        grows = _GROWING * (not all(is_steady(g.sample) for g in own))
        for size_bin, ends in bins_of_groups(own).items():
            samples = {
                labels.case(g.case, g.kind if len(kinds) > 1 else "")
                or kind_of(g.kind).label: g.sample.between(*ends).values(metric.column)
                for g in own
            }
            samples = {name: v for name, v in samples.items() if np.isfinite(v).any()}
            if samples:
                title = f"{_sized(kinds, size_bin)}{where}: distribution{grows}"
                yield _cdf(metric, title, kinds, samples)


def _cdf(metric: Metric, title: str, kinds: Sequence[str], samples: dict[str, Values]) -> Chart:
    """Distribution functions at common places; infinite values keep a line below 1."""
    scale = metric.per_unit
    finite = np.concatenate([v[np.isfinite(v)] for v in samples.values()]) / scale
    # a slowdown begins at the ideal
    low, high = _start(metric) or float(finite.min()), float(finite.max())
    log = low > 0 and metric.column != GOODPUT
    grid = np.geomspace(low, high, _POINTS) if log else np.linspace(0, high, _POINTS)
    grid[-1] = high
    return Chart(
        title=title,
        x_label=metric.title,
        y_label=f"share of {plural_of(map(kind_of, kinds))}",
        x=short(grid),
        lines=[
            Line(name, short(np.searchsorted(v / scale, grid, side="right") / v.size))
            for name, v in samples.items()
        ],
        names=None,
        log="x" * log,
        steps=True,
    )


def _start(metric: Metric) -> float:
    return 1.0 if metric.column == "slowdown" else 0.0


def short(values: Values) -> list[float]:
    """With the digits that a screen can show."""
    return [float(f"{value:.5g}") for value in values.tolist()]


def _named(e: MetricSummary, by: Sequence[str], labels: Labels, *, several: bool) -> str:
    """The name of the line of a number; `several` says that lines are of several kinds of jobs."""
    case = {column: e.case[column] for column in by}
    return labels.case(case, e.kind if several else "") or kind_of(e.kind).label


def _sized(kinds: Sequence[str], size_bin: str) -> str:
    jobs = plural_of(map(kind_of, kinds))
    return jobs if size_bin == ALL_SIZES else f"{jobs} of {sizes(size_bin)}"
