"""Everything that happened to one recipient's copies: what owners of lists are asked most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn._core import MailLog
from sojourn._internal.errors import InputError
from sojourn._internal.terminal import print_lines
from sojourn._internal.units import count
from sojourn.maillog import reading
from sojourn.maillog.reading import Log, Reading
from sojourn.maillog.source import wall
from sojourn.maillog.times import span

OUTCOMES = ("delivered", "deferred", "bounced")


@dataclass(frozen=True)
class Copy:
    """One message to the recipient.

    Attributes:
        queue_id: the queue's name for it.
        sender: the envelope's; None where the log does not say.
        message_id: its Message-ID; None where the log does not say.
        accepted_us: when it was accepted, None where that was before the log began.
        size_bytes: None where the log does not say.
        attempts: the attempts, in order: rows as of `attempts`.
    """

    queue_id: str
    sender: str | None
    message_id: str | None
    accepted_us: int | None
    size_bytes: int | None
    attempts: Sequence[Mapping[str, Any]]

    @property
    def state(self) -> str:
        """What came of it so far: `delivered`, `deferred` or `bounced`."""
        return OUTCOMES[self.attempts[-1]["outcome"]]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "queue_id": self.queue_id,
            "sender": self.sender,
            "message_id": self.message_id,
            "accepted": reading.stamp(self.accepted_us),
            "size_bytes": self.size_bytes,
            "state": self.state,
            "attempts": [_attempt(row) for row in self.attempts],
        }


@dataclass(frozen=True)
class Trace:
    """What happened to one recipient's copies, the first one tried first."""

    log: Log
    recipient: str
    copies: Sequence[Copy]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "log": self.log.to_dict(),
            "recipient": self.recipient,
            **self._states(),
            "copies": [copy.to_dict() for copy in self.copies],
        }

    def _states(self) -> dict[str, int]:
        states = [copy.state for copy in self.copies]
        return {state: states.count(state) for state in OUTCOMES}

    def summary(self) -> str:
        """How many copies came to which state."""
        if not self.copies:
            return f"nothing about {self.recipient}"
        states = ", ".join(f"{n:,} {state}" for state, n in self._states().items() if n)
        return f"{count(len(self.copies), 'message')} to {self.recipient}: {states}"


def trace(of: Reading, recipient: str) -> Trace:
    """What happened to the copies for an address, or for a domain with `@` in front.

    Raises:
        InputError: a log cannot be read; the recipient is no address.
    """
    if "@" not in recipient:
        raise InputError(f"{recipient!r}: expected an address like a@b.example, or @b.example")
    log: MailLog = of.rows(recipient)
    read = of.feed(log)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in reading.table(log, "rows").to_pylist():
        found.setdefault((row["queue_id"], row["recipient"]), []).append(row)
    return Trace(read, recipient, [_copy(rows) for rows in found.values()])


def show(found: Trace) -> None:
    """Print each copy, and below it its attempts."""
    for copy in found.copies:
        print_lines([_heading(copy), *(f"    {_line(row)}" for row in copy.attempts)])
    print_lines(f"  {line}" for line in [found.summary(), *found.log.notes()])


def _copy(rows: list[dict[str, Any]]) -> Copy:
    last = rows[-1]
    return Copy(
        queue_id=last["queue_id"],
        sender=last["sender"] or None,
        message_id=last["message_id"] or None,
        accepted_us=last["accepted_us"],
        size_bytes=last["size_bytes"],
        attempts=rows,
    )


def _heading(copy: Copy) -> str:
    parts = [copy.queue_id]
    if copy.accepted_us is not None:
        parts.append(f"accepted {wall(copy.accepted_us):%Y-%m-%d %H:%M:%S}")
    if copy.sender:
        parts.append(f"from {copy.sender}")
    if copy.size_bytes is not None:
        parts.append(f"{copy.size_bytes:,} bytes")
    if copy.message_id:
        parts.append(f"<{copy.message_id}>")
    return ", ".join(parts)


def _line(row: Mapping[str, Any]) -> str:
    parts = []
    if row["delay_us"] is not None:
        parts.append(f"after {span(row['delay_us'])}")
    if row["took_us"] is not None:
        parts.append(f"attempt {span(row['took_us'])}")
    if row["relay"]:
        parts.append(f"at {row['relay']}")
    if row["original"]:
        parts.append(f"{row['original']} is {row['recipient']}")
    if row["text"] or row["dsn"]:
        parts.append(f"{row['dsn']} {row['text']}".strip())
    return f"{wall(row['at_us']):%b %d %H:%M:%S}  {OUTCOMES[row['outcome']]:9}  {', '.join(parts)}"


def _attempt(row: Mapping[str, Any]) -> dict[str, object]:
    """An attempt for `--json`."""
    seconds = ("delay", "before", "queued", "connecting", "sending", "took")
    texts = ("recipient", "original", "relay", "address", "dsn", "text")
    return {
        "at": reading.stamp(row["at_us"]),
        "outcome": OUTCOMES[row["outcome"]],
        **{
            f"{name}_s": None if (it := row[f"{name}_us"]) is None else it / 1e6 for name in seconds
        },
        **{name: row[name] or None for name in texts},
        "mailer": row["mailer"],
    }
