"""One setting of a mailer: its name, and the part of a policy that it is."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sojourn._core import mail_address, quantity
from sojourn._internal.errors import InputError
from sojourn._internal.units import PS_PER_S
from sojourn.mail.mailer.effects import Advice

Policy: TypeAlias = dict[str, Any]
Providers: TypeAlias = Mapping[str, Sequence[str]]
"""The recipient domains of each provider."""

# No limit, for a limit that has to be a number.
UNLIMITED = 1_000_000
# The model and our server have no longer lifetime, and no shorter time-out.
_LONGEST_S = 90 * 86_400
_SHORTEST = "1ms"
_TIMEOUTS, _WAITS = "timeouts.", "retry."
# An error shows so much of a value.
_SHOWN = 60
# Of a domain's limits in a resolved policy.
_DOMAIN, _NOTHING = "domain", "none"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
# Each number but the last has a letter, so there is one way to read a text.
_TIME = re.compile(r"(?:\d{1,9}[smhdw]\s*)*(?:\d{1,9})?", re.IGNORECASE)
_TERM = re.compile(r"(\d+)([smhdw]?)", re.IGNORECASE)


@dataclass(frozen=True)
class Value:
    """What a file sets something to, and where it says so."""

    text: str
    place: str

    def said(self, name: str) -> str:
        """The place, the name and the value, as a message has them."""
        said = f"{name} = {self.text[:_SHOWN]}"
        return f"{self.place}: {said}" if self.place else said


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        name: the mailer's name for it.
        parts: the parts of a policy that it is, as `limits.idle` or `lifetime`.
        default: its value where no file has it.
        unit: the unit of a time without one; empty for a number.
        tries: values that a search tries, as a policy has them.
        m4: sendmail's name for it in m4.
    """

    name: str
    parts: tuple[str, ...]
    default: str
    unit: str = ""
    tries: tuple[Any, ...] = ()
    m4: str = ""

    def policy(self, value: Value | None) -> Any:
        """The value as a policy has it.

        Raises:
            InputError: the file has something else.
        """
        found = value or Value(self.default, "")
        if self.unit:
            seconds = min(time_s(self.name, found, self.unit), _LONGEST_S)
            # A time-out of zero never ends.
            if not seconds and self.parts[0].startswith(_TIMEOUTS):
                seconds = _LONGEST_S
            elif not seconds and self.parts[0].startswith(_WAITS):
                seconds = 1
            return f"{seconds}s" if seconds else _SHORTEST
        return number(self.name, found) or UNLIMITED

    def text(self, value: Any) -> str:
        """A policy's value as the mailer has it."""
        if self.unit:
            return f"{whole_seconds(value)}s"
        return "0" if value == UNLIMITED else str(value)


