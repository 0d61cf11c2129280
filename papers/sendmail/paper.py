"""What the history of sendmail counts by the hour, and draws by the day.

Source: R. Kolstad, LISA 1997, figures 1, 3 to 5 and 7 to 9.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import numpy as np
from matplotlib.axes import Axes

from sojourn._internal.units import PS_PER_S, count
from sojourn.analysis.ratio_intervals import total_interval
from sojourn.analysis.statistics import Values
from sojourn.maillog.stats import Ended
from sojourn.presentation import style
from sojourn.presentation.mailstat_table import mailstat
from sojourn.reproduction.drawing import Curve
from sojourn.reproduction.measures import Measured, Results
from sojourn.reproduction.papers import Panel
from sojourn.reproduction.results import Point, Result
from sojourn.store import rows
from sojourn.store.ledger import Record
from sojourn.store.run_directory import SERIES
from sojourn.store.stored_run import StoredRun

_MINUTE_PS = 60 * PS_PER_S
_HOUR_PS = 60 * _MINUTE_PS
_MINUTES = 24 * 60
_APART = 1 / 400  # of the axis: arrivals at least about a pixel apart


def total(results: Results, run: str, figure: str) -> Measured:
    """A total of each case and replication, such as the share of time that a line is busy."""
    totals = np.array([float(record.figures[figure]) for record in results[run].run.ledger])
    return _of_records(results[run], totals, np.ones_like(totals))


def hours(
    results: Results, run: str, of: Sequence[str], over: Sequence[str], hours: tuple[int, int]
) -> Measured:
    """What a time series counted in some hours of each case and replication, as a ratio.

    `of` are columns of the series, `over` those that they are divided by, all summed over the hours
    from the first of `hours` to the one before the second.
    """
    stored = results[run].run
    parts = [Ended.sum(counted(stored, record, *hours)) for record in stored.ledger]
    above, below = (
        np.array([sum(getattr(part, name) for name in names) for part in parts], dtype=float)
        for names in (of, over)
    )
    return _of_records(results[run], above, below)


def _of_records(result: Result, above: Values, below: Values) -> Measured:
    """A ratio of sums over the cases and replications of a run."""
    ci95 = total_interval(above, below) if above.size > 1 else None
    where = f"{result.name}: {count(above.size, 'replication')}"
    value = float(above.sum() / below.sum())
    return Measured((Point(value, ci95, where),), lacking=result.run.lacking)


def counted(run: StoredRun, record: Record, first: int, end: int) -> list[Ended]:
    """What attempts came to in each hour of a case and replication, out of its time series.

    The hours count from the beginning: from the `first` to the one before the `end`.

    Raises:
        InputError: there is no time series, or it cannot be read.
    """
    table = rows.read(run.directory.beside(SERIES, *record.key))
    hour = (rows.numbers(table["at_ps"]) - 1) // _HOUR_PS
    return [Ended.sum(Ended.of(table.filter(hour == number))) for number in range(first, end)]


def table(run: StoredRun, midnight: datetime, hours: tuple[int, int]) -> Iterator[str]:
    """Hours of a run's first case, which began at `midnight`, as mailstat prints them.

    Raises:
        InputError: there is no time series, or it cannot be read.
    """
    found = counted(run, next(iter(run.ledger)), *hours)
    names = [midnight + timedelta(hours=number) for number in range(*hours)]
    yield f"mailstat: {names[0]:%a %b %d %H:%M} to {names[-1]:%H:59 %Y}, simulated"
    yield from mailstat([(f"{it:%b %d %H}", own) for it, own in zip(names, found, strict=True)])


def draw_day(
    axes: Axes, _panel: Panel, result: Result, _curves: Sequence[Curve], _term: str
) -> None:
    """Draw the first day of a run's first case, as batchstat does.

    Spikes are the rate of delivery, averaged over a minute; below the axis stands a bar for each
    message that came, moved to the right where one stands already; the grey line, on its own scale,
    counts what is delivered since midnight.

    Raises:
        InputError: the run's rows cannot be read.
    """
    record = next(iter(result.run.ledger))
    found = rows.read(result.run.directory.rows(*record.key), ["kind", "arrived_ps", "finished_ps"])
    kinds = np.array(found["kind"].to_pylist())
    finished = rows.numbers(found["finished_ps"])[kinds == "delivery"]
    minutes = finished[~np.isnan(finished.astype(np.float64))] // _MINUTE_PS
    delivered = np.bincount(minutes[minutes < _MINUTES].astype(np.int64), minlength=_MINUTES)
    hours = np.arange(_MINUTES) / 60
    axes.vlines(hours, 0, delivered * 60, color=style.COLOURS[6], linewidth=0.5)
    axes.set(xlim=(0, 24), ylim=(0, max(60, delivered.max() * 66)), xticks=range(0, 25, 4))
    axes.set(xlabel="hour of the day", ylabel="deliveries an hour")
    arrived = rows.numbers(found["arrived_ps"])[kinds == "message"] / _MINUTE_PS / _MINUTES
    shown = _apart(np.sort(arrived[arrived < 1]))
    axes.vlines(
        shown * 24, -0.05, -0.01, color=style.COLOURS[1], linewidth=0.5,
        transform=axes.get_xaxis_transform(), clip_on=False,
    )  # fmt: skip
    axes.tick_params(axis="x", pad=8)
    so_far = axes.twinx()
    so_far.plot(hours, np.cumsum(delivered), color=style.COLOURS[7])
    so_far.set(ylim=(0, None))
    so_far.grid(visible=False)
    so_far.set_ylabel("delivered since midnight", color=style.COLOURS[7])
    for drawn in (axes, so_far):
        style.short_numbers(drawn)


def _apart(places: Values) -> Values:
    """Rising places, each at least `_APART` after the one before."""
    steps = np.arange(places.size) * _APART
    apart: Values = np.maximum.accumulate(places - steps) + steps
    return apart


MEASURES = {"total": total, "hours": hours}
PANELS = {"day": draw_day}
TABLE = table
