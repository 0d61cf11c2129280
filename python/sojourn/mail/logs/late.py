"""latedudes: who has how many messages waiting.

Source: the paper's section "Next Analysis Step".
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sojourn.mail.logs import reading
from sojourn.mail.logs.reading import Log, Reading
from sojourn.mail.logs.source import wall
from sojourn.mail.logs.times import span
from sojourn.terminal import print_lines, print_table
from sojourn.units import count


@dataclass(frozen=True)
class Late:
    """A recipient whom mail waits for.

    Attributes:
        recipient: the address.
        messages: how many wait.
        attempts: how often they were tried, all together.
        since_us: when the oldest of them was accepted, or first tried where the log does not say.
        last_us: when one was last tried.
        host: the host of that attempt; empty where none was reached.
        error: what it said.
    """

    recipient: str
    messages: int
    attempts: int
    since_us: int
    last_us: int
    host: str
    error: str

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        own = asdict(self)
        since, last = own.pop("since_us"), own.pop("last_us")
        return {**own, "since": reading.stamp(since), "last": reading.stamp(last)}


@dataclass(frozen=True)
class Stragglers:
    """Those who wait when a log ends, the one with the fewest messages first.

    Attributes:
        log: what the log was like.
        late: each of them.
        left_out: recipients of messages that there was no room for.
    """

    log: Log
    late: Sequence[Late]
    left_out: int

    @property
    def waiting(self) -> int:
        """All recipients of all messages that wait."""
        return sum(one.messages for one in self.late)

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "log": self.log.to_dict(),
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
    found.sort(key=lambda one: (one.messages, one.recipient))
    return Stragglers(read, found, log.left_out)


def show(found: Stragglers) -> None:
    """Print a line a recipient, the worst last, and the sum."""
    end = found.log.count("last_us")
    lines = [
        [
            f"{one.messages:,}",
            one.recipient,
            one.host or "none",
            span(end - one.since_us),
            f"{wall(one.last_us):%b %d %H:%M}",
            f"{one.attempts:,}",
            one.error,
        ]
        for one in found.late
    ]
    heads = ["waiting", "recipient", "host", "for", "last tried", "attempts", "said"]
    if lines:
        print_table([lines], heads)
    said = [f"{found.waiting:,} waiting, for {count(len(found.late), 'recipient')}"]
    if found.left_out:
        said.append(f"{found.left_out:,} more could not be kept")
    print_lines(f"  {line}" for line in [*said, *found.log.notes()])
