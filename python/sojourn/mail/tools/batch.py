"""batchstat: the picture of a day, how fast messages were delivered and when new ones came.

Source: the paper's section "batchstat", figures 1, 5 and 7 to 9.
"""

from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from sojourn._internal.errors import InputError
from sojourn._internal.units import count
from sojourn.analysis.statistics import Values
from sojourn.maillog import reading
from sojourn.maillog.reading import Log, Reading
from sojourn.maillog.source import wall, wall_us
from sojourn.maillog.stats import Ended
from sojourn.presentation import style
from sojourn.presentation.style import Picture
from sojourn.store import rows

MINUTE_US = 60 * 10**6
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

_SIZE = (11.0, 5.0)
# The room below the axis for arrivals, as a share of that above it.
_BELOW = 0.12
# A picture of a day in which all happened within less of it shows that part.
_SMALL_PART = 0.25
# How far from its time an arrival may stand, so that there is a gap beside it.
_AWAY_US = 6 * MINUTE_US

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Deliveries and arrivals over a time.

    Attributes:
        log: what the log was like.
        since_us: its beginning.
        until_us: its end.
        width_us: over what rates are averaged.
        start_us: the beginning of each interval in which anything happened.
        delivered: recipients delivered to in each.
        failed: attempts for a recipient in each that did not deliver.
        arrived: messages that came in each.
        earlier: recipients delivered to before that time.
    """

    log: Log
    since_us: int
    until_us: int
    width_us: int
    start_us: Times
    delivered: Times
    failed: Times
    arrived: Times
    earlier: int

    @property
    def per_hour(self) -> Values:
        """The rate of delivery in each interval, recipients an hour."""
        return self.delivered.astype(np.float64) * HOUR_US / self.width_us

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        rows = zip(
            self.start_us.tolist(),
            self.arrived.tolist(),
            self.delivered.tolist(),
            self.failed.tolist(),
            self.per_hour.tolist(),
            np.cumsum(self.delivered).tolist(),
            strict=True,
        )
        names = ("arrived", "delivered", "failed", "delivered_per_hour", "delivered_so_far")
        return {
            "log": self.log.to_dict(),
            "since": reading.stamp(self.since_us),
            "until": reading.stamp(self.until_us),
            "interval_s": self.width_us / 1e6,
            "arrived": int(self.arrived.sum()),
            "delivered": int(self.delivered.sum()),
            "failed": int(self.failed.sum()),
            "delivered_earlier": self.earlier,
            "intervals": [
                {"start": reading.stamp(start), **dict(zip(names, row, strict=True))}
                for start, *row in rows
            ],
        }


def batch(of: Reading, width_us: int = MINUTE_US) -> Batch:
    """What happened in each interval of the time that was asked for, by default the last day.

    Raises:
        InputError: a log cannot be read; nothing happened then.
    """
    log = of.tally(width_us)
    read = of.feed(log)
    bins = reading.table(log, "bins")
    ended = Ended.of(bins)
    columns = {
        "start_us": rows.numbers(bins["start_us"]),
        "delivered": np.array([one.delivered_recipients for one in ended], dtype=np.int64),
        "failed": np.array([one.failed_recipients for one in ended], dtype=np.int64),
        "arrived": rows.numbers(bins["arrived"]),
    }
    if not ended:
        raise InputError("; ".join(["there is nothing to draw", *read.notes()]))
    start = columns["start_us"]
    last = wall(int(start[-1])).replace(hour=0, minute=0, second=0, microsecond=0)
    since = of.since_us if of.since_us is not None else wall_us(last)
    until = of.until_us if of.until_us is not None else wall_us(last + timedelta(days=1))
    if of.since_us is None and of.until_us is not None:
        since = min(since, until - DAY_US)
    kept = (start >= since) & (start < until)
    kept_columns = {name: column[kept] for name, column in columns.items()}
    earlier = int(columns["delivered"][start < since].sum())
    return Batch(
        log=read,
        since_us=since,
        until_us=until,
        width_us=width_us,
        earlier=earlier,
        **kept_columns,
    )


def of_day(of: Reading, since_us: int, until_us: int) -> Reading:
    """The same logs, of one day."""
    return replace(of, since_us=since_us, until_us=until_us)


def near(found: Batch) -> Batch:
    """The same around what happened, ten intervals at least, where that is a small part."""
    if not found.start_us.size:
        return found
    first, last = int(found.start_us[0]), int(found.start_us[-1]) + found.width_us
    if last - first > (found.until_us - found.since_us) * _SMALL_PART:
        return found
    since = first - found.width_us
    until = max(last + found.width_us, since + 10 * found.width_us)
    return replace(found, since_us=since, until_us=until)


def draw(found: Batch) -> Picture:
    """Rates as spikes, arrivals below the axis, what is delivered so far as a line."""
    begin, end = wall(found.since_us), wall(found.until_us)
    title = f"Mail delivery performance, {begin:%a %d %b %Y}"
    if found.until_us - found.since_us != DAY_US:
        title = f"Mail delivery performance, {begin:%d %b %Y %H:%M} to {end:%d %b %Y %H:%M}"
    note = (
        f"rates over {found.width_us / 1e6:g} s; below the axis:"
        f" {count(int(found.arrived.sum()), 'new message')}; grey line:"
        f" {found.delivered.sum():,} delivered; {count(int(found.failed.sum()), 'attempt')} failed"
    )
    with style.applied():
        picture, ((panel,),) = style.panels(1, 1, title, note, size=_SIZE)
        panel.set_xlim(found.since_us, found.until_us)
        ticks = _ticks(found.since_us, found.until_us)
        panel.set_xticks(list(ticks), list(ticks.values()))
        panel.grid(visible=False, axis="x")
        middle = found.start_us + found.width_us // 2
        panel.vlines(middle, 0, found.per_hour, color="black", linewidth=0.7)
        panel.axhline(0, color="black", linewidth=0.8)
        panel.set_ylabel("delivery rate [recipients/h]")
        so_far = panel.twinx()
        so_far.grid(visible=False)
        so_far.spines["right"].set_visible(True)
        times = np.concatenate([[found.since_us], found.start_us + found.width_us])
        total = np.concatenate([[0], np.cumsum(found.delivered)])
        so_far.plot(times, total, color="0.6", linewidth=2, drawstyle="steps-post")
        so_far.set_ylabel("delivered so far (grey line)")
        _above(panel, found.per_hour.max(initial=0))
        _above(so_far, total[-1])
        for axes in (panel, so_far):
            style.short_numbers(axes)
        picture.draw_without_rendering()  # how wide the panel is, is known then
        inches = panel.get_window_extent().width / picture.dpi
        _draw_arrivals(panel, found, round(inches * style.DPI))
    return picture


def _ticks(since_us: int, until_us: int) -> dict[int, str]:
    """Where times stand along the axis, and how they read: at most a dozen steps."""
    seconds = (10, 60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
    days = (1, 7, 28)
    steps = [*(second * 10**6 for second in seconds), *(day * DAY_US for day in days)]
    step = next((step for step in steps if (until_us - since_us) / step <= 12), 365 * DAY_US)
    form = "%H:%M:%S" if step < MINUTE_US else "%H:%M" if step < DAY_US else "%d %b"
    first = -(-since_us // step) * step
    return {at: f"{wall(at):{form}}" for at in range(first, until_us + 1, step)}


def _above(panel: Axes, highest: float) -> None:
    """Leave room below zero, and no numbers in it."""
    top = max(highest, 1) * 1.05
    panel.set_ylim(-_BELOW * top, top)
    panel.yaxis.set_major_formatter(EngFormatter(sep=""))
    panel.set_yticks([tick for tick in panel.get_yticks() if 0 <= tick <= top])


def _draw_arrivals(panel: Axes, found: Batch, pixels: int) -> None:
    """A bar of one pixel for each arrival, at least one pixel from the next.

    Where so many come that there is no room nearby, bars stand for several and are as much longer.
    """
    step = (found.until_us - found.since_us) / (pixels / 2)
    columns, depth = spread(found.start_us - found.since_us, found.arrived, step, _AWAY_US)
    if columns.size:
        places = found.since_us + (columns + 0.5) * step
        low = panel.get_ylim()[0] * (0.25 + 0.7 * depth / max(depth.max(), 3))
        panel.vlines(places, low, 0, color="#0072B2", linewidth=72 / style.DPI, antialiased=False)


def spread(at_us: Times, number: Times, step_us: float, away_us: int) -> tuple[Times, Times]:
    """Where bars for arrivals stand, so that they can be distinguished.

    Args:
        at_us: times of arrivals, rising.
        number: how many come then.
        step_us: what lies between two bars with a gap between.
        away_us: how far from its time a bar may stand.

    Returns:
        The columns of the bars, rising, and how many arrivals each stands for: 1 but where there
        are more than columns.
    """
    found: dict[int, int] = {}
    free = 0
    away = int(away_us / step_us)
    for time, many in zip(at_us.tolist(), number.tolist(), strict=True):
        own = int(time / step_us)
        room = range(max(own, free), own + away + 1)[:many]
        if many and not room:
            found[free - 1] += many
        for nth, place in enumerate(room):
            # messages without a bar share one
            found[place] = len(range(nth, many, len(room)))
            free = place + 1
    return np.array(list(found), dtype=np.int64), np.array(list(found.values()), dtype=np.int64)
