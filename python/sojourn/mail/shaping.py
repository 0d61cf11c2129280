"""Limits of destinations, as a list server applies them."""

import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sojourn._core import mail_address
from sojourn._internal.errors import InputError
from sojourn._mail import ServerError, mail_shaping

HEADS = (
    "destination",
    "kind",
    "open sessions",
    "most sessions",
    "most a minute",
    "slowed to",
    "most a session",
)
NUMBERS = 5


@dataclass(frozen=True, slots=True)
class Limit:
    """The limits of one destination; those that are not set are None.

    Attributes:
        by: what `name` is the name of: `domain`, `mx` or `provider`.
        name: a recipient domain, a mail host, or the domain that runs the mail hosts.
        open: sessions that are open; None without a server.
        sessions: the most sessions.
        per_minute: the most transactions that begin in a minute.
        per_session: the most transactions of a session.
        slowed: the most transactions that begin in a minute since the provider asked to slow down.
    """

    by: str
    name: str
    open: int | None = None
    sessions: int | None = None
    per_minute: int | None = None
    per_session: int | None = None
    slowed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def cells(self) -> tuple[str, ...]:
        """Its line of a table with `HEADS`."""
        numbers = (self.open, self.sessions, self.per_minute, self.slowed, self.per_session)
        return (self.name, self.by, *("-" if it is None else f"{it:,}" for it in numbers))


def limits(domain: str, config: Path | None, spool: Path) -> list[Limit]:
    """The limits that apply to mail for `domain`, its provider's last.

    Args:
        domain: the recipients' domain.
        config: the server's configuration, which says what is set where no server runs.
        spool: the server's spool.

    Raises:
        InputError: `domain` is none; no server is at work on the spool, and there is no
            configuration.
    """
    try:
        mail_address(f"x@{domain}")
    except ValueError:
        raise InputError(f"{domain!r} is no domain") from None
    try:
        known = [Limit(**it) for it in json.loads(mail_shaping(spool, domain))]
    except ServerError as error:
        if config is None:
            raise InputError(str(error)) from None
        known = []
    if known or config is None:
        return known
    return [it for it in _set(config) if it.by != "domain" or it.name.lower() == domain.lower()]


def _set(config: Path) -> list[Limit]:
    """The limits in a configuration, which is valid."""
    table = tomllib.loads(config.read_text("utf-8")).get("mail", {}).get("domain", [])
    rows = ({key: it for key, it in row.items() if it != "none"} for row in table)
    return [Limit(**{"by": "domain", **row}) for row in rows]
