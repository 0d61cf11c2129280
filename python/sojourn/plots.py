"""Pictures of a run: normalised completion time against a swept column, and its distribution."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from sojourn import style
from sojourn.columns import Column, Columns, groups
from sojourn.errors import InputError, did_you_mean
from sojourn.ledger import Ledger, Value
from sojourn.sample import Sample, groups_of
from sojourn.statistics import Interval
from sojourn.style import Picture
from sojourn.summary import BINS, Estimate, ideals, summarise
from sojourn.units import number

if TYPE_CHECKING:
    from sojourn.runs import Run

_NAME = "normalised FCT"
_LOG_FROM = 20  # the largest over the smallest value of an axis that makes it logarithmic
_CDF_POINTS = 1000

Numbers: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """What goes where: the column along the axis (none: a single case) and a line's columns."""

    x: Column | None
    by: tuple[Column, ...]
    values: tuple[Value, ...]

    @property
    def numeric(self) -> bool:
        """Whether the values along the axis are numbers."""
        return bool(self.values) and all(_is_number(value) for value in self.values)


def draw(
    run: "Run",
    kind: str,
    *,
    x: str | None = None,
    by: Sequence[str] | None = None,
    at: str | float | None = None,
    warmup: bool = True,
) -> Picture:
    """Draw one kind of picture; see `Run.plot`.

    Raises:
        InputError: an unknown kind, column or value, an unreadable file.
    """
    drawing = KINDS.get(kind)
    if drawing is None:
        raise InputError(f"no picture of kind {kind!r}{did_you_mean(kind, KINDS)}")
    with style.applied():
        return drawing(run, _layout(run, x, by), at, warmup)


def targets(out: Path, kinds: Sequence[str], formats: Sequence[str]) -> dict[Path, str]:
    """The files to write and the kind of picture in each.

    `out` is one file if it has the suffix of a format, otherwise a directory.

    Raises:
        InputError: one file for several pictures, or of an unknown format.
    """
    suffix = out.suffix.removeprefix(".").lower()
    if out.is_dir() or not suffix:
        return {out / f"{kind}.{form}": kind for kind in kinds for form in formats or ["png"]}
    if suffix not in style.FORMATS:
        raise InputError(f"{out}: a picture is one of .{', .'.join(style.FORMATS)}")
    if len(kinds) > 1 or set(formats) - {suffix}:
        raise InputError(f"{out}: one file for several pictures; choose a --kind, or a directory")
    return {out: kinds[0]}


def _layout(run: "Run", x: str | None, by: Sequence[str] | None) -> Layout:
    columns = Columns.of(run.directory, run.ledger)
    axes = {name: _values(run.ledger, name) for name in columns.axes}
    axis = columns.find(x) if x else _axis(axes)
    if axis and axis.in_rows:
        raise InputError(
            f"column {axis.label!r} is one of the rows; an axis needs one of the cases"
        )
    others = [name for name in axes if axis is None or name != axis.name] if by is None else by
    return Layout(
        x=axis,
        by=tuple(columns.find(name) for name in others),
        values=tuple(_values(run.ledger, axis.name)) if axis else (),
    )


def _axis(axes: dict[str, list[Value]]) -> Column | None:
    """The load where it is swept, else the first axis of numbers, else the first one."""
    numeric = [name for name, values in axes.items() if all(map(_is_number, values))]
    ranked = [*(name for name in numeric if name == "load"), *numeric, *axes]
    return Column(ranked[0], ranked[0]) if ranked else None


def _values(ledger: Ledger, name: str) -> list[Value]:
    """The values of a column of the cases, numbers in rising order, others as they come."""
    found = groups(ledger, [Column(name, name)])
    values = [value for (value,) in found if value is not None]
    return sorted(values) if all(map(_is_number, values)) else values


def _fct(run: "Run", layout: Layout, _at: str | float | None, warmup: bool) -> Picture:
    """Mean and 99th percentile against x: a panel a size bin, a line a scheme."""
    x = [layout.x.label] if layout.x else []
    by = [column.label for column in layout.by]
    summary = summarise(run, by=[*by, *x], percentiles=[99], warmup=warmup)
    estimates = [e for e in summary if e.metric == "slowdown" and e.n]
    bins = [name for name in BINS if any(e.bin == name for e in estimates)]
    kinds = {e.kind for e in estimates}
    lines: dict[str, list[Estimate]] = {}
    for e in estimates:
        label = _label({name: e.case[name] for name in by}, e.kind if len(kinds) > 1 else "")
        lines.setdefault(label, []).append(e)
    picture, axes = _panels(2, bins, run.title, run.ledger)
    for row, (name, point) in zip(axes, _POINTS.items(), strict=True):
        drawn: list[float] = []
        for panel, size_bin in zip(row, bins, strict=True):
            for place, (label, of_line) in enumerate(lines.items()):
                points = [(_place(layout, e), *point(e)) for e in of_line if e.bin == size_bin]
                values = np.array(sorted(points), dtype=np.float64)
                if values.size:
                    where, middle, low, high = values.T
                    bars = np.clip([middle - low, high - middle], 0, None)
                    panel.errorbar(where, middle, bars, capsize=2, label=label, **style.look(place))
                    drawn += middle.tolist()
            _x_axis(panel, layout)
        row[0].set_ylabel(f"{name} of {_NAME}\n(sojourn time / ideal)")
        if max(drawn) / min(drawn) >= _LOG_FROM:
            for panel in row:
                style.logarithmic(panel, "y")
    style.legend(picture, [panel for row in axes for panel in row])
    return picture


