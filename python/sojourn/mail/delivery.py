"""A message to its subscribers, with progress, until all have it or it is stopped."""

import email.parser
import email.policy
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sojourn._core import mail_address
from sojourn._internal.errors import InputError, reason
from sojourn._internal.files import read_text
from sojourn._mail import DeliveryServer, MailSettings, ServerError
from sojourn.mail.subscribers import Subscribers

_LARGEST_MESSAGE = 100 * 10**6
_LOOK_S = 0.1
_PERCENTILES = (50, 95, 99)
_HEADER_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}|\A[\r\n]")
_AUTHOR = re.compile(rb"from[ \t]*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Order:
    """A message and its envelope."""

    sender: str
    subscribers: Subscribers
    text: bytes


@dataclass(frozen=True, slots=True)
class Trouble:
    """A recipient without the message, and why."""

    recipient: str
    status: str
    reason: str


@dataclass(slots=True)
class Delivered:
    """What came of a delivery: of the message, or of all that was in the spool.

    Attributes:
        spool: what is left is there.
        recipients: of the message.
        duplicates: how often one of them stood in the list again.
        suppressed: how many get nothing, as the suppression list has them.
        refused: rows of the list without an address, each with its line and why.
        message: its number in the spool, once it is there.
        delivered: how many have it now who had it not before.
        seconds: percentiles of the time since the message was accepted, until they had it.
        failed: who will never have it; the sender gets a report.
        deferred: who is tried again.
        left: messages that are not finished, with reports to senders.
        cut: sessions that did not end in time when it was stopped.
        interrupted: whether it was stopped.
    """

    spool: Path
    recipients: int = 0
    duplicates: int = 0
    suppressed: int = 0
    refused: tuple[str, ...] = ()
    message: int | None = None
    delivered: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[Trouble] = field(default_factory=list)
    deferred: list[Trouble] = field(default_factory=list)
    left: int = 0
    cut: int = 0
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether all recipients have it."""
        return not (self.failed or self.left or self.refused)

    def resume(self) -> str:
        """The command that goes on where this ended."""
        return f"sojourn mail deliver --spool {shlex.quote(str(self.spool))}"


def settings(path: Path | None, pairs: list[tuple[str, str]]) -> MailSettings:
    """The settings of a file, or the defaults.

    Raises:
        InputError: the file cannot be read.
        StudyError: it has what no list server can be set to.
    """
    text, source = "", "the default settings"
    if path is not None:
        text, source = read_text(path, "settings file"), str(path)
    return MailSettings.parse(text, source, pairs)


def message(path: Path) -> bytes:
    """The octets of a message, or of standard input where it is called `-`.

    Raises:
        InputError: it cannot be read, is empty or too large, or does not say who wrote it.
    """
    try:
        if path == Path("-"):
            text = sys.stdin.buffer.read(_LARGEST_MESSAGE + 1)
        else:
            with path.open("rb") as file:
                text = file.read(_LARGEST_MESSAGE + 1)
    except OSError as error:
        raise InputError(f"cannot read the message: {reason(error)}") from None
    if not text.strip():
        raise InputError(f"{path}: an empty message")
    if len(text) > _LARGEST_MESSAGE:
        raise InputError(f"{path}: over {_LARGEST_MESSAGE:,} bytes, which no host would take")
    if b"\0" in text:
        line = text[: text.index(b"\0")].count(b"\n") + 1
        raise InputError(f"{path}:{line}: a NUL, which no mail may have (RFC 5322)")
    if (count := _authors(text)) != 1:
        said = "no From: field" if count == 0 else f"{count} From: fields"
        raise InputError(f"{path}: {said}; hosts refuse mail without exactly one (RFC 5322)")
    return text


def _authors(text: bytes) -> int:
    """How many `From` fields the header has."""
    end = _HEADER_END.search(text)
    head = text if end is None else text[: end.start()]
    return sum(_AUTHOR.match(line) is not None for line in head.splitlines())


def sender(given: str | None, text: bytes, source: Path) -> str:
    """Where failures are reported: what was given, or the message's `Sender` or `From`.

    Raises:
        InputError: there is none, or it is no address.
    """
    where = "--sender"
    if given is None:
        head = email.parser.BytesHeaderParser(policy=email.policy.default).parsebytes(text)
        for name in ("Sender", "From"):
            addresses = getattr(head[name], "addresses", ())
            if addresses:
                given, where = addresses[0].addr_spec, f"{source}: {name}"
                break
        else:
            raise InputError(f"{source}: neither Sender nor From: name a sender with --sender")
    try:
        return mail_address(given)
    except ValueError as error:
        raise InputError(f"{where}: {given!r} is no address: {error}") from None


def deliver(
    settings: MailSettings,
    spool: Path,
    order: Order | None,
    *,
    log: Path | None = None,
    patience_s: float | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Delivered:
    """Deliver what is in a spool, and a message that is put there first.

    Returns when nothing is left, when Ctrl-C or SIGTERM stops it, or when patience is over.

    Args:
        settings: how the server is set.
        spool: made where there is none.
        order: the message; the answer is about it alone, else about the whole spool.
        log: a file that lines are appended to as Postfix has them.
        patience_s: how long it may take.
        say: is called with what an operator has to know.

    Raises:
        InputError: the spool or the settings cannot be used, or the message was not taken over.
    """
    done = Delivered(spool)
    server = _start(settings, spool, log)
    try:
        for notice in server.notices:
            say(notice)
        if order is not None:
            list_ = order.subscribers
            done.recipients, done.duplicates = len(list_.addresses), list_.duplicates
            done.suppressed, done.refused = list_.suppressed, list_.refused
            done.message = server.submit(order.sender, list_.addresses, order.text)
        end = None if patience_s is None else monotonic() + patience_s
        with _bar(done.recipients or None) as show:
            while not server.wait(_LOOK_S) and (end is None or monotonic() < end):
                show(server.progress())
    except KeyboardInterrupt:
        done.interrupted = True
    except ServerError as error:
        raise InputError(f"the message was not accepted: {error}") from None
    finally:
        done.left, done.cut = server.stop()
    _sum_up(server, done)
    return done


def _start(settings: MailSettings, spool: Path, log: Path | None) -> DeliveryServer:
    try:
        spool.parent.mkdir(parents=True, exist_ok=True)
        return DeliveryServer.start(settings, spool, log)
    except OSError as error:
        raise InputError(reason(error)) from None


def _sum_up(server: DeliveryServer, done: Delivered) -> None:
    times = server.delivered_s(done.message)
    done.delivered = len(times)
    if len(times):
        quantiles = np.percentile(times, _PERCENTILES, method="inverted_cdf")
        done.seconds = {f"p{p}": float(s) for p, s in zip(_PERCENTILES, quantiles, strict=True)}
        done.seconds["max"] = float(times.max())
    for message, recipient, failed, status, why in server.troubled():
        if done.message in (None, message):
            (done.failed if failed else done.deferred).append(Trouble(recipient, status, why))


@contextmanager
def _bar(recipients: int | None) -> Iterator[Callable[[Mapping[str, int | str | None]], None]]:
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    bar = Progress(
        TextColumn("{task.fields[said]}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=recipients, said="")

        def show(progress: Mapping[str, int | str | None]) -> None:
            said = ", ".join(
                f"{progress[key]:,} {key}" for key in ("delivered", "deferred", "failed")
            )
            trouble = f" ({progress['trouble']})" if progress["trouble"] else ""
            ended = int(progress["delivered"] or 0) + int(progress["failed"] or 0)
            bar.update(task, completed=ended, said=said + trouble)

        yield show
