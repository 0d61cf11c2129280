"""What a spool holds, and whether it is sound."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from sojourn._internal.errors import InputError
from sojourn._internal.units import PS_PER_MS, duration
from sojourn._mail import exposed_file, mail_queue, mail_spool_check, mail_waiting

HEADS = (
    "message", "sender", "left", "open", "deferred", "held", "done", "bytes", "age", "next try",
)  # fmt: skip
NUMBERS = 8

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Queued:
    """A message in a spool; times in milliseconds since 1970.

    `held` of the open and the deferred are not tried until an operator releases them.
    """

    message: int
    sender: str | None
    size_bytes: int
    accepted_ms: int
    open: int
    deferred: int
    failed: int
    ended: int
    next_ms: int | None
    held: int

    @property
    def left(self) -> int:
        """Recipients who are not at their end."""
        return self.open + self.deferred + self.failed

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {**asdict(self), "left": self.left}

    def cells(self, now: float) -> list[str]:
        """For a table; `now` in seconds since 1970. No age is negative, as clocks are set back."""
        now_ms = now * 1000
        waiting = self.open + self.deferred - self.held
        due = "now" if self.failed or (self.open and waiting) else "-"
        if due == "-" and self.next_ms is not None:
            due = f"in {duration(max(self.next_ms - now_ms, 0) * PS_PER_MS)}"
        counts = (
            self.left, self.open, self.deferred, self.held, self.ended, self.size_bytes,
        )  # fmt: skip
        return [
            f"{self.message:010X}",
            self.sender or "<>",
            *(f"{count:,}" for count in counts),
            duration(max(now_ms - self.accepted_ms, 0) * PS_PER_MS),
            due,
        ]


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt that did not succeed: when, in milliseconds since 1970, where, and what was said.

    `host` is None where none was tried; `status` is that of RFC 3463.
    """

    at_ms: int
    host: str | None
    status: str
    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A recipient for whose delivery messages in a spool wait; times in milliseconds since 1970.

    `open` of the messages were never refused: they are on their way, or wait for their domain.
    `refused` is how often the others were, `next_ms` when the first of these is tried again, `last`
    the last attempt, where there was one since spools keep it.
    """

    recipient: str
    messages: int
    open: int
    since_ms: int
    refused: int
    next_ms: int | None
    last: Tried | None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that no spool should have, and what a repair does about it."""

    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in a spool and beside it, and where damaged files are kept after a repair."""

    findings: list[Finding]
    kept: list[Path]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {**asdict(self), "kept": [str(path) for path in self.kept]}


def queue(spool: Path) -> list[Queued]:
    """The messages of a spool, the oldest first.

    Raises:
        InputError: there is no spool, or it cannot be read.
    """
    return [Queued(*row) for row in _asked(mail_queue, spool)]


def waiting(spool: Path) -> Iterator[Waiting]:
    """The recipients that a spool still delivers to, one by one: there may be a million.

    Raises:
        InputError: there is no spool, or it cannot be read.
    """
    rows = _asked(mail_waiting, spool)
    rows.reverse()

    def each() -> Iterator[Waiting]:
        while rows:
            row = rows.pop()
            yield Waiting(*row[:-1], Tried(*row[-1]) if row[-1] else None)

    return each()


def check(spool: Path, *, repair: bool, new: bool) -> Checked:
    """What is wrong with a spool, and with its server's register and keys; remedied with `repair`.

    With `new`, a repair makes a new register or new keys where their backup is lost too.

    Raises:
        InputError: there is no spool, it cannot be read, another process has it, or something is
            lost.
    """
    question = partial(mail_spool_check, repair=repair, new=new, now=int(time.time()))
    beside = (spool.with_name(spool.name + suffix) for suffix in (".bounces", ".keys"))
    findings, kept = _asked(question, spool, *beside)
    return Checked([Finding(*it) for it in findings], [Path(path) for path in kept])


def exposed(spool: Path, log: Path | None = None) -> list[str]:
    """What to say of each file of a spool, and beside it, that others than its owner may read.

    The same of a server's log.

    Raises:
        InputError: there is no spool.
    """
    if not spool.exists():
        raise InputError(f"{spool}: no spool there")
    beside = sorted(file for file in spool.parent.iterdir() if file.name.startswith(spool.name))
    own = (file for file in beside if file == spool or file.name[len(spool.name)] in "-.")
    files = [*own, *([] if log is None else [log])]
    return [said for file in files if file.is_file() and (said := exposed_file(file))]


def _asked(question: Callable[[Path], _Answer], spool: Path, *beside: Path) -> _Answer:
    if not any(path.exists() for path in (spool, *beside)):
        raise InputError(f"{spool}: no spool there")
    return question(spool)
