"""sendmail: `sendmail.cf` and `sendmail.mc`, read and advised.

Source: the operations guide and `cf/README` of sendmail 8.17. A table has the names
of each option, in `sendmail.cf` and in m4.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
    no_rate,
    number,
    put,
    read,
    time_s,
)

NAME = "sendmail"
DEFAULTS = "the defaults of sendmail 8.17 (--mailer names yours)"
_FILE = "sendmail.mc"

# sendmail leaves the connection to the operating system, which gives up after 75 s or so.
SETTINGS = (
    Setting("MaxQueueChildren", ("limits.sessions",), "0", m4="confMAX_QUEUE_CHILDREN"),
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
# A message waits for a run of the queue, and until it is so old; only the latter is in the files.
_MIN_AGE, _M4_MIN_AGE = "MinQueueAge", "confMIN_QUEUE_AGE"
_INTERVAL_S = 1800
# Its other names.
_SAME: Mapping[str, str] = {
    "Timeout.queuereturn.normal": "Timeout.queuereturn",
    "confTO_QUEUERETURN_NORMAL": "confTO_QUEUERETURN",
}
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
_SHELL, _SPOOL = "a shell", "/var/spool/mqueue"
_ACCESS = "/etc/mail/access"
_DEFINE = re.compile(rf"define\(\s*{_QUOTED}\s*,\s*{_QUOTED}\s*\)")
_GROUP = re.compile(r"(?:QUEUE_GROUP\(\s*`?([\w-]+)'?\s*,\s*`?|Q([\w-]+)\s*,\s*)([^')]*)")
_FEATURE = re.compile(r"FEATURE\(\s*`?(\w+)")
_RECIPIENTS = re.compile(r"\br=(\d+)")


@dataclass
class _Files:
    values: dict[str, Value] = field(default_factory=dict)
    groups: dict[str, Value] = field(default_factory=dict)
    features: set[str] = field(default_factory=set)


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
    age = files.values.get(_MIN_AGE, Value("0", ""))
    every_s = max(_INTERVAL_S, time_s(_MIN_AGE, age, "m"))
    put(policy, "retry.every", f"{every_s}s")
    told = ["-q of sendmail, the time between two runs of the queue: taken as 30m"]
    told += [
        value.said(name) for name in _NOT_MODELLED if (value := files.values.get(name)) is not None
    ]
    for name, value in files.groups.items():
        most = _RECIPIENTS.search(value.text)
        if most is not None and (size := number(f"r of {name}", Value(most[1], value.place))):
            put(policy, "split", {"kind": "chunks", "size": size})
            told.append(f"{value.place}: queue group {name}: its r= is taken for all mail")
    source = ", ".join(map(str, paths)) or DEFAULTS
    more = {"split": _SPLITS}
    advised = partial(_advised, files.features)
    return Server(
        NAME, source, policy, tuple(told), SETTINGS, advised, more, ("sessions",), no_rate
    )


def _read(path: Path, files: _Files) -> None:
    names = {m4: name for name, m4 in _NOT_MODELLED.items()} | {_M4_MIN_AGE: _MIN_AGE}
    names |= {setting.m4: setting.name for setting in SETTINGS}
    names |= {other: names.get(name, name) for other, name in _SAME.items()}
    # sendmail does not tell upper from lower case in the names of options.
    options = {name.lower(): name for name in names.values()}
    options |= {other.lower(): name for other, name in _SAME.items()}
    for line, content in enumerate(read_text(path, "settings of sendmail").splitlines(), 1):
        place = f"{path}:{line}"
        if content.startswith(("#", "dnl")):
            continue
        if option := _OPTION.match(content):
            name = options.get(option[1].lower(), option[1])
            files.values[name] = Value(option[2].strip(), place)
        elif content.startswith("O ") and "=" in content:
            raise InputError(f"{place}: {content[:60]!r}, expected O Name=value")
        for name, value in _DEFINE.findall(content):
            if name in names:
                files.values[names[name]] = Value(value.strip(), place)
        files.features.update(_FEATURE.findall(content))
        if group := _GROUP.match(content):
            files.groups[group[1] or group[2]] = Value(group[3], place)


def _advised(
    features: set[str], now: Policy, plan: Policy, providers: Providers
) -> Iterator[Advice]:
    split = plan["split"]
    # `queuegroup` looks into the access map.
    needed = [] if "access_db" in features else ["FEATURE(`access_db')dnl"]
    grouped = [*needed, "FEATURE(`queuegroup')dnl"] if "queuegroup" not in features else []
    if split != now["split"]:
        size = 1 if split["kind"] == "each" else split.get("size", UNLIMITED)
        # All mail is of this group that the access map gives no other one.
        all_mail = "FEATURE(`queuegroup', `list')dnl"
        yield advice("split", _FILE, *needed, all_mail, _group("list", f"r={size}"))
        grouped = []
        yield advice("split", _SHELL, *_commands("list"))
    for setting, value, lower in differing(SETTINGS, now, plan):
        line = f"define(`{setting.m4}', `{setting.text(value)}')dnl"
        yield advice(setting.parts[0], _FILE, line, lower=lower)
    for share in changed_shares(now, plan, providers):
        sessions = share.limits.get("sessions")
        if sessions is None:
            continue
        group = _group(share.name, f"R={sessions}")
        yield advice("domain", _FILE, *grouped, group)
        mapped = [f"QGRP:{domain} {share.name}" for domain in share.domains]
        yield advice("domain", _ACCESS, *mapped)
        commands = _commands(share.name)
        yield advice("domain", _SHELL, *commands, f"makemap hash {_ACCESS} < {_ACCESS}")


def _group(name: str, limit: str) -> str:
    """The line of a queue group."""
    return f"QUEUE_GROUP(`{name}', `P={_SPOOL}/{name}, F=f, {limit}')dnl"


def _commands(name: str) -> tuple[str, ...]:
    """What makes the directory of a queue group."""
    return (f"mkdir -m 700 {_SPOOL}/{name}",)
