"""Who gets no mail of a server's lists: changed by hand or by file, imported, exported."""

import csv
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TextIO, TypeAlias

from sojourn._core import mail_address
from sojourn._internal.errors import InputError, did_you_mean, reason
from sojourn._mail import erase_subscribers, resume_subscribers, suppress_subscribers
from sojourn.mail import serving, subscribers

Verb: TypeAlias = Literal["suspend", "resume", "remove", "erase"]
_Row: TypeAlias = tuple[str, str, bool, int, str | None, str]

HEADS = ("list", "address", "state", "date", "status", "reason")
STATES = ("suspended", "left")
FAULTS = ("address", "content", "policy", "protocol", "unknown")


def change(config: Path, verb: Verb, lists: Sequence[str], people: Sequence[str]) -> int:
    """Suspend, serve again, unsubscribe or forget subscribers; how many were changed.

    Args:
        config: the server's configuration.
        verb: what to do.
        lists: of these lists, by their return paths; empty: of all lists of the server.
        people: the subscribers' addresses.

    Raises:
        InputError: there is no such list or register, or something is no address.
        StudyError: the configuration has what no server can be set to.
    """
    chosen = serving.settings(config, [])
    pairs = [(list_, who) for list_ in _lists(config, chosen.lists, lists) for who in people]
    book = serving.book(config)
    now = int(time.time())
    match verb:
        case "resume":
            return resume_subscribers(book, pairs)
        case "erase":
            return erase_subscribers(book, pairs)
        case "suspend" | "remove":
            left = verb == "remove"
            words = "removed by the operator" if left else "suspended by the operator"
            rows: list[_Row] = [(list_, who, left, now, None, words) for list_, who in pairs]
            return suppress_subscribers(book, rows)


def suspended(
    config: Path, lists: Sequence[str], providers: Sequence[str], faults: Sequence[str]
) -> list[str]:
    """The suspended subscribers that fit the lists, the providers and the faults of the last mail.

    An empty choice takes all.

    A provider is the domain that its hosts belong to, as `sojourn mail list` shows it, or the
    domain of the addresses.

    Raises:
        InputError: there is no such register.
        StudyError: the configuration has what no server can be set to.
    """
    names = {list_.lower() for list_ in lists}
    hosts = {provider.lower() for provider in providers}
    return [
        member.subscriber
        for member in serving.members(config)
        if member.suspended
        and (not names or member.list.lower() in names)
        and (not hosts or hosts & {member.provider, member.subscriber.rpartition("@")[2]})
        and (not faults or member.fault in faults)
    ]


def rows(config: Path, lists: Sequence[str]) -> list[dict[str, str]]:
    """The suppression list: who is suspended or has left, since when and why.

    Raises:
        InputError: there is no such register.
        StudyError: the configuration has what no server can be set to.
    """
    found = [
        (it.list, it.subscriber, "suspended", it.suspended, it.status or "", it.reason)
        for it in serving.members(config)
        if it.suspended
    ]
    found += [(it.list, it.subscriber, "left", it.left, "", "") for it in serving.left(config)]
    names = {list_.lower() for list_ in lists}
    chosen = [row for row in found if not names or row[0].lower() in names]
    return [dict(zip(HEADS, map(str, row), strict=True)) for row in sorted(chosen)]


def export(config: Path, lists: Sequence[str], path: Path) -> int:
    """Write the suppression list as CSV; how many rows. No file that exists is written over.

    Raises:
        InputError: the file exists or cannot be written, or there is no register.
        StudyError: the configuration has what no server can be set to.
    """
    found = rows(config, lists)
    try:
        with path.open("x", encoding="utf-8", newline="") as file:
            write(file, found)
    except FileExistsError:
        raise InputError(f"{path} already exists; not overwritten") from None
    except OSError as error:
        raise InputError(f"cannot write the suppression list: {reason(error)}") from None
    return len(found)


def write(file: TextIO, found: Sequence[dict[str, str]]) -> None:
    """Write rows of a suppression list as CSV."""
    table = csv.DictWriter(file, HEADS, lineterminator="\n")
    table.writeheader()
    table.writerows(found)


def load(config: Path, lists: Sequence[str], path: Path) -> tuple[int, list[str]]:
    """Enter a suppression list; how many got mail before, and the rows that cannot be read.

    It is CSV with a column `address`. The columns `list`, `state` (suspended or left), `date`
    (ISO 8601), `status` and `reason` may be missing: a row without list counts for `lists`, or all
    of the server's; without state it suspends; without date it counts from now on. A row that
    cannot be read is refused alone, with its line and why.

    Raises:
        InputError: the file or all of its rows cannot be read.
        StudyError: the configuration has what no server can be set to.
    """
    known = serving.settings(config, []).lists
    given = _lists(config, known, lists)
    refused: list[str] = []
    found: list[_Row] = []
    now = int(time.time())
    for line, row in subscribers.table(path, HEADS, refused):
        try:
            found += _entries(row, known, given, now)
        except ValueError as error:
            refused.append(f"{path}:{line}: {error}")
    if refused and not found:
        raise InputError("; ".join(refused))
    return suppress_subscribers(serving.book(config), found), refused


def _entries(
    row: dict[str, str], known: Sequence[str], given: Sequence[str], now: int
) -> list[_Row]:
    """What a row says, for each list that it counts for; a ValueError if it cannot be read."""
    try:
        address = mail_address(row["address"])
    except ValueError as error:
        raise ValueError(f"{row['address']!r} is no address: {error}") from None
    state = row.get("state") or "suspended"
    if state not in STATES:
        raise ValueError(f"state {state!r}, expected suspended or left")
    date = row.get("date")
    since = _seconds(date) if date else now
    names = {list_.lower(): list_ for list_ in known}
    list_ = row.get("list")
    if list_ and list_.lower() not in names:
        raise ValueError(f"no list {list_!r}{did_you_mean(list_, known)}")
    status, why = row.get("status") or None, row.get("reason") or "imported"
    chosen = [names[list_.lower()]] if list_ else given
    return [(name, address, state == "left", since, status, why) for name in chosen]


def _seconds(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"date {text!r}, expected one such as 2026-11-28") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return int(moment.timestamp())


def _lists(config: Path, known: Sequence[str], chosen: Sequence[str]) -> list[str]:
    names = {list_.lower(): list_ for list_ in known}
    for list_ in chosen:
        if list_.lower() not in names:
            raise InputError(f"{config}: no list {list_!r}{did_you_mean(list_, known)}")
    return [names[list_.lower()] for list_ in chosen] or list(known)
