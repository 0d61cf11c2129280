"""The picture of pauses: which switch stopped whom, and for which share of the time."""

from sojourn._internal.errors import InputError
from sojourn._internal.units import count
from sojourn.analysis import pauses
from sojourn.analysis.sample import Warmup
from sojourn.presentation import style
from sojourn.presentation.axes import Labels, Layout
from sojourn.presentation.style import Picture
from sojourn.store.columns import groups
from sojourn.store.run_directory import PAUSES
from sojourn.store.stored_run import StoredRun

_MOST_CASES = 6
_MOST_LINKS = 10
_NOTE = (
    "bar: share of the time for which a port was stopped by pauses of the switch behind it, the"
    " mean of the runs; orange: hosts, blue: switches"
)


def are_in(run: StoredRun) -> bool:
    """Whether any port of a run was stopped."""
    return any(run.directory.beside(PAUSES, *record.key).exists() for record in run.ledger)


def drawn(run: StoredRun, layout: Layout, at: str | float | None, _warmup: Warmup) -> Picture:
    """Draw which switch stopped whom, case by case: the links that were stopped for longest.

    Raises:
        InputError: no port was stopped, `at` is given, or a file cannot be read.
    """
    if at is not None:
        raise InputError("a picture of pauses shows all cases; --at is for other kinds of picture")
    columns = [*layout.by, *([layout.x] if layout.x else [])]
    found = []
    for key, records in groups(run.ledger, columns).items():
        case = {column.label: value for column, value in zip(columns, key, strict=True)}
        if links := pauses.stopped(case, records, run.directory):
            found.append((case, links))
    if not found:
        raise InputError("no port of this run was stopped; there is nothing to draw")
    shown = found[:_MOST_CASES]
    labels = Labels.of(case for case, _ in shown)
    most = max(len(links[:_MOST_LINKS]) for _, links in shown)
    size = (8.0, 1.6 + (0.9 + 0.22 * most) * len(shown))
    more = f"; {count(len(found) - len(shown), 'other case')} left out"
    note = _NOTE + (more if len(found) > len(shown) else "")
    picture, panels = style.panels(len(shown), 1, run.title, note, size=size)
    for (panel,), (case, links) in zip(panels, shown, strict=True):
        own = links[:_MOST_LINKS]
        colours = [style.COLOURS[link.whom.startswith("host")] for link in own]
        panel.barh(range(len(own)), [100 * link.share for link in own], color=colours)
        panel.set_yticks(range(len(own)), [f"{link.by} stops {link.whom}" for link in own])
        panel.set_ylim(len(own) - 0.4, -0.6)
        panel.set_xlim(0, 105 * max(links[0].share for _, links in shown))
        panel.grid(visible=False, axis="y")
        left_out = len(links) - len(own)
        parts = [labels.case(case), f"and {count(left_out, 'other link')}" if left_out else ""]
        panel.set_title(", ".join(filter(None, parts)), loc="left")
    panels[-1][0].set_xlabel("stopped [% of the time]")
    return picture
