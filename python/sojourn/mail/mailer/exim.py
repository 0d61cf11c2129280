"""Exim: its configuration file, read and advised.

Source: the specification of Exim 4.96, chapters 6 (the file), 14 (main), 30 (smtp transport)
and 32 (retry).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
    is_lower,
    no_rate,
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
_MAIN, _ROUTERS, _TRANSPORTS, _RULES = "main", "routers", "transports", "retry"
_FALSE = ("false", "no")
_UNTRIED = 2
_SMTP, _USUAL = "smtp", "remote_smtp"
_SECTION = re.compile(r"begin\s+(acl|routers|transports|retry|rewrite|authenticators)\b")
_NAMED = re.compile(r"(\w+)\s*:$")
# A true-or-false option needs no value.
_ASSIGNED = re.compile(r"(?:hide\s+)?([a-z_]\w*)\s*(?:=\s*(.*))?")
_MACRO = re.compile(r"([A-Z]\w*)\s*==?\s*(.*)")
_TERM = re.compile(r"\b[FGH]\s*,\s*(\w+)\s*,\s*(\w+)")


@dataclass
class _Files:
    """What the files say.

    Attributes:
        sections: the options of `main`, and of each router and transport.
        rules: the retry rules.
        macros: what macros stand for.
        told: what is read otherwise than Exim reads it.
    """

    sections: dict[str, dict[str, dict[str, Value]]] = field(
        default_factory=lambda: {_MAIN: {"": {}}, _ROUTERS: {}, _TRANSPORTS: {}}
    )
    rules: list[Value] = field(default_factory=list)
    macros: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def transport(self) -> str:
        """The transport that mail to other hosts takes; empty where there is none."""
        smtp = [
            name
            for name, options in self.sections[_TRANSPORTS].items()
            if _text(options, "driver") == _SMTP
        ]
        routed = (
            _text(options, "transport")
            for options in self.sections[_ROUTERS].values()
            if _text(options, "driver") == "dnslookup"
        )
        return next((name for name in (*routed, _USUAL, *smtp) if name in smtp), "")


def is_its(text: str) -> bool:
    """Whether a text is Exim's configuration."""
    return any(_SECTION.match(line) for line in text.splitlines()) or "remote_max_parallel" in text


def server(paths: Sequence[Path]) -> Server:
    """How Exim is set.

    Raises:
        InputError: a file cannot be read, or has something else.
    """
    files = _Files()
    for path in paths:
        _read(path, files)
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
    transports = files.sections[_TRANSPORTS]
    taken = files.transport()
    values = files.sections[_MAIN][""] | transports.get(taken, {})
    told = [
        value.said(name)
        for name in _NOT_MODELLED
        if (value := values.get(name)) is not None and value.text not in _FALSE
    ]
    for setting in SETTINGS:
        # Exim expands it for each delivery.
        if (value := values.get(setting.name)) is not None and "$" in value.text:
            told.append(f"{values.pop(setting.name).said(setting.name)}: its default is taken")
    read(SETTINGS, values.get, policy)
    first_s, most_s, lifetime_s = _retry(files)
    put(policy, _RETRY, f"{first_s}s")
    put(policy, "retry.most", f"{most_s}s")
    put(policy, "lifetime", f"{lifetime_s}s")
    for name, options in transports.items():
        if name != taken and _text(options, "driver") == _SMTP:
            told.append(f"{options['driver'].place}: transport {name}: only {taken} is taken")
    told += [f"{rule.place}: {rule.text}: only the last rule is taken" for rule in files.rules[:-1]]
    told += [
        "remote_max_parallel: of one message; the model has it for all messages together",
        "-q of exim, the time between two runs of the queue: taken as half of the first wait",
    ]
    source = ", ".join(map(str, paths)) or DEFAULTS
    more = {_RETRY: ("300s", "60s")}
    return Server(NAME, source, policy, (*told, *files.told), SETTINGS, _advised, more, (), no_rate)


def _text(options: dict[str, Value], name: str) -> str:
    return options[name].text if name in options else ""


def _read(path: Path, files: _Files) -> None:
    section, options = _MAIN, files.sections[_MAIN][""]
    for line, content in _lines(read_text(path, "settings of Exim")):
        place = f"{path}:{line}"
        if content.startswith("."):
            _directive(path, place, content, files)
        elif begun := _SECTION.match(content):
            section, options = begun[1], {}
        elif macro := _MACRO.fullmatch(content):
            files.macros[macro[1]] = macro[2].strip()
        elif section == _RULES:
            # A rule of two words says that nothing is tried again.
            if not _TERM.search(content) and len(content.split()) != _UNTRIED:
                raise InputError(
                    f"{place}: {content[:60]!r}, expected a retry rule such as * * F,4d,6h"
                )
            files.rules.append(Value(content, place))
        elif section in files.sections:
            if named := _NAMED.fullmatch(content):
                options = files.sections[section].setdefault(named[1], {})
            elif found := _ASSIGNED.fullmatch(content):
                text = (found[2] or "true").strip()
                options[found[1]] = Value(files.macros.get(text, text), place)


def _directive(path: Path, place: str, content: str, files: _Files) -> None:
    if content.startswith(".include"):
        files.told.append(f"{place}: {content[:60]}: not read")
    elif content.startswith(".if"):
        branches = f"{path}: .ifdef: all branches are read"
        files.told += [] if branches in files.told else [branches]


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


def _retry(files: _Files) -> tuple[int, int, int]:
    """The first wait, the longest one, and how long a message is tried."""
    rules = (rule for rule in reversed(files.rules) if _TERM.search(rule.text))
    rule = next(rules, _RULE_OF_EXIM)

    def seconds(text: str) -> int:
        return time_s("retry rule", Value(files.macros.get(text, text), rule.place), "s")

    ends, gaps = zip(*_TERM.findall(rule.text), strict=True)
    waits = [seconds(gap) for gap in gaps]
    return max(waits[0], 1), max(*waits, 1), max(*map(seconds, ends), 1)


def _advised(now: Policy, plan: Policy, providers: Providers) -> Iterator[Advice]:
    for setting, value, lower in differing(SETTINGS, now, plan):
        line = f"{setting.name} = {setting.text(value)}"
        yield advice(setting.parts[0], _FILE, line, lower=lower)
    first = plan["retry"]["first"]
    if first != now["retry"]["first"]:
        first_s, most = whole_seconds(first), whole_seconds(plan["retry"]["most"])
        rule = f"*  *  G,{most}s,{first_s}s,2; F,{whole_seconds(plan['lifetime'])}s,{most}s"
        lower = is_lower(now["retry"]["first"], first)
        yield advice("retry", _FILE, rule, lower=lower)
        # A message whose time has come waits for the next run of the queue.
        run_s = max(1, round(plan["retry"]["jitter"] * first_s))
        yield advice("retry", "how Exim is started", f"exim -bd -q{run_s}s", lower=lower)
    for share in changed_shares(now, plan, providers):
        yield advice("domain", _FILE, f"# no option: the limits of {share.limits['name']}")
