"""Limits of single domains and providers: what they ask of those who send to them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn._internal.errors import InputError
from sojourn.mail.mailer.setting import Server, is_domain

RATE = "per_minute"
_NAME = "name"
_BY = "by"
_NOTHING = "none"
_DOMAIN = "domain"
_NUMBER = re.compile(r"([1-9]\d{0,8})(/min)?")


@dataclass(frozen=True)
class Rule:
    """One limit of one domain or provider.

    Attributes:
        domain: whose.
        limit: `sessions` at a time, or transactions `per_minute`, as settings call it.
        most: how many.
        by: `domain`, or `provider` where all domains share it whose mail hosts are there.
    """

    domain: str
    limit: str
    most: int
    by: str = _DOMAIN

    def kept_by(self, server: Server) -> "Rule | None":
        """The rule as a mailer can keep it: its rate may be lower. None where it cannot."""
        if self.limit not in server.provider_limits:
            return None
        most = server.keepable(self.most) if self.limit == RATE else self.most
        return None if most is None else replace(self, most=most)


def parse(option: str, given: str) -> Rule:
    """What an option was given: `big.example=2`, `big.example=60/min`.

    Raises:
        InputError: it is neither.
    """
    domain, _, number = given.strip().rpartition("=")
    found = _NUMBER.fullmatch(number.strip())
    if found is None or not is_domain(domain):
        raise InputError(
            f"{option} {given!r}: expected a domain and its sessions, like big.example=2, or "
            "transactions a minute, like big.example=60/min"
        )
    return Rule(domain.lower(), RATE if found[2] else "sessions", int(found[1]))


def kept(there: Sequence[dict[str, Any]], rules: Sequence[Rule]) -> list[dict[str, Any]]:
    """The limits of domains that a policy has, and rules; the lower where there are two.

    What a policy as resolved calls none is left out, and that a name is a domain's.
    """
    said = (
        {key: it for key, it in table.items() if key == _NAME or it not in (_NOTHING, _DOMAIN)}
        for table in there
    )
    domains = {(table.get(_BY, _DOMAIN), table[_NAME].lower()): table for table in said}
    for rule in rules:
        kind = {} if rule.by == _DOMAIN else {_BY: rule.by}
        table = domains.setdefault((rule.by, rule.domain), {_NAME: rule.domain, **kind})
        table[rule.limit] = min(rule.most, table.get(rule.limit, rule.most))
    return list(domains.values())
