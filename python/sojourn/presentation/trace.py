"""The picture of a traced flow: its window or rate, its round trips, its packets and pauses."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from sojourn._internal.errors import InputError
from sojourn._internal.units import BPS_PER_GBPS, PS_PER_US
from sojourn.analysis.sample import Warmup
from sojourn.analysis.statistics import Values
from sojourn.presentation import style
from sojourn.presentation.axes import Layout
from sojourn.presentation.style import Picture
from sojourn.store import rows
from sojourn.store.run_directory import TRACE
from sojourn.store.stored_run import StoredRun

_COLUMNS = [
    "at_ps",
    "event",
    "sequence",
    "marked",
    "lost",
    "round_trip_ps",
    "until_ps",
    "window_bytes",
    "rate_bps",
    "path",
]
_BYTES_PER_KB = 1000
_NOTE = (
    "grey: a port on the way was stopped by pauses; round trip: from a packet until its answer;"
    " the first case and replication"
)


def is_in(run: StoredRun) -> bool:
    """Whether a flow of a run was traced."""
    return any(run.directory.beside(TRACE, *record.key).exists() for record in run.ledger)


def drawn(run: StoredRun, _layout: Layout, at: str | float | None, _warmup: Warmup) -> Picture:
    """Draw the traced flow of the first case and replication that has one.

    Raises:
        InputError: no flow was traced, `at` is given, or the trace cannot be read.
    """
    if at is not None:
        raise InputError("a trace is of the first case; --at is for other kinds of picture")
    if not is_in(run):
        raise InputError("no flow of this run was traced; sojourn run --trace flow=N traces one")
    record = next(own for own in run.ledger if run.directory.beside(TRACE, *own.key).exists())
    table = rows.read(run.directory.beside(TRACE, *record.key), _COLUMNS)
    event = np.array(table["event"].to_pylist())
    found = {
        name: rows.numbers(table[name]).astype(float)
        for name in _COLUMNS
        if name not in ("event", "path")
    }
    found["at_us"] = found["at_ps"] / PS_PER_US
    title = f"{run.title}: flow {record.parameters['trace']}"
    picture, panels = style.panels(3, 1, title, _NOTE, size=(9.0, 8.0))
    speed, trips, packets = (row[0] for row in panels)
    _speed(speed, found, event)
    heard = (event == "heard") & ~np.isnan(found["round_trip_ps"])
    trip = found["round_trip_ps"][heard] / PS_PER_US
    trips.plot(found["at_us"][heard], trip, ".", markersize=2, color=style.COLOURS[0])
    trips.set_ylabel("round trip [us]")
    trips.set_ylim(bottom=0)
    _packets(packets, found, event)
    paused = event == "paused"
    for panel in (speed, trips, packets):
        for begin, end in zip(
            found["at_us"][paused], found["until_ps"][paused] / PS_PER_US, strict=True
        ):
            panel.axvspan(begin, end, color="0.85", linewidth=0, zorder=0)
        panel.set_xlim(found["at_us"].min(), found["at_us"][~paused].max())
    packets.set_xlabel("time [us]")
    return picture


def _speed(panel: Axes, found: Mapping[str, Values], event: Values) -> None:
    own = (event == "sent") | (event == "heard")
    window, rate = found["window_bytes"][own], found["rate_bps"][own]
    if np.isfinite(window).any():
        panel.step(
            found["at_us"][own], window / _BYTES_PER_KB, where="post", color=style.COLOURS[0]
        )
        panel.set_ylabel("window [KB]")
    elif np.isfinite(rate).any():
        panel.step(found["at_us"][own], rate / BPS_PER_GBPS, where="post", color=style.COLOURS[0])
        panel.set_ylabel("rate [Gb/s]")
    else:
        panel.text(0.5, 0.5, "neither a window nor a rate", transform=panel.transAxes, ha="center")
    panel.set_ylim(bottom=0)


def _packets(panel: Axes, found: Mapping[str, Values], event: Values) -> None:
    at, sequence = found["at_us"], found["sequence"]
    kinds = {
        "sent": (event == "sent") & (found["lost"] == 0),
        "arrived marked": (event == "arrived") & (found["marked"] == 1),
        "lost": (event == "sent") & (found["lost"] == 1),
    }
    sizes = {"sent": 2, "arrived marked": 3, "lost": 6}
    for place, (name, own) in enumerate(kinds.items()):
        if own.any():
            panel.plot(
                at[own],
                sequence[own],
                linestyle="",
                markersize=sizes[name],
                label=name,
                **style.look(place),
            )
    panel.set_ylabel("packet")
    if len(panel.get_legend_handles_labels()[1]) > 1:
        panel.legend(loc="best", fontsize=8)
