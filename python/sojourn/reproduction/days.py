"""A day of a list, as batchstat draws it (R. Kolstad, LISA 1997, figure 1)."""

import numpy as np
from matplotlib.axes import Axes

from sojourn._internal.units import PS_PER_S
from sojourn.analysis.statistics import Values
from sojourn.presentation import style
from sojourn.reproduction.results import Result
from sojourn.store import rows

_MINUTE_PS = 60 * PS_PER_S
_MINUTES = 24 * 60
_APART = 1 / 400  # of the axis: arrivals at least about a pixel apart


def draw_day(panel: Axes, result: Result) -> None:
    """Draw the first day of a run's first case.

    Spikes are the rate of delivery, averaged over a minute; below the axis stands a bar for each
    message that came, moved to the right where one stands already; the grey line, on its own scale,
    counts what is delivered since midnight.

    Raises:
        InputError: the run's rows cannot be read.
    """
    record = next(iter(result.run.ledger))
    table = rows.read(result.run.directory.rows(*record.key), ["kind", "arrived_ps", "finished_ps"])
    kinds = np.array(table["kind"].to_pylist())
    finished = rows.numbers(table["finished_ps"])[kinds == "delivery"]
    minutes = finished[~np.isnan(finished.astype(np.float64))] // _MINUTE_PS
    delivered = np.bincount(minutes[minutes < _MINUTES].astype(np.int64), minlength=_MINUTES)
    hours = np.arange(_MINUTES) / 60
    panel.vlines(hours, 0, delivered * 60, color=style.COLOURS[6], linewidth=0.5)
    panel.set(xlim=(0, 24), ylim=(0, max(60, delivered.max() * 66)), xticks=range(0, 25, 4))
    panel.set(xlabel="hour of the day", ylabel="deliveries an hour")
    arrived = rows.numbers(table["arrived_ps"])[kinds == "message"] / _MINUTE_PS / _MINUTES
    shown = _apart(np.sort(arrived[arrived < 1]))
    panel.vlines(
        shown * 24, -0.05, -0.01, color=style.COLOURS[1], linewidth=0.5,
        transform=panel.get_xaxis_transform(), clip_on=False,
    )  # fmt: skip
    panel.tick_params(axis="x", pad=8)
    total = panel.twinx()
    total.plot(hours, np.cumsum(delivered), color=style.COLOURS[7])
    total.set(ylim=(0, None))
    total.grid(visible=False)
    total.set_ylabel("delivered since midnight", color=style.COLOURS[7])
    for axes in (panel, total):
        style.short_numbers(axes)


def _apart(places: Values) -> Values:
    """Rising places, each at least `_APART` after the one before."""
    steps = np.arange(places.size) * _APART
    apart: Values = np.maximum.accumulate(places - steps) + steps
    return apart
