"""Exim: its configuration file, read and advised.

Source: the specification of Exim 4.96, chapters 14 (main), 30 (smtp transport) and 32 (retry).
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sojourn._internal.errors import InputError
from sojourn._internal.files import read_text
from sojourn.mail.mailer.effects import Advice, advice
from sojourn.mail.mailer.setting import (
    UNLIMITED,
    Policy,
    Providers,
    Server,
    Setting,
    Value,
    changed_shares,
    differing,
    put,
    read,
    time_s,
    whole_seconds,
)

NAME = "exim"
DEFAULTS = "the defaults of Exim 4.96 (--mailer names yours)"
_FILE = "exim.conf"

# `command_timeout` is of every command; the connection and the text have their own.
SETTINGS = (
    Setting("remote_max_parallel", ("limits.sessions",), "4"),
    Setting("max_rcpt", ("limits.recipients",), "100"),
    Setting("connect_timeout", ("timeouts.connect",), "5m", "s", ("30s", "10s", "5s")),
    Setting(
        "command_timeout",
        tuple(f"timeouts.{step}" for step in ("hello", "greeting", "mail", "rcpt", "data", "rset")),
        "5m",
        "s",
        ("30s",),
    ),
    Setting("data_timeout", ("timeouts.block",), "5m", "s"),
    Setting("final_timeout", ("timeouts.dot",), "10m", "s"),
)
_RETRY = "retry.first"
_RULE_OF_EXIM = Value("* * F,2h,15m; G,16h,1h,1.5; F,4d,6h", "")
_NOT_MODELLED = (
    "queue_only", "queue_only_load", "queue_run_max", "queue_smtp_domains",
    "deliver_queue_load_max", "remote_sort_domains", "connection_max_messages", "hosts_max_try",
    "serialize_hosts", "max_parallel", "split_spool_directory",
)  # fmt: skip
_SECTION = re.compile(r"begin\s+(acl|routers|transports|retry|rewrite|authenticators)\b")
_ASSIGNED = re.compile(r"(?:hide\s+)?([a-z_]\w*)\s*=\s*(.*)")
_RULE = re.compile(r"[FG],\s*(\w+)\s*,\s*(\w+)(?:\s*,\s*([\d.]+))?")


def is_its(text: str) -> bool:
    """Whether a text is Exim's configuration."""
    return any(_SECTION.match(line) for line in text.splitlines()) or "remote_max_parallel" in text


def server(paths: Sequence[Path]) -> Server:
    """How Exim is set.

    Raises:
        InputError: a file cannot be read, or has something else.
    """
    values: dict[str, Value] = {}
    rules: list[Value] = []
    for path in paths:
        _read(path, values, rules)
    policy: Policy = {
        "split": {"kind": "by-destination"},
        "order": {"kind": "list"},
        "timeouts": {"kind": "steps"},
        "retry": {"kind": "backoff", "jitter": 0.5},
        "checkpoint": {"kind": "every", "recipients": 1},
        "limits": {
            "network": UNLIMITED,
            "destination": UNLIMITED,
            "initial": UNLIMITED,
            "probes": 1,
        },
    }
    read(SETTINGS, values.get, policy)
    told = [value.said(name) for name in _NOT_MODELLED if (value := values.get(name)) is not None]
    first_s, most_s, lifetime_s = _retry(rules)
    put(policy, _RETRY, f"{first_s}s")
    put(policy, "retry.most", f"{most_s}s")
    put(policy, "lifetime", f"{lifetime_s}s")
    told += [f"{rule.place}: {rule.text}: only the last rule is taken" for rule in rules[:-1]]
    told.append("remote_max_parallel: of one message; the model has it for all messages together")
    source = ", ".join(map(str, paths)) or DEFAULTS
    more = {_RETRY: ("300s", "60s")}
    return Server(NAME, source, policy, tuple(told), SETTINGS, _advised, more, ())


def _read(path: Path, values: dict[str, Value], rules: list[Value]) -> None:
    section = "main"
    for line, content in _lines(read_text(path, "settings of Exim")):
        place = f"{path}:{line}"
        if begun := _SECTION.match(content):
            section = begun[1]
        elif section == "retry":
            if not _RULE.search(content):
                raise InputError(
                    f"{place}: {content[:60]!r}, expected a retry rule such as * * F,4d,6h"
                )
            rules.append(Value(content, place))
        elif section in ("main", "transports") and (found := _ASSIGNED.match(content)):
            values[found[1]] = Value(found[2].strip(), place)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with their numbers; one that ends with a backslash goes on."""
    first, held = 0, ""
    for line, content in enumerate(text.splitlines(), 1):
        stripped = content.strip()
        if not stripped or stripped.startswith("#"):
            continue
        first = first if held else line
        held += stripped.removesuffix("\\")
        if not stripped.endswith("\\"):
            yield first, held
            held = ""
    if held:
        yield first, held


def _retry(rules: Sequence[Value]) -> tuple[int, int, int]:
    """The first wait, the longest one, and how long a message is tried."""
    rule = rules[-1] if rules else _RULE_OF_EXIM
    found = _RULE.findall(rule.text)
    ends = [time_s("retry rule", Value(end, rule.place), "s") for end, _, _ in found]
    gaps = [time_s("retry rule", Value(gap, rule.place), "s") for _, gap, _ in found]
    return max(gaps[0], 1), max(*gaps, 1), max(*ends, 1)


def _advised(now: Policy, plan: Policy, providers: Providers) -> Iterator[Advice]:
    for setting, value, lower in differing(SETTINGS, now, plan):
        yield advice(
            setting.parts[0], _FILE, f"{setting.name} = {setting.text(value)}", lower=lower
        )
    first = plan["retry"]["first"]
    if first != now["retry"]["first"]:
        most, end = (whole_seconds(plan["retry"]["most"]), whole_seconds(plan["lifetime"]))
        yield advice("retry", _FILE, f"*  *  G,{most}s,{whole_seconds(first)}s,2; F,{end}s,{most}s")
    for share in changed_shares(now, plan, providers):
        yield advice("domain", _FILE, f"# no option: the limits of {share.limits['name']}")