@dataclass(frozen=True)
class Server:
    """A mailer and how it is set.

    Attributes:
        mailer: its name.
        source: whose settings these are: files, or its defaults.
        policy: what it is set to.
        not_modelled: what it is set to that the model does not have, with the place.
        settings: what its policy can be set to.
        advise: the changes that make one resolved policy of another; also takes the domains of
            each provider.
        more: values that a search tries of parts that are no setting by themselves.
        provider_limits: the limits of a provider that it can keep.
        keepable: the highest rate a minute that it can keep and that is at most another one;
            None where it can keep none.
    """

    mailer: str
    source: str
    policy: Policy
    not_modelled: tuple[str, ...]
    settings: Sequence[Setting]
    advise: Callable[[Policy, Policy, Providers], Iterator[Advice]]
    more: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    provider_limits: Sequence[str] = ("sessions", "per_minute")
    keepable: Callable[[int], int | None] = lambda per_minute: per_minute

    def tries(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Parts that a search may change, and the changes that it tries of each."""
        for part, values in self.more.items():
            yield part, [{part: value} for value in values]
        for setting in self.settings:
            if setting.tries:
                changes = [dict.fromkeys(setting.parts, value) for value in setting.tries]
                yield setting.parts[0], changes

    def has(self, part: str) -> bool:
        """Whether a part of a policy is something that this mailer can be set to."""
        return not self.settings or any(part in setting.parts for setting in self.settings)


def number(name: str, value: Value) -> int:
    """A whole number.

    Raises:
        InputError: the file has something else.
    """
    if not re.fullmatch(r"\d{1,9}", value.text) or int(value.text) > UNLIMITED:
        expected = f"expected a whole number, at most {UNLIMITED:,}"
        raise InputError(f"{value.said(name)}, {expected}")
    return int(value.text)


def time_s(name: str, value: Value, unit: str) -> int:
    """A time in seconds, such as `300`, `5m` or `1h30m`; `unit` is that of one without.

    Raises:
        InputError: the file has something else.
    """
    if not value.text or _TIME.fullmatch(value.text) is None:
        raise InputError(f"{value.said(name)}, expected a time such as 300s")
    terms = _TERM.findall(value.text.lower())
    return sum(int(digits) * _UNITS[letter or unit] for digits, letter in terms)


def no_rate(_per_minute: int) -> None:
    """The highest rate that a mailer without limits on rates can keep."""


def whole_seconds(time: Any) -> int:
    """A policy's time in whole seconds, at least one."""
    return max(1, round(quantity(str(time)) / PS_PER_S))


def is_domain(name: str) -> bool:
    """Whether a name may stand behind the `@` of an address."""
    try:
        mail_address(f"x@{name}")
    except ValueError:
        return False
    return True


def put(policy: Policy, part: str, value: Any) -> None:
    """Set a part of a policy."""
    table, _, key = part.rpartition(".")
    if table:
        policy.setdefault(table, {})[key] = value
    else:
        policy[key] = value


def get(policy: Mapping[str, Any], part: str) -> Any:
    """A part of a policy; None where it has none."""
    table, _, key = part.rpartition(".")
    owner = policy.get(table, {}) if table else policy
    return owner.get(key)


def read(
    settings: Iterable[Setting], found: Callable[[str], Value | None], policy: Policy
) -> Policy:
    """A policy with what a mailer's files set.

    Raises:
        InputError: a value is none.
    """
    for setting in settings:
        value = setting.policy(found(setting.name))
        for part in setting.parts:
            put(policy, part, value)
    return policy


def differing(
    settings: Iterable[Setting], now: Policy, plan: Policy
) -> Iterable[tuple[Setting, Any, bool | None]]:
    """The settings that differ, their values in the second policy, and whether these are lower."""
    for setting in settings:
        old, new = (get(policy, setting.parts[0]) for policy in (now, plan))
        if new is not None and new != old:
            yield setting, new, is_lower(old, new)


def is_lower(old: Any, new: Any) -> bool | None:
    """Whether a number or a time of a policy becomes lower; None where it is neither."""
    if isinstance(old, int) and isinstance(new, int):
        return new < old
    if isinstance(old, str) and isinstance(new, str) and old[:1].isdecimal():
        return quantity(new) < quantity(old)
    return None


@dataclass(frozen=True)
class Share:
    """Recipient domains that share limits.

    Attributes:
        name: what a mailer may call them.
        domains: which.
        limits: their limits, as a policy has them.
    """

    name: str
    domains: Sequence[str]
    limits: Mapping[str, Any]


def changed_shares(now: Policy, plan: Policy, providers: Providers) -> Iterator[Share]:
    """The domains and providers whose limits differ between two policies."""
    for nth, table in enumerate(plan[_DOMAIN], 1):
        by, name = table.get("by", _DOMAIN), table["name"]
        domains = [name] if by == _DOMAIN else providers.get(name, ())
        if table not in now[_DOMAIN] and domains:
            limits = {key: value for key, value in table.items() if value != _NOTHING}
            yield Share(f"{by}{nth}", domains, limits)
