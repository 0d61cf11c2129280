"""The list server that takes mail in, and its book of bounces."""

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from sojourn._internal.errors import InputError, reason
from sojourn._mail import (
    ListServer,
    ServeSettings,
    bounce_book,
    mail_reload,
    rotate_token_keys,
    token_keys,
    unsubscribed,
    unverified_mail,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A subscriber whose mail came back.

    Attributes:
        list: the list, by its return path.
        subscriber: the address, in canonical form.
        score: what bounces have cost so far.
        suspended: since when delivery is suspended (ISO 8601, UTC); None where it is not.
        probed: since when a message asks whether mail arrives (ISO 8601, UTC); None without one.
        last_bounce: when mail came back last that counted (ISO 8601, UTC).
        status: why, as a status (RFC 3463); None where no report said.
        reason: why, in the words of the host that refused.
        provider: who runs the subscriber's host, by its domain; empty where that is not known.
        fault: whose fault the reason is, such as `address` or `policy`; None where an
            operator suspended.
    """

    list: str
    subscriber: str
    score: float
    suspended: str | None
    probed: str | None
    last_bounce: str
    status: str | None
    reason: str
    provider: str
    fault: str | None


@dataclass(frozen=True, slots=True)
class Left:
    """A subscriber who has unsubscribed.

    Attributes:
        list: the list, by its return path.
        subscriber: the address, in lower case.
        left: when (ISO 8601, UTC).
    """

    list: str
    subscriber: str
    left: str


@dataclass(frozen=True, slots=True)
class Unverified:
    """Mail to a list's return paths that nothing shows to come from a host that was sent a copy.

    Attributes:
        list: the list, by its return path.
        day: the day it came (ISO 8601, UTC).
        kind: why it is not verified: `no token`, `wrong` or `expired`.
        number: how much.
    """

    list: str
    day: str
    kind: str
    number: int


def settings(path: Path, pairs: list[tuple[str, str]]) -> ServeSettings:
    """The settings of a server.

    Raises:
        InputError: the file cannot be read.
        StudyError: it has what no server can be set to.
    """
    return ServeSettings.parse(_text(path), str(path), pairs)


def start(path: Path, pairs: list[tuple[str, str]], log: Path | None) -> ListServer:
    """A server as the file at `path` says, with `pairs` laid over it.

    Raises:
        InputError: a port, a key, the spool or the settings cannot be used.
        StudyError: the file has what no server can be set to.
    """
    from sojourn.mail import live

    chosen = settings(path, pairs)
    return ListServer.start(chosen, live.page(), log)


def reload(path: Path) -> list[str]:
    """Have the running server of this file read it again; what it has to say about it.

    Raises:
        InputError: no server is running, or it refuses the file and goes on as it was.
        StudyError: the file has what no server can be set to.
    """
    text = _text(path)
    chosen = ServeSettings.parse(text, str(path), [])
    return mail_reload(chosen.spool, str(path.absolute()), text)


def members(path: Path) -> list[Member]:
    """All whose mail came back to the lists of a server, those who are suspended first.

    Raises:
        InputError: there is no such book, or it cannot be read.
        StudyError: the file has what no server can be set to.
    """
    found = bounce_book(book(path))
    return [
        Member(list_, who, score, _day(suspended), _day(probed), _utc(last), *why)
        for (list_, who, score, last, probed, suspended), why in found
    ]


def left(path: Path) -> list[Left]:
    """Those who have unsubscribed from the lists of a server, the last one first.

    Raises:
        InputError: there is no such book, or it cannot be read.
        StudyError: the file has what no server can be set to.
    """
    found = unsubscribed(book(path))
    return [Left(list_, who, _utc(seconds)) for list_, who, seconds in found]


def unverified(path: Path) -> list[Unverified]:
    """Mail to the return paths of a server's lists that scores no subscriber, the newest first.

    Raises:
        InputError: there is no such book, or it cannot be read.
        StudyError: the file has what no server can be set to.
    """
    found = unverified_mail(book(path))
    day = timedelta(days=1)
    first = date(1970, 1, 1)
    return [
        Unverified(list_, (first + it * day).isoformat(), kind, number)
        for list_, it, kind, number in found
    ]


def keys(path: Path, *, rotate: bool) -> list[str]:
    """When each key of a server was made (ISO 8601, UTC), after another was added if asked for.

    The last one signs what the server sends from its next start or reload on; all verify.

    Raises:
        InputError: the file of the keys cannot be read or replaced.
        StudyError: the configuration has what no server can be set to.
    """
    file = settings(path, []).keys
    made = rotate_token_keys(file, int(time.time())) if rotate else token_keys(file)
    return [_utc(seconds) for seconds in made]


def spool(path: Path) -> Path:
    """Where the spool of a server is.

    Raises:
        InputError: the file cannot be read.
        StudyError: it has what no server can be set to.
    """
    return Path(settings(path, []).spool)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"cannot read the settings: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None


def book(path: Path) -> Path:
    """Where the register of a server's subscribers is.

    Raises:
        InputError: the configuration cannot be read, or there is no such register.
        StudyError: it has what no server can be set to.
    """
    found = Path(settings(path, []).book)
    if not found.exists():
        raise InputError(f"{found}: no such book of bounces; its server has not run yet")
    return found


def _day(seconds: int | None) -> str | None:
    return None if seconds is None else _utc(seconds)


def _utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
