"""Logs read from beginning to end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn._core import MailLog, mail_log_formats
from sojourn._internal.errors import InputError, did_you_mean
from sojourn.maillog import source
from sojourn.store.rows import whole_numbers

# Rows that are held before they are handed on.
_BATCH_PIECES = 8

_Column = npt.NDArray[np.int64] | tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class Reading:
    """Which logs are read, and what of them.

    Attributes:
        names: files, packed or not; `-` is standard input. They are read in the order of their
            first stamps, so that a log that was rotated may be given in any order.
        format: the mailer whose lines they are, where programs are called otherwise.
        year: that of a log's first line, where stamps have none.
        since_us: leave out what happened before, in microseconds as the logs have it.
        until_us: leave out what happened then and after.
    """

    names: Sequence[str]
    format: str | None = None
    year: int | None = None
    since_us: int | None = None
    until_us: int | None = None

    def tally(self, width_us: int) -> MailLog:
        """A reader that counts in intervals of this width."""
        self._check()
        return MailLog.tally(
            width_us, format=self.format, since_us=self.since_us, until_us=self.until_us
        )

    def rows(self, recipient: str | None = None) -> MailLog:
        """A reader that keeps attempts."""
        self._check()
        return MailLog.rows(
            recipient, format=self.format, since_us=self.since_us, until_us=self.until_us
        )

    def waiting(self) -> MailLog:
        """A reader that keeps who waits."""
        self._check()
        return MailLog.waiting(format=self.format, since_us=self.since_us, until_us=self.until_us)

    def feed(self, log: MailLog) -> "Log":
        """Read all logs.

        Raises:
            InputError: one cannot be read, or nothing in it is a line of a log.
        """
        for _ in self.steps(log):
            pass
        return Log.of(self, log)

    def steps(self, log: MailLog) -> Iterator[None]:
        """Read all logs, a piece a step."""
        for name in self._in_order():
            self.begin(log, name)
            for piece in source.pieces(name):
                log.feed(piece)
                yield
            log.finish()

    def begin(self, log: MailLog, name: str) -> None:
        """Begin a log."""
        shown = "standard input" if name == source.STDIN else name
        log.begin(shown, source.newest_us(name, self.year))

    def _check(self) -> None:
        formats = mail_log_formats()
        if self.format is not None and self.format not in formats:
            raise InputError(
                f"--format {self.format!r} is no mailer{did_you_mean(self.format, formats)}"
            )
        if list(self.names).count(source.STDIN) > 1:
            raise InputError("-: standard input can be read once")

    def _in_order(self) -> list[str]:
        if len(self.names) == 1:
            return list(self.names)
        return sorted(self.names, key=self._first_us)

    def _first_us(self, name: str) -> float:
        """The time of a log's first line; standard input comes last, and what has no lines."""
        if name == source.STDIN:
            return np.inf
        peek = MailLog.rows("", format=self.format)
        self.begin(peek, name)
        for piece in islice(source.pieces(name), 1):
            peek.feed(piece)
        first = peek.counts()["first_us"]
        return np.inf if first is None else first