def _cdf(run: "Run", layout: Layout, at: str | float | None, warmup: bool) -> Picture:
    """Distribution functions at one x: a panel a size bin, a line a scheme."""
    records, title = list(run.ledger), run.title
    by = list(layout.by)
    if layout.x and layout.numeric:
        value = _chosen(layout, at)
        (records,) = (r for (v,), r in groups(run.ledger, [layout.x]).items() if v == value)
        title = f"{title}: {layout.x.label} = {value}"
    elif at is not None:
        raise InputError(f"--at {at}: there is no swept number to choose a value of")
    elif layout.x:
        by.append(layout.x)
    found = list(groups_of(run.directory, Ledger(records), by, warmup=warmup))
    several = len({group.kind for group in found}) > 1
    parts = {
        (_label(group.case, group.kind if several else ""), size_bin): group.sample.between(*ends)
        for group in found
        for size_bin, ends in BINS.items()
    }
    bins = [
        name for name in BINS if any(b == name and p.counts()[0] for (_, b), p in parts.items())
    ]
    labels = dict.fromkeys(label for label, _ in parts)
    picture, ((*row,),) = _panels(1, bins, title, run.ledger)
    for panel, size_bin in zip(row, bins, strict=True):
        for place, label in enumerate(labels):
            where, share = _distribution(parts[label, size_bin])
            if where.size:
                look = style.look(place) | {"marker": "", "linestyle": style.DASHES[place % 4]}
                panel.plot(where, share, drawstyle="steps-post", label=label, **look)
        panel.set_xlabel(f"{_NAME} (sojourn time / ideal)")
        panel.set_ylim(0, 1.02)
        style.logarithmic(panel, "x")
    row[0].set_ylabel("share of the jobs up to there")
    style.legend(picture, row)
    return picture


KINDS: dict[str, Callable[["Run", Layout, str | float | None, bool], Picture]] = {
    "fct": _fct,
    "cdf": _cdf,
}
_POINTS: dict[str, Callable[[Estimate], tuple[float, float, float]]] = {
    "mean": lambda e: _point(e.mean, e.ci95),
    "99th percentile": lambda e: _point(e.quantiles["p99"], e.quantiles_ci95["p99"]),
}


def _point(value: float | None, ci95: Interval | None) -> tuple[float, float, float]:
    """A value and the ends of its interval, which are the value itself where there is none."""
    middle = np.nan if value is None else value
    return middle, *(ci95 or (middle, middle))


def _distribution(sample: Sample) -> tuple[Numbers, Numbers]:
    """Values and the share of jobs up to each; unfinished jobs keep it below 1.

    At most `_CDF_POINTS` of them, and the last ones all, where the tail is.
    """
    kept, unfinished, _ = sample.counts()
    values = np.sort(np.concatenate(sample.sections("slowdown")[0]))
    ranks = np.linspace(0, max(kept - 1, 0), _CDF_POINTS).astype(np.int64)
    ranks = np.unique(np.concatenate([ranks, np.arange(max(0, kept - 50), kept)]))[:kept]
    return values[ranks], (ranks + 1) / (kept + unfinished)


def _panels(
    rows: int, bins: Sequence[str], title: str, ledger: Ledger
) -> tuple[Picture, list[list[Axes]]]:
    if not bins:
        raise InputError("no job of this run is finished; there is nothing to draw")
    note = f"ideal: {'; or '.join(ideals(ledger))}"
    picture, axes = style.panels(rows, len(bins), title, note)
    for panel, name in zip(axes[0], bins, strict=True):
        panel.set_title("all sizes" if name == "all" else name)
    return picture, axes


def _x_axis(panel: Axes, layout: Layout) -> None:
    if layout.x is None:
        panel.set_xticks([0], ["the one case"])
        return
    panel.set_xlabel(layout.x.label)
    numbers = [float(value) for value in layout.values if _is_number(value)]
    if not layout.numeric:
        panel.set_xticks(range(len(layout.values)), [str(v) for v in layout.values], rotation=20)
    elif min(numbers) > 0 and max(numbers) / min(numbers) >= _LOG_FROM:
        style.logarithmic(panel, "x")
    elif len(numbers) <= 10:
        panel.set_xticks(numbers, [number(value) for value in numbers])


def _place(layout: Layout, estimate: Estimate) -> float:
    """Where along the axis an estimate stands; names stand in order of appearance."""
    value = estimate.case[layout.x.label] if layout.x else None
    if value is None:
        return 0.0
    return float(value) if layout.numeric else float(layout.values.index(value))


def _chosen(layout: Layout, at: str | float | None) -> Value:
    if at is None:
        return layout.values[-1]
    for value in layout.values:
        if str(value) == str(at) or _same_number(value, at):
            return value
    there = ", ".join(str(value) for value in layout.values)
    label = layout.x.label if layout.x else ""
    raise InputError(f"--at {at}: no such {label}; there is {there}")


def _same_number(value: Value, given: str | float) -> bool:
    try:
        return float(value) == float(given)
    except ValueError:
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _label(case: Mapping[str, Value | None], kind: str) -> str:
    """What a line is called: names stand alone, numbers and switches with their column."""
    parts = [v if isinstance(v, str) else f"{name} = {v}" for name, v in case.items()]
    return ", ".join([*parts, *([kind] if kind else [])])
