"""Our own list server's settings."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn._internal.formats import toml_value
from sojourn.mail.mailer.effects import Advice, advice
from sojourn.mail.mailer.setting import Policy, Providers, Server, is_lower
from sojourn.mail.plan.policy import given

NAME = "sojourn"
DEFAULTS = "the defaults of sojourn (--config or --mailer names yours)"
_LIMITS = "limits"
# What the search tries.
PARTS: Mapping[str, tuple[Any, ...]] = {
    "split": ({"kind": "by-destination"}, {"kind": "each"}),
    "timeouts": (
        {"kind": "passes", "cut": 5},
        {"kind": "passes", "cut": 10},
        {"kind": "passes", "cut": 20},
        {"kind": "postfix"},
    ),
    "retry": ({"kind": "prompt"}, {"kind": "backoff"}),
    "order": ({"kind": "past-delay"}, {"kind": "list"}),
    "checkpoint": ({"kind": "group"},),
    "limits.probes": (2, 4, 16, 64),
}


def server(config: Path | None) -> Server:
    """How our server is set.

    Raises:
        InputError: the file cannot be read.
        StudyError: it has what no list server can be set to.
    """
    source = DEFAULTS if config is None else str(config)
    return Server(NAME, source, given(config), (), (), _advised, PARTS)


def _advised(now: Policy, plan: Policy, _providers: Providers) -> Iterator[Advice]:
    for part, value in plan.items():
        if part == _LIMITS:
            yield from _limits(now[part], value)
        elif value != now[part]:
            lower = is_lower(now[part], value)
            yield advice(part, "settings.toml", f"{part} = {toml_value(value)}", lower=lower)


def _limits(now: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[Advice]:
    for name, value in plan.items():
        if value != now[name]:
            part = f"{_LIMITS}.{name}"
            lower = is_lower(now[name], value)
            yield advice(part, "settings.toml", f"{part} = {toml_value(value)}", lower=lower)
