"""The timeline of an iteration, case by case: its critical path and its collectives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from sojourn._internal.errors import InputError
from sojourn._internal.units import PS_PER_MS
from sojourn.analysis.critical_path import COMPUTING, NETWORK, SERVER, STEP, where
from sojourn.analysis.sample import Warmup
from sojourn.presentation import style
from sojourn.presentation.axes import Labels, Layout
from sojourn.presentation.style import Picture
from sojourn.store import rows
from sojourn.store.columns import groups
from sojourn.store.ledger import Record, Value
from sojourn.store.stored_run import StoredRun

COLUMN = "exposed_ps"
"""A column that only iterations have."""

_MOST_LINES = 12
_PLACE = ("operation", "algorithm")
_TIMES = ("arrived_ps", "joined_ps", "finished_ps", "computed_ps", "on_server_ps")
_BINS = 300
_NOTE = (
    "height: share of the time; critical path: what the rank that ends last has waited for;"
    " collective: under way from the last rank that joins it until the last one has everything, in"
    " the group that ends last; dashed line: where the iteration would end without the network;"
    " black line: its end; exposed communication lies between the two"
)


@dataclass(frozen=True)
class _Iteration:
    """One iteration in milliseconds: its end, that of computing alone, and spans by label."""

    end: float
    busy: float
    spans: dict[str, npt.NDArray[np.float64]]

    @property
    def left_out(self) -> int:
        """How many labels have no place in the picture."""
        return max(len(self.spans) - _MOST_LINES, 0)


def drawn(run: StoredRun, layout: Layout, at: str | float | None, _warmup: Warmup) -> Picture:
    """Draw when the collectives of each case were under way, in its first replication.

    Raises:
        InputError: no case has an iteration, `at` is given, or rows cannot be read.
    """
    if at is not None:
        raise InputError("a timeline shows all cases; --at is for other kinds of picture")
    columns = [*layout.by, *([layout.x] if layout.x else [])]
    found: list[tuple[dict[str, Value | None], _Iteration]] = []
    for key, records in groups(run.ledger, columns).items():
        one = _read(run, min(records, key=lambda record: record.replication))
        if one is not None:
            case = {column.label: value for column, value in zip(columns, key, strict=True)}
            found.append((case, one))
    if not found:
        raise InputError("no case of this run has a finished iteration; there is nothing to draw")
    labels = Labels.of(case for case, _ in found)
    picture, panels = style.panels(len(found), 1, run.title, _note(found))
    latest = max(one.end for _, one in found)
    for (panel,), (case, one) in zip(panels, found, strict=True):
        _draw(panel, one, latest)
        panel.set_xlim(0, latest * 1.02)
        panel.set_title(labels.case(case), loc="left")
    panels[-1][0].set_xlabel("time since the iteration began [ms]")
    return picture


def _note(found: Sequence[tuple[object, _Iteration]]) -> str:
    """What the picture shows, and how many labels it leaves out."""
    most = max(one.left_out for _, one in found)
    if not most:
        return _NOTE
    return f"{_NOTE}; the first {_MOST_LINES} labels of a case, without {most} others"


def _read(run: StoredRun, record: Record) -> _Iteration | None:
    path = run.directory.rows(*record.key)
    if not rows.holds(path, COLUMN):
        return None
    table = rows.read(path, ["kind", "label", *_PLACE, "group", *_TIMES])
    kind, label = (np.array(table[name].to_pylist()) for name in ("kind", "label"))
    places = np.array([*map(where, *(table[name].to_pylist() for name in _PLACE))])
    times = {name: rows.numbers(table[name]) / PS_PER_MS for name in _TIMES}
    whole, collective, step = (kind == name for name in ("iteration", "collective", STEP))
    if not whole.any() or np.isnan(times["finished_ps"][whole]).any():
        return None
    group = rows.numbers(table["group"])
    spans = {}
    for place in (COMPUTING, SERVER, NETWORK):
        own = step & (places == place)
        spans[f"critical path: {place}"] = np.stack(
            [times["arrived_ps"][own], times["finished_ps"][own]], axis=1
        )
    for name in dict.fromkeys(label[collective].tolist()):
        own = (label == name) & collective & ~np.isnan(times["finished_ps"])
        if not own.any():
            continue
        last = group[own][np.argmax(times["finished_ps"][own])]
        chosen = own & (group == last)
        spans[name] = np.stack([times["joined_ps"][chosen], times["finished_ps"][chosen]], axis=1)
    busy = (times["computed_ps"] + times["on_server_ps"])[whole][0]
    return _Iteration(float(times["finished_ps"][whole][0]), float(busy), spans)


def _draw(panel: Axes, one: _Iteration, latest: float) -> None:
    names = list(one.spans)[:_MOST_LINES]
    edges = np.linspace(0, latest, _BINS + 1)
    for place, name in enumerate(names):
        share = np.minimum(_covered(one.spans[name], edges), 1)
        foot, look = place + 0.4, style.look(place)
        panel.stairs(foot - 0.8 * share, edges, baseline=foot, fill=True, color=look["color"])
    panel.axvline(one.busy, color="grey", linestyle="--")
    panel.axvline(one.end, color="black")
    _label(panel, names)


def _covered(
    spans: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """The share of the time between two edges that lies in spans, one beside the other."""
    begin, end = spans.T
    until = [np.clip(edge, begin, end).sum() for edge in edges]
    shares: npt.NDArray[np.float64] = np.diff(until) / np.diff(edges)
    return shares


def _label(panel: Axes, names: Sequence[str]) -> None:
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.grid(visible=False, axis="y")
