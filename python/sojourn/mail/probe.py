"""mailtest: how long the smallest message takes to a host, and how many an hour that makes.

Source: the paper's section "Maximum Throughput".
"""

import re
import smtplib
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate, make_msgid

import numpy as np

from sojourn._internal.errors import InputError

_HOUR_MS = 3_600_000
_SMTP = 25
_OK, _GO_ON = 250, 354
_ADDRESS = re.compile(r"(?:\[(?P<address>[^\]\s]+)\]|(?P<name>[^\s:\[\]]+))(?::(?P<port>\d{1,5}))?")
_MAILBOX = re.compile(r"[!-;=?-~]+@[!-;=?-~]+")


@dataclass(frozen=True)
class Probe:
    """Which host, and what is sent to it.

    Attributes:
        host: its name or address; no MX record is asked for.
        port: its port.
        recipient: who gets the messages.
        sender: the envelope's sender.
        size: the octets of a message's text, headers not counted.
        tls: whether sessions turn to TLS first, with whatever certificate.
        timeout_s: how long to wait for an answer.
    """

    host: str
    port: int
    recipient: str
    sender: str
    size: int
    tls: bool
    timeout_s: float

    def text(self) -> bytes:
        """A message: about the shortest that a list sees."""
        head = (
            f"From: {self.sender}\r\nTo: {self.recipient}\r\nDate: {formatdate()}\r\n"
            f"Message-ID: {make_msgid(domain='sojourn.invalid')}\r\nSubject: mailtest\r\n\r\n"
        )
        line = "mailtest " * 7 + "\r\n"
        body = (line * (self.size // len(line) + 1))[: max(self.size - 2, 0)] + "\r\n"
        return (head + body).encode("ascii")


@dataclass(frozen=True)
class Measured:
    """How long messages took one way.

    Attributes:
        connection: `new` for each message, or `kept`.
        pipelining: whether commands were sent without waiting for each answer (RFC 2920).
        ms: milliseconds of each message; with a new connection from before it is opened until it
            is closed.
    """

    connection: str
    pipelining: bool
    ms: Sequence[float]

    @property
    def mean_ms(self) -> float:
        """The mean."""
        return float(np.mean(self.ms))

    @property
    def per_hour(self) -> float:
        """Messages an hour, one after the other."""
        return _HOUR_MS / self.mean_ms

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        shown = {f"p{p}_ms": float(np.percentile(self.ms, p)) for p in (50, 90, 99)}
        return {
            "connection": self.connection,
            "pipelining": self.pipelining,
            "messages": len(self.ms),
            "mean_ms": self.mean_ms,
            **shown,
            "min_ms": min(self.ms),
            "max_ms": max(self.ms),
            "messages_per_hour": self.per_hour,
        }


def address(given: str) -> tuple[str, int]:
    """The host and port of `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; port 25 where none is given.

    Raises:
        InputError: it is none of these.
    """
    found = _ADDRESS.fullmatch(given.strip())
    port = int(found["port"] or _SMTP) if found else 0
    if not found or not 0 < port < 1 << 16:
        raise InputError(f"{given!r}: expected HOST or HOST:PORT")
    return found["name"] or found["address"], port


def mailbox(option: str, given: str) -> str:
    """An address that can stand in an envelope.

    Raises:
        InputError: it cannot.
    """
    if not _MAILBOX.fullmatch(given):
        raise InputError(f"{option} {given!r}: expected an address like you@example.org")
    return given


def measure(probe: Probe, messages: int, say: Callable[[str], None]) -> Iterator[Measured]:
    """Send so many messages each way: new and kept connections, without and with pipelining.

    A host that does not offer pipelining is measured without.

    Raises:
        InputError: the host cannot be reached, or refuses.
    """
    with _refusals(probe):
        with _session(probe) as session:
            pipelines = session.has_extn("pipelining")
        for pipelining in (False, True) if pipelines else (False,):
            way = "with pipelining" if pipelining else "without pipelining"
            say(f"{messages} messages, a connection each, {way}")
            new = [_timed(lambda: _alone(probe, pipelining)) for _ in range(messages)]  # noqa: B023
            yield Measured("new", pipelining, new)
            say(f"{messages} messages over one connection, {way}")
            with _session(probe) as session:
                kept = [
                    _timed(lambda: _send(session, probe, pipelining))  # noqa: B023
                    for _ in range(messages)
                ]
            yield Measured("kept", pipelining, kept)


def _timed(act: Callable[[], None]) -> float:
    begun = time.perf_counter()
    act()
    return (time.perf_counter() - begun) * 1e3


def _alone(probe: Probe, pipelining: bool) -> None:
    with _session(probe) as session:
        _send(session, probe, pipelining)


@contextmanager
def _session(probe: Probe) -> Iterator[smtplib.SMTP]:
    with smtplib.SMTP(probe.host, probe.port, timeout=probe.timeout_s) as session:
        session.ehlo_or_helo_if_needed()
        if probe.tls:
            # as list servers do: a certificate that cannot be checked is better than none
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            session.starttls(context=context)
            session.ehlo_or_helo_if_needed()
        yield session


def _send(session: smtplib.SMTP, probe: Probe, pipelining: bool) -> None:
    commands = [f"MAIL FROM:<{probe.sender}>", f"RCPT TO:<{probe.recipient}>", "DATA"]
    if pipelining:
        session.send("".join(f"{command}\r\n" for command in commands))
        answers = [session.getreply() for _ in commands]
    else:
        answers = []
        for command in commands:
            session.send(f"{command}\r\n")
            answers.append(session.getreply())
            if answers[-1][0] not in (_OK, _GO_ON):
                break
    *envelope, data = answers
    for code, said in envelope:
        if code != _OK:
            raise smtplib.SMTPResponseException(code, said)
    if data[0] != _GO_ON:
        raise smtplib.SMTPResponseException(*data)
    session.send(probe.text() + b".\r\n")
    code, said = session.getreply()
    if code != _OK:
        raise smtplib.SMTPResponseException(code, said)


@contextmanager
def _refusals(probe: Probe) -> Iterator[None]:
    where = f"{probe.host}:{probe.port}"
    try:
        yield
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
        raise InputError(f"{where}: refused: {error.smtp_code} {text}") from None
    except (smtplib.SMTPException, ssl.SSLError) as error:
        raise InputError(f"{where}: {error}") from None
    except OSError as error:
        raise InputError(f"{where}: {error.strerror or error}") from None
