"""What became of everything that was sent, counted exactly."""

import math
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

# What a subscriber's domain promises, the best first; each group has those before it too.
GROUPS = {
    "fast": ("fast",),
    "prompt": ("fast", "slow"),
    "reachable": ("fast", "slow", "deferring"),
}
WHO = {
    "fast": "subscribers whose hosts answer at once",
    "prompt": "these, and those whose hosts take their time",
    "reachable": "these, and those who are refused at first; the others cannot be reached",
}
"""Who is in each group, for the table of the demo."""


class Accepted(NamedTuple):
    """One message taken over for one recipient.

    `turns` is how often the client had spoken in the session after it was answered.
    """

    at: float
    message: str
    recipient: str
    host: str
    session: int
    transaction: int
    turns: int


@dataclass(frozen=True)
class Busiest:
    """What went to the host that took over most.

    Attributes:
        deliveries: how much.
        sessions: over how many sessions.
        transactions: in how many transactions.
        round_trips: of the session that had the most: each is a wait for an answer.
    """

    deliveries: int
    sessions: int
    transactions: int
    round_trips: int


Pair = tuple[str, str]


@dataclass(frozen=True)
class Outcome:
    """A rehearsal's end.

    Attributes:
        subscribers: addresses, and what their domains promise.
        messages: Message-IDs.
        submitted: when the first message was handed over, Unix time.
        stored: when the last was on stable storage.
        accepted: what the internet took over, in its order.
        failed: pairs of message and recipient that the server gave up, and told the sender.
        waiting: pairs that the spool still has.
        cpu_s: the server's processor time.
        peak_bytes: the most memory its process held.
        internet_cpu_s: the internet's processor time.
        signature_ns: the processor time of a signature alone; None where copies are not signed.
        interrupted: whether Ctrl-C ended it.
    """

    subscribers: list[tuple[str, str]]
    messages: list[str]
    submitted: float
    stored: float
    accepted: list[Accepted]
    failed: set[Pair]
    waiting: set[Pair]
    cpu_s: float
    peak_bytes: int
    internet_cpu_s: float
    signature_ns: float | None = None
    interrupted: bool = False

    @cached_property
    def copies(self) -> Counter[Pair]:
        """How often each recipient has each message."""
        return Counter((one.message, one.recipient) for one in self.accepted)

    @property
    def sent(self) -> int:
        """Messages times recipients."""
        return len(self.messages) * len(self.subscribers)

    @property
    def delivered(self) -> int:
        """Who has it, once or more."""
        return len(self.copies)

    @property
    def deferred(self) -> int:
        """Who has it not, and is tried again."""
        return len(self.waiting - self.copies.keys())

    @property
    def twice(self) -> int:
        """Copies beyond the first."""
        return self.copies.total() - len(self.copies)

    @property
    def busiest(self) -> Busiest:
        """What went to the host that took over most; of several the first."""
        hosts = Counter(one.host for one in self.accepted)
        most, deliveries = hosts.most_common(1)[0] if hosts else ("", 0)
        there = [one for one in self.accepted if one.host == most]
        sessions = {one.session for one in there}
        transactions = {(one.session, one.transaction) for one in there}
        # The last one is waited for, too.
        round_trips = max((one.turns + 1 for one in there), default=0)
        return Busiest(deliveries, len(sessions), len(transactions), round_trips)

    @cached_property
    def lost(self) -> list[Pair]:
        """The copies without an answer so far, as message and recipient."""
        known = self.copies.keys() | self.failed | self.waiting
        copies = ((message, who) for message in self.messages for who, _ in self.subscribers)
        return [pair for pair in copies if pair not in known]

    def groups(self) -> list[str]:
        """The groups that have members."""
        kinds = {kind for _, kind in self.subscribers}
        return [group for group, members in GROUPS.items() if kinds & set(members)]

    def times_s(self, group: str) -> list[float]:
        """When those of a group first had each message, since the start, in order."""
        kinds = GROUPS[group]
        members = {who for who, kind in self.subscribers if kind in kinds}
        first: dict[Pair, float] = {}
        for one in self.accepted:
            if one.recipient in members:
                key = (one.message, one.recipient)
                first[key] = min(first.get(key, math.inf), one.at - self.submitted)
        return sorted(first.values())

    def until_s(self, group: str, share: float) -> float:
        """When this share of a group had it; infinity where fewer have."""
        members = sum(kind in GROUPS[group] for _, kind in self.subscribers) * len(self.messages)
        times = self.times_s(group)
        place = math.ceil(share * members) - 1
        return times[place] if 0 <= place < len(times) else math.inf


def waiting(spool: Path) -> set[Pair]:
    """Everything that a spool still has to deliver: Message-ID and recipient.

    Reads the database by itself: what is counted does not depend on what is tested.
    """
    rows = """SELECT CAST(m.text AS TEXT), r.address FROM recipient r JOIN message m
        ON m.id = r.message WHERE r.state IN ('open', 'deferred') AND m.sender IS NOT NULL"""
    with closing(sqlite3.connect(spool)) as database:
        texts: dict[str, str] = {}
        pairs = set()
        for text, address in database.execute(rows):
            if text not in texts:
                head = text.partition("\r\n\r\n")[0].splitlines()
                ids = (line for line in head if line.lower().startswith("message-id:"))
                texts[text] = next(ids).partition(":")[2].strip()
            pairs.add((texts[text], address))
        return pairs
