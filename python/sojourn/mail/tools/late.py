"""latedudes: who has how many messages waiting.

Source: the paper's section "Next Analysis Step". A log says what was tried and what hosts said, a
spool who waits now, why, and until when.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from sojourn._internal.terminal import print_columns, print_lines, print_table
from sojourn._internal.units import count
from sojourn.maillog import reading
from sojourn.maillog.reading import Log, Reading
from sojourn.maillog.source import wall
from sojourn.maillog.times import span

if TYPE_CHECKING:
    from sojourn.mail.spools import Waiting

_MS_US = 1000
# More lines than this are not fitted to the terminal, which takes 0.1 ms and some kB each.
_TABLE = 2000


@dataclass(frozen=True, slots=True)
class Late:
    """A recipient with mail that waits.

    Attributes:
        recipient: the address.
        messages: how many wait.
        attempts: how often they were tried, all together.
        since_us: when the oldest of them was accepted, or first tried where the log does not say.
        last_us: when one was last tried; None where that is not known.
        host: the host of that attempt; empty where none was reached.
        error: what it said.
        open: how many were never refused: they are on their way, or wait for their domain; None
            where no spool says.
        next_us: when the first of those that were is tried again; None where no spool says.
    """

    recipient: str
    messages: int
    attempts: int
    since_us: int
    last_us: int | None
    host: str
    error: str
    open: int | None = None
    next_us: int | None = None

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "recipient": self.recipient,
            "messages": self.messages,
            "attempts": self.attempts,
            "host": self.host,
            "error": self.error,
            "open": self.open,
            "since": reading.stamp(self.since_us),
            "last": reading.stamp(self.last_us),
            "next": reading.stamp(self.next_us),
        }


@dataclass(frozen=True)
class Stragglers:
    """Those who wait when a log ends, or now, the one with the fewest messages first.

    Attributes:
        log: what the log was like; None without.
        until_us: when that is.
        late: each of them.
        left_out: recipients of messages that there was no room for.
    """

    log: Log | None
    until_us: int
    late: Sequence[Late]
    left_out: int

    @property
    def waiting(self) -> int:
        """All recipients of all messages that wait."""
        return sum(one.messages for one in self.late)

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "log": self.log and self.log.to_dict(),
            "waiting": self.waiting,
            "left_out": self.left_out,
            "recipients": [one.to_dict() for one in self.late],
        }


def late(of: Reading) -> Stragglers:
    """Who was deferred and has come to no end since.

    Raises:
        InputError: a log cannot be read.
    """
    log = of.waiting()
    read = of.feed(log)
    rows = reading.table(log, "waiting").to_pylist()
    by_recipient = defaultdict(list)
    for row in rows:
        by_recipient[row["recipient"]].append(row)
    found = []
    for recipient, waiting in by_recipient.items():
        last = max(waiting, key=lambda row: row["last_us"])
        found.append(
            Late(
                recipient=recipient,
                messages=len(waiting),
                attempts=sum(row["attempts"] for row in waiting),
                since_us=min(row["since_us"] for row in waiting),
                last_us=last["last_us"],
                host=last["relay"],
                error=last["text"],
            )
        )
    return Stragglers(read, read.count("last_us"), _sorted(found), log.left_out)


def in_spool(waiting: "Iterable[Waiting]") -> Stragglers:
    """The recipients with mail that waits in a spool now. Times are UTC."""
    found = map(_in_spool, waiting)
    return Stragglers(None, round(time.time() * 1e6), _sorted(found), 0)


def _in_spool(one: "Waiting") -> Late:
    last = one.last
    return Late(
        recipient=one.recipient,
        messages=one.messages,
        attempts=one.refused,
        since_us=one.since_ms * _MS_US,
        last_us=last.at_ms * _MS_US if last else None,
        host=(last.host if last else None) or "",
        error=last.text if last else "",
        open=one.open,
        next_us=None if one.next_ms is None else one.next_ms * _MS_US,
    )


def _sorted(found: Iterable[Late]) -> list[Late]:
    return sorted(found, key=lambda one: (one.messages, one.recipient))


def show(found: Stragglers) -> None:
    """Print a line a recipient, the worst last, and the sum."""
    in_spool = any(one.open is not None for one in found.late)
    heads = ["waiting", "recipient", "host", "for", "last tried", "attempts"]
    heads += ["next try", "said"] if in_spool else ["said"]

    def cells(one: Late) -> list[str]:
        return [
            f"{one.messages:,}",
            one.recipient,
            one.host or ("none" if one.last_us else "-"),
            span(found.until_us - one.since_us),
            _minute(one.last_us),
            f"{one.attempts:,}",
            *([_next(one, found.until_us)] if in_spool else []),
            one.error or "-",
        ]

    if len(found.late) > _TABLE:
        print_columns(heads, map(cells, found.late))
    elif found.late:
        print_table([[cells(one) for one in found.late]], heads)
    said = [f"{found.waiting:,} waiting, for {count(len(found.late), 'recipient')}"]
    if found.left_out:
        said.append(f"{found.left_out:,} more could not be kept")
    if any(one.open for one in found.late):
        said.append("open: on its way, or tried when its domain may be")
    notes = found.log.notes() if found.log else []
    print_lines(f"  {line}" for line in [*said, *notes])


def _minute(time_us: int | None) -> str:
    return "-" if time_us is None else _of_minute(time_us // 60_000_000)


@lru_cache
def _of_minute(minute: int) -> str:
    return f"{wall(minute * 60_000_000):%b %d %H:%M}"


def _next(one: Late, now_us: int) -> str:
    if one.next_us is None:
        return "open"
    return f"in {span(one.next_us - now_us)}" if one.next_us > now_us else "now"
