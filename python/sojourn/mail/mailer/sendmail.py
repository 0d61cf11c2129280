"""sendmail: `sendmail.cf` and `sendmail.mc`, read and advised.

Source: the operations guide and `cf/README` of sendmail 8.17. A table has the names
of each option, in `sendmail.cf` and in m4.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
    put,
    read,
)

NAME = "sendmail"
DEFAULTS = "the defaults of sendmail 8.17 (--mailer names yours)"
_FILE = "sendmail.mc"

# sendmail leaves the connection to the operating system, which gives up after 75 s or so.
SETTINGS = (
    Setting("MaxQueueChildren", ("limits.sessions",), "0", m4="confMAX_QUEUE_CHILDREN"),
    Setting("MinQueueAge", ("retry.every",), "30m", "m", ("300s", "60s"), m4="confMIN_QUEUE_AGE"),
    Setting("Timeout.hoststatus", ("retry.dead",), "30m", "m", m4="confTO_HOSTSTATUS"),
    Setting("ConnectionCacheTimeout", ("limits.idle",), "5m", "m", m4="confMCI_CACHE_TIMEOUT"),
    Setting("Timeout.queuereturn", ("lifetime",), "5d", "d", m4="confTO_QUEUERETURN"),
    Setting("CheckpointInterval", ("checkpoint.recipients",), "10", m4="confCHECKPOINT_INTERVAL"),
    Setting(
        "Timeout.connect", ("timeouts.connect",), "75s", "m", ("10s", "5s"), m4="confTO_CONNECT"
    ),
    Setting("Timeout.initial", ("timeouts.greeting",), "5m", "m", ("30s",), m4="confTO_INITIAL"),
    Setting("Timeout.helo", ("timeouts.hello",), "5m", "m", m4="confTO_HELO"),
    Setting("Timeout.mail", ("timeouts.mail",), "10m", "m", m4="confTO_MAIL"),
    Setting("Timeout.rcpt", ("timeouts.rcpt",), "1h", "m", m4="confTO_RCPT"),
    Setting("Timeout.datainit", ("timeouts.data",), "5m", "m", m4="confTO_DATAINIT"),
    Setting("Timeout.datablock", ("timeouts.block",), "1h", "m", m4="confTO_DATABLOCK"),
    Setting("Timeout.datafinal", ("timeouts.dot",), "1h", "m", m4="confTO_DATAFINAL"),
    Setting("Timeout.rset", ("timeouts.rset",), "5m", "m", m4="confTO_RSET"),
    Setting("Timeout.quit", ("timeouts.quit",), "2m", "m", m4="confTO_QUIT"),
)
_NOT_MODELLED: Mapping[str, str] = {
    "Timeout.iconnect": "confTO_ICONNECT",
    "Timeout.aconnect": "confTO_ACONNECT",
    "MaxRunnersPerQueue": "confMAX_RUNNERS_PER_QUEUE",
    "FastSplit": "confFAST_SPLIT",
    "FallbackMXhost": "confFALLBACK_MX",
    "MaxQueueAge": "confMAX_QUEUE_AGE",
    "QueueSortOrder": "confQUEUE_SORT_ORDER",
    "DeliveryMode": "confDELIVERY_MODE",
}
_SPLITS = tuple({"kind": "chunks", "size": size} for size in (100, 20, 5, 1))
_QUOTED = r"`?([^'`,)]*)'?"
_OPTION = re.compile(r"O\s*([A-Za-z][\w.]*)\s*=\s*(.*)")
_DEFINE = re.compile(rf"define\(\s*{_QUOTED}\s*,\s*{_QUOTED}\s*\)")
_GROUP = re.compile(r"(?:QUEUE_GROUP\(\s*`?([\w-]+)'?\s*,\s*`?|Q([\w-]+)\s*,\s*)([^')]*)")
_RECIPIENTS = re.compile(r"\br=(\d+)")


@dataclass
class _Files:
    values: dict[str, Value] = field(default_factory=dict)
    groups: dict[str, Value] = field(default_factory=dict)


def is_its(text: str) -> bool:
    """Whether a text is of `sendmail.cf` or `sendmail.mc`."""
    mark = re.compile(r"(define\(`conf|MAILER\(|OSTYPE\(|V\d+/|O QueueDirectory|DOMAIN\()")
    return any(mark.match(line) for line in text.splitlines())


def server(paths: Sequence[Path]) -> Server:
    """How sendmail is set.

    Raises:
        InputError: a file cannot be read, or has something else.
    """
    files = _Files()
    for path in paths:
        _read(path, files)
    policy: Policy = {
        "split": {"kind": "whole"},
        "order": {"kind": "by-destination"},
        "timeouts": {"kind": "steps", "resolve": "75s"},
        "retry": {"kind": "fixed"},
        "checkpoint": {"kind": "queue-files"},
        "limits": {"network": UNLIMITED, "destination": UNLIMITED, "initial": UNLIMITED}
        | {"probes": 1, "recipients": 100},
    }
    read(SETTINGS, files.values.get, policy)
    told = [
        value.said(name) for name in _NOT_MODELLED if (value := files.values.get(name)) is not None
    ]
    for name, value in files.groups.items():
        most = _RECIPIENTS.search(value.text)
        if most is not None and int(most[1]):
            put(policy, "split", {"kind": "chunks", "size": int(most[1])})
            told.append(f"{value.place}: queue group {name}: its r= is taken for all mail")
    source = ", ".join(map(str, paths)) or DEFAULTS
    more = {"split": _SPLITS}
    return Server(NAME, source, policy, tuple(told), SETTINGS, _advised, more, ("sessions",))


def _read(path: Path, files: _Files) -> None:
    names = {m4: name for name, m4 in _NOT_MODELLED.items()}
    names |= {setting.m4: setting.name for setting in SETTINGS}
    for line, content in enumerate(read_text(path, "settings of sendmail").splitlines(), 1):
        place = f"{path}:{line}"
        if content.startswith(("#", "dnl")):
            continue
        if option := _OPTION.match(content):
            files.values[option[1]] = Value(option[2].strip(), place)
        elif content.startswith("O ") and "=" in content:
            raise InputError(f"{place}: {content[:60]!r}, expected O Name=value")
        for name, value in _DEFINE.findall(content):
            if name in names:
                files.values[names[name]] = Value(value.strip(), place)
        if group := _GROUP.match(content):
            files.groups[group[1] or group[2]] = Value(group[3], place)


def _advised(now: Policy, plan: Policy, providers: Providers) -> Iterator[Advice]:
    split = plan["split"]
    if split != now["split"]:
        size = 1 if split["kind"] == "each" else split.get("size", UNLIMITED)
        group = f"QUEUE_GROUP(`list', `P=/var/spool/mqueue/list*, F=f, r={size}')dnl"
        yield advice("split", _FILE, group)
    for setting, value, lower in differing(SETTINGS, now, plan):
        line = f"define(`{setting.m4}', `{setting.text(value)}')dnl"
        yield advice(setting.parts[0], _FILE, line, lower=lower)
    for share in changed_shares(now, plan, providers):
        lines = ["FEATURE(`queuegroup')dnl"]
        if "sessions" in share.limits:
            queue = f"P=/var/spool/mqueue/{share.name}*, F=f, R={share.limits['sessions']}"
            lines.append(f"QUEUE_GROUP(`{share.name}', `{queue}')dnl")
        if "per_minute" in share.limits:
            lines.append(f"dnl no option: {share.limits['per_minute']} transactions a minute")
        yield advice("domain", _FILE, *lines)
        mapped = [f"QGRP:{domain} {share.name}" for domain in share.domains]
        yield advice("domain", "the access map", *mapped)