@dataclass(frozen=True)
class Log:
    """What the logs were like.

    Attributes:
        names: their files.
        counts: `lines`, of them `used`, `passed` (of other programs or other things) and
            `malformed`; `unread`, those of the passed ones that look like deliveries; `passed_on`,
            hops to a queue of the same machine, which are no deliveries; `put_off`, how often a
            recipient was put off without being tried, which is no attempt; `open` messages not at
            their end, `given_up` of which there were too many; `first_us` and `last_us`, None
            where there is no line.
        problems: the first few lines that could not be read: file, line, why, how it begins.
        unread: the first few of the unread ones, as `problems` has them.
    """

    names: tuple[str, ...]
    counts: Mapping[str, int | None]
    problems: tuple[tuple[str, int, str, str], ...]
    unread: tuple[tuple[str, int, str, str], ...]

    @staticmethod
    def of(reading: Reading, log: MailLog) -> "Log":
        """Of logs that were read.

        Raises:
            InputError: none of the lines is one of a log, or some cannot be read and the others
                are not about mail.
        """
        counts, problems = log.counts(), tuple(log.problems())
        if counts["malformed"] and counts["malformed"] == counts["lines"]:
            name, line, why, _ = problems[0]
            raise InputError(f"{name}:{line}: {why}; nothing here is a line of a log")
        if counts["malformed"] and not counts["used"]:
            name, line, why, _ = problems[0]
            raise InputError(f"{name}:{line}: {why}; no other line is about mail (--format)")
        return Log(tuple(reading.names), counts, problems, tuple(log.unread()))

    def count(self, name: str) -> int:
        """One of the counts; 0 where there is none."""
        return self.counts[name] or 0

    def notes(self) -> list[str]:
        """What has to be known of numbers taken from it, a line each."""
        said = []
        if not self.count("used"):
            said.append("no line is about mail: of which mailer is it? (--format)")
        if malformed := self.count("malformed"):
            said.append(f"{malformed:,} of {self.count('lines'):,} lines could not be read:")
            said += [f"  {name}:{line}: {why}: {text}" for name, line, why, text in self.problems]
        if unread := self.count("unread"):
            name, line, _, text = self.unread[0]
            said.append(f"{unread:,} lines look like deliveries and were not read, the first:")
            said.append(f"  {name}:{line}: {text}")
        if hops := self.count("passed_on"):
            said.append(
                f"{hops:,} recipients were handed to a queue of the same machine, such as a"
                " filter's: these hops are not counted as deliveries"
            )
        if put_off := self.count("put_off"):
            said.append(
                f"{put_off:,} times a recipient was put off untried, such as until its retry"
                " time: these are not counted as attempts"
            )
        if given_up := self.count("given_up"):
            said.append(f"{given_up:,} messages were forgotten, because too many never ended")
        return said

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        keys = ("source", "line", "why", "text")
        counts = {name: count for name, count in self.counts.items() if not name.endswith("_us")}
        return {
            "files": list(self.names),
            **counts,
            "first": stamp(self.counts["first_us"]),
            "last": stamp(self.counts["last_us"]),
            "problems": [dict(zip(keys, problem, strict=True)) for problem in self.problems],
        }


def attempts(
    reading: Reading, recipient: str | None = None, log: MailLog | None = None
) -> Iterator[pa.Table]:
    """Every attempt for a recipient, in tables of some ten thousand rows as they come.

    Columns: `at_us` when it ended, `accepted_us` when the message was accepted, `delay_us` how old
    it was, of that Postfix's four parts `before_us`, `queued_us`, `connecting_us`, `sending_us`;
    `took_us` this attempt; `size_bytes`; `leads`, 1 for the first recipient of its transaction,
    else 0; `outcome` 0 delivered, 1 deferred, 2 bounced. Where a host refused for now, `pushback`
    is 0 where it does not say what it wants, 1 for greylisting, 2 for fewer messages, 3 for fewer
    sessions; and `step` is 0 where it refused the session, 1 at MAIL, 2 at RCPT, 3 at DATA or
    later. Texts are `mailer`, `queue_id`, `sender`, `message_id`, `recipient`, `original`, `relay`,
    `address`, `dsn`, `text`. Numbers that are not known are null, texts empty.

    Args:
        reading: the logs.
        recipient: only those for this address, or with `@` in front for this domain.
        log: the reader, of `Reading.rows`, for those who ask it for more afterwards.

    Raises:
        InputError: a log cannot be read.
    """
    log = log or reading.rows(recipient)
    for step, _ in enumerate(reading.steps(log), 1):
        if step % _BATCH_PIECES == 0:
            yield table(log, "rows")
    yield table(log, "rows")


def table(log: MailLog, name: str) -> pa.Table:
    """One of a log's tables; -1 in a column of numbers becomes null."""
    return pa.table({name: _array(column) for name, column in log.table(name).items()})


def _array(column: _Column) -> pa.Array:
    if isinstance(column, tuple):
        offsets, octets = column
        buffers = [pa.py_buffer(offsets), pa.py_buffer(octets)]
        return pa.LargeStringArray.from_buffers(offsets.size - 1, *buffers)
    return whole_numbers(column)


def stamp(time_us: int | None) -> str | None:
    """A time as it stands in JSON; None where there is none."""
    return None if time_us is None else source.wall(time_us).isoformat(timespec="milliseconds")
