"""What became of each recipient's copy of a message, by a log."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

NEVER = -1
DELIVERED, FAILED, WAITING = range(3)
PARTS = ("before_us", "queued_us", "connecting_us", "sending_us")


@dataclass
class Copy:
    """One recipient's copy of a message; times in microseconds, `NEVER` where they are not known.

    Attributes:
        message: its identity in the queue.
        recipient: the address, in lower case after the `@`.
        accepted: when the message was accepted, by the log or by how old it was.
        size: of the message, in bytes.
        sender: of the message.
        attempts: how many were made at a host.
        began: how long after that the first attempt began.
        deferred: how many attempts were answered for now.
        finished: when it was delivered.
        delay: how old it was then, by its line.
        outcome: `DELIVERED`, `FAILED` or `WAITING`.
        parts: of the delay, as in `PARTS`.
    """

    message: str
    recipient: str
    accepted: int
    size: int
    sender: str = ""
    attempts: int = 0
    began: int = 0
    deferred: int = 0
    finished: int = NEVER
    delay: int = NEVER
    outcome: int = WAITING
    parts: list[int] = field(default_factory=lambda: [NEVER] * len(PARTS))

    @property
    def domain(self) -> str:
        """The recipient's domain."""
        return self.recipient.rpartition("@")[2]

    def take(self, row: dict[str, Any]) -> None:
        """Take an attempt in."""
        self.attempts += row["relay"] not in ("", "none")
        if row["outcome"] == 1:
            self.deferred += 1
            return
        self.outcome = DELIVERED if row["outcome"] == 0 else FAILED
        if self.outcome == DELIVERED:
            self.finished = row["at_us"]
            delay = row["delay_us"]
            self.delay = self.finished - self.accepted if delay is None else delay
            self.parts = [NEVER if row[name] is None else row[name] for name in PARTS]


def copies(tables: Iterable[pa.Table]) -> list[Copy]:
    """The copies in a log's attempts, in the order of their messages' acceptance.

    A message was accepted when the log says so, or else when its first attempt says how old it is.

    Args:
        tables: as `sojourn.maillog.attempts` has them.
    """
    found: dict[tuple[str, str], Copy] = {}
    for part in tables:
        for row in part.to_pylist():
            key = row["queue_id"], row["recipient"]
            copy = found.get(key)
            if copy is None:
                copy = found[key] = _first(row)
            copy.take(row)
    return sorted(found.values(), key=lambda copy: (copy.accepted, copy.message))


def _first(row: dict[str, Any]) -> Copy:
    accepted = row["accepted_us"]
    if accepted is None:
        accepted = row["at_us"] - (row["delay_us"] or 0)
    user, at, domain = row["recipient"].rpartition("@")
    if row["queued_us"] is None:
        began = row["at_us"] - (row["took_us"] or 0) - accepted
    else:
        began = (row["before_us"] or 0) + row["queued_us"]
    return Copy(
        row["queue_id"], f"{user}{at}{domain.lower()}", accepted, row["size_bytes"] or 0,
        sender=row["sender"], began=max(began, 0),
    )  # fmt: skip
