"""realstat: how fast it goes, a line every 15 seconds.

Source: the paper's section "realstat", figure 2.
"""

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from sojourn._core import MailLog
from sojourn._internal.errors import InputError
from sojourn.maillog import reading, source
from sojourn.maillog.reading import Log, Reading
from sojourn.maillog.source import wall, wall_us
from sojourn.maillog.stats import Ended

SECOND_US = 10**6
_HOUR_S = 3600
# A longer bar says no more.
_LONGEST_BAR = 60
# How often a log that grows is looked at, in seconds.
_LOOK_S = 0.5
# An interval as wide as any log: everything is counted in it.
_ALL_TIME_US = 2**60


@dataclass(frozen=True)
class Tick:
    """What happened in the interval before a moment.

    Attributes:
        at_us: the moment.
        interval_s: how long the interval is.
        delivered: recipients delivered to.
        failed: attempts for a recipient that did not deliver.
    """

    at_us: int
    interval_s: int
    delivered: int
    failed: int

    @property
    def per_hour(self) -> int:
        """The rate of delivery."""
        return round(self.delivered * _HOUR_S / self.interval_s)

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        own = asdict(self)
        at = reading.stamp(own.pop("at_us"))
        attempted = self.delivered + self.failed
        return {"at": at, **own, "attempted": attempted, "delivered_per_hour": self.per_hour}

    def line(self, per_mark: int) -> str:
        """As in figure 2: a star for so many delivered, a dash for so many that failed."""
        stars, dashes = ((n + per_mark // 2) // per_mark for n in (self.delivered, self.failed))
        bar = "*" * stars + "-" * dashes
        if len(bar) > _LONGEST_BAR:
            bar = f"{bar[:_LONGEST_BAR]}>"
        clock = f"{wall(self.at_us):%H:%M:%S}".removeprefix("0")
        return f"{clock:>8} {self.per_hour:>9}/{self.delivered:>7}  {bar}".rstrip()


def replay(of: Reading, interval_s: int) -> tuple[Log, list[Tick]]:
    """The intervals of logs that are at their end, by the logs' own clock, empty ones too.

    Raises:
        InputError: a log cannot be read.
    """
    width = interval_s * SECOND_US
    log = of.tally(width)
    read = of.feed(log)
    bins = reading.table(log, "bins")
    ended = dict(zip(bins["start_us"].to_pylist(), Ended.of(bins), strict=True))
    starts = range(min(ended, default=0), max(ended, default=-width) + width, width)
    return read, [_tick(start + width, interval_s, ended.get(start)) for start in starts]


def _tick(at_us: int, interval_s: int, ended: Ended | None) -> Tick:
    if ended is None:
        return Tick(at_us, interval_s, 0, 0)
    return Tick(at_us, interval_s, ended.delivered_recipients, ended.failed_recipients)


@dataclass
class Clock:
    """The wall's clock, and a way to wait; tests bring another."""

    now: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep


def live(of: Reading, interval_s: int, clock: Clock | None = None) -> Iterator[Tick]:
    """The intervals of a log that grows, as they pass by this machine's clock; for ever.

    A file is read from its end on, and from the beginning when it is cut off or another takes its
    name; standard input until it ends.

    Raises:
        InputError: more than one log; one that cannot be read.
    """
    if len(of.names) != 1:
        raise InputError("one log is watched at a time; --replay reads several")
    clock = clock or Clock()
    (name,) = of.names
    log = of.tally(_ALL_TIME_US)
    of.begin(log, name)
    with _followed(of, log, name, clock) as more:
        before = (0, 0)
        due = (clock.now() // interval_s + 1) * interval_s
        ended = False
        while not ended:
            while not ended and (left := due - clock.now()) > 0:
                piece = more(min(left, _LOOK_S))
                ended = piece is None
                log.feed(piece or b"")
            if ended:
                log.finish()
            so_far = _counted(log)
            delivered, failed = (now - then for now, then in zip(so_far, before, strict=True))
            at = wall_us(datetime.fromtimestamp(due))  # noqa: DTZ006 - as clocks here show it
            yield Tick(at, interval_s, delivered, failed)
            before, due = so_far, due + interval_s


@contextmanager
def _followed(
    of: Reading, log: MailLog, name: str, clock: Clock
) -> Iterator[Callable[[float], bytes | None]]:
    """What gives the next bytes of a log, waiting for them so long; None at its end."""
    if name == source.STDIN:
        yield _stdin
        return
    growing = _Growing(of, log, Path(name), clock)
    try:
        yield growing.more
    finally:
        growing.file.close()


def _counted(log: MailLog) -> tuple[int, int]:
    everything = Ended.of(reading.table(log, "ages"))[0]
    return everything.delivered_recipients, everything.failed_recipients


def _stdin(patience_s: float) -> bytes | None:
    file = sys.stdin.buffer.fileno()
    if not select.select([file], [], [], patience_s)[0]:
        return b""
    return os.read(file, source.PIECE) or None


class _Growing:
    """A file that grows, however it is rotated."""

    def __init__(self, of: Reading, log: MailLog, path: Path, clock: Clock) -> None:
        self._of, self._log, self._path, self._clock = of, log, path, clock
        self.file = path.open("rb")
        if source.packed(self.file):
            self.file.close()
            raise InputError(f"{path}: packed, so it does not grow; --replay reads it")
        self.file.seek(0, os.SEEK_END)

    def more(self, patience_s: float) -> bytes:
        """What was written since; nothing after waiting for so long."""
        replaced = self._replaced()
        # the last lines of a file that was put aside come before the first of the new one
        if piece := self.file.read(source.PIECE):
            return piece
        if replaced:
            self._log.finish()
            self.file.close()
            self.file = self._path.open("rb")
            self._of.begin(self._log, str(self._path))
        elif self._cut_off():
            self._log.finish()
            self.file.seek(0)
        else:
            self._clock.wait(patience_s)
        return b""

    def _replaced(self) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False  # between two files
        own = os.fstat(self.file.fileno())
        return (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino)

    def _cut_off(self) -> bool:
        return os.fstat(self.file.fileno()).st_size < self.file.tell()
