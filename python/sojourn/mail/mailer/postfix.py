"""Postfix: `main.cf`, `master.cf` and the output of `postconf`, read and advised.

Source: postconf(5), master(5) and transport(5) of Postfix 3.7.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sojourn._internal.errors import InputError
from sojourn._internal.files import read_text
from sojourn.mail.mailer.effects import Advice, advice
from sojourn.mail.mailer.setting import (
    UNLIMITED,
    Policy,
    Providers,
    Server,
    Setting,
    Share,
    Value,
    changed_shares,
    differing,
    number,
    put,
    read,
    time_s,
)

NAME = "postfix"
DEFAULTS = "the defaults of Postfix 3.7 (--mailer names yours)"
_SHORT = ("10s", "5s")

# `maxproc` of `smtp` in master.cf.
PROCESSES = Setting("maxproc", ("limits.sessions",), "100")
# Of main.cf.
SETTINGS = (
    Setting("smtp_destination_concurrency_limit", ("limits.destination",), "20"),
    Setting("initial_destination_concurrency", ("limits.initial",), "5"),
    Setting("smtp_destination_recipient_limit", ("limits.recipients",), "50"),
    Setting("smtp_connection_cache_time_limit", ("limits.idle",), "2s", "s"),
    Setting("minimal_backoff_time", ("retry.first",), "300s", "s", ("150s", "60s")),
    Setting("maximal_backoff_time", ("retry.most",), "4000s", "s"),
    Setting("maximal_queue_lifetime", ("lifetime",), "5d", "d"),
    Setting("smtp_connect_timeout", ("timeouts.connect",), "30s", "s", _SHORT),
    # One setting for the greeting and for EHLO.
    Setting("smtp_helo_timeout", ("timeouts.hello", "timeouts.greeting"), "300s", "s", ("30s",)),
    Setting("smtp_mail_timeout", ("timeouts.mail",), "300s", "s"),
    Setting("smtp_rcpt_timeout", ("timeouts.rcpt",), "300s", "s"),
    Setting("smtp_data_init_timeout", ("timeouts.data",), "120s", "s"),
    Setting("smtp_data_xfer_timeout", ("timeouts.block",), "180s", "s"),
    Setting("smtp_data_done_timeout", ("timeouts.dot",), "600s", "s"),
    Setting("smtp_rset_timeout", ("timeouts.rset",), "20s", "s"),
    Setting("smtp_quit_timeout", ("timeouts.quit",), "300s", "s"),
)
# Where a setting of the transport is absent, this one holds.
_ELSE = {
    "smtp_destination_concurrency_limit": "default_destination_concurrency_limit",
    "smtp_destination_recipient_limit": "default_destination_recipient_limit",
}
# Further parameters whose names and defaults the reader uses.
_OTHERS = {
    "default_process_limit": "100",
    "default_destination_concurrency_limit": "20",
    "default_destination_recipient_limit": "50",
    "queue_run_delay": "300s",
}
_NOT_MODELLED = (
    "content_filter", "default_destination_rate_delay", "default_transport",
    "default_transport_rate_delay", "qmgr_message_active_limit", "qmgr_message_recipient_limit",
    "relayhost", "sender_dependent_default_transport_maps", "sender_dependent_relayhost_maps",
    "smtp_connection_reuse_count_limit", "smtp_connection_reuse_time_limit",
    "smtp_destination_concurrency_failed_cohort_limit",
    "smtp_destination_concurrency_negative_feedback",
    "smtp_destination_concurrency_positive_feedback", "smtp_destination_rate_delay",
    "smtp_fallback_relay", "smtp_transport_rate_delay",
)  # fmt: skip
_ASSIGNED = re.compile(r"([A-Za-z_][\w.-]*)\s*=\s*(.*)", re.DOTALL)
_SERVICE = re.compile(r"\S+\s+(?:inet|unix|fifo|pass|unix-dgram)\s")
_EXPANDED = re.compile(r"\$(?:(\w+)|\{(\w+)\}|\((\w+)\))")
_MAPS = ("texthash", "hash", "lmdb", "cdb", "btree", "dbm")
_INLINE = re.compile(r"inline:\{(.*)\}", re.DOTALL)
_DEEPEST = 20
_MAXPROC, _COMMAND = 6, 7


@dataclass
class _Service:
    """A line of master.cf."""

    place: str
    fields: Sequence[str]
    overrides: dict[str, Value] = field(default_factory=dict)

    @property
    def maxproc(self) -> str:
        return self.fields[_MAXPROC]

    @property
    def program(self) -> str:
        return self.fields[_COMMAND].split()[0]

    def with_processes(self, most: int) -> str:
        """The line with another `maxproc`."""
        fields = [*self.fields]
        fields[_MAXPROC] = str(most)
        return " ".join(fields)


_SMTP = _Service("", ["smtp", "unix", "-", "-", "y", "-", "-", "smtp"])


@dataclass
class _Files:
    """What the files say."""

    values: dict[str, Value] = field(default_factory=dict)
    services: dict[str, _Service] = field(default_factory=dict)

    def value(self, name: str) -> Value | None:
        """A parameter of the delivery agent `smtp`, with its `$names` expanded."""
        smtp = self.services.get("smtp")
        raw = (smtp and smtp.overrides.get(name)) or self.values.get(name)
        if raw is None:
            other = _ELSE.get(name)
            return self.value(other) if other else None
        return Value(self._expanded(raw, _DEEPEST), raw.place)

    def _expanded(self, value: Value, depth: int) -> str:
        if not depth:
            raise InputError(f"{value.place}: {value.text} refers to itself")

        def inner(found: re.Match[str]) -> str:
            name = next(group for group in found.groups() if group)
            known = self.values.get(name)
            if known is None:
                defaults = {setting.name: setting.default for setting in SETTINGS} | _OTHERS
                return defaults.get(name, "")
            return self._expanded(known, depth - 1)

        return _EXPANDED.sub(inner, value.text).strip()


def is_main(text: str) -> bool:
    """Whether a text is of `main.cf` or `postconf -n`."""
    names = {setting.name for setting in SETTINGS} | {*_OTHERS, *_NOT_MODELLED, *_ELSE.values()}
    names |= {"queue_directory", "myhostname", "mydestination", "compatibility_level"}
    return any(line.partition("=")[0].strip() in names for line in text.splitlines())


def is_master(text: str) -> bool:
    """Whether a text is of `master.cf` or `postconf -M`."""
    return any(_SERVICE.match(line) for line in text.splitlines())


def server(paths: Sequence[Path]) -> Server:
    """How Postfix is set.

    Raises:
        InputError: a file cannot be read, or has something else.
    """
    files = _Files()
    for path in paths:
        text = read_text(path, "settings of Postfix")
        if is_master(text):
            _master(path, text, files)
        else:
            _main(path, text, files)
    found = _policy(files)
    told = [
        f"{value.place}: {name} = {value.text}"
        for name in _NOT_MODELLED
        if (value := files.value(name)) is not None and value.text
    ]
    domains, more = _domains(files)
    if domains:
        found["domain"] = domains
    source = ", ".join(map(str, paths)) or DEFAULTS
    smtp = files.services.get("smtp", _SMTP)
    return Server(
        NAME, source, found, tuple(told + more), (PROCESSES, *SETTINGS), partial(_advised, smtp)
    )


def _policy(files: _Files) -> Policy:
    found: Policy = {
        "split": {"kind": "by-destination"},
        "order": {"kind": "list"},
        "timeouts": {"kind": "steps"},
        "retry": {"kind": "backoff"},
        # The queue file is changed in place, without a wait.
        "checkpoint": {"kind": "every", "recipients": 1},
        "limits": {"network": UNLIMITED, "probes": 1},
    }
    read(SETTINGS, files.value, found)
    limits = found["limits"]
    limits["sessions"] = _processes(files, "smtp")
    if limits["recipients"] == 1:
        # The limit of a destination is then that of a recipient.
        found["split"] = {"kind": "each"}
        limits["destination"] = limits["sessions"]
    limits["initial"] = min(limits["initial"], limits["destination"])
    if (skip := files.value("smtp_skip_quit_response")) is None or skip.text == "yes":
        put(found, "timeouts.quit", "1ms")
    # A recipient waits for the next run of the queue.
    run_s, first_s = (
        time_s(name, files.value(name) or Value(default, ""), "s")
        for name, default in (("queue_run_delay", "300s"), ("minimal_backoff_time", "300s"))
    )
    put(found, "retry.jitter", min(1.0, run_s / max(first_s, 1)))
    return found


def _processes(files: _Files, name: str) -> int:
    """How many processes a service may have: `maxproc`, or else `default_process_limit`."""
    service = files.services.get(name)
    if service is not None and service.maxproc != "-":
        return number(f"maxproc of {name}", Value(service.maxproc, service.place)) or UNLIMITED
    limit = files.value("default_process_limit") or Value(_OTHERS["default_process_limit"], "")
    return number("default_process_limit", limit) or UNLIMITED


def _main(path: Path, text: str, files: _Files) -> None:
    for line, content in _lines(text):
        found = _ASSIGNED.fullmatch(content)
        if found is None:
            raise InputError(f"{path}:{line}: {content[:60]!r}, expected name = value")
        # The last one holds.
        files.values[found[1]] = Value(found[2].strip(), f"{path}:{line}")


def _master(path: Path, text: str, files: _Files) -> None:
    for line, content in _lines(text):
        place = f"{path}:{line}"
        fields = content.split(maxsplit=_COMMAND)
        if len(fields) <= _COMMAND:
            expected = f"expected the {_COMMAND + 1} of a service"
            raise InputError(f"{place}: {content[:60]!r} has {len(fields)} fields, {expected}")
        maxproc = fields[_MAXPROC]
        if maxproc != "-" and not maxproc.isdecimal():
            raise InputError(f"{place}: maxproc = {maxproc}, expected a whole number or -")
        service = _Service(place, fields)
        for name, value in _overrides(fields[_COMMAND]):
            service.overrides[name] = Value(value, place)
        if fields[1] != "inet":
            files.services[fields[0]] = service


def _overrides(command: str) -> Iterator[tuple[str, str]]:
    """`-o name=value` and `-o { name = value }`."""
    pattern = r"-o\s+(?:\{\s*(\w+)\s*=\s*([^}]*?)\s*\}|(\w+)=(\S*))"
    for found in re.finditer(pattern, command):
        yield (found[1], found[2]) if found[1] else (found[3], found[4])


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with their numbers: a line that begins with a blank goes on."""
    first, parts = 0, list[str]()
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip() or content.lstrip().startswith("#"):
            continue
        if content[0].isspace() and parts:
            parts.append(content.strip())
            continue
        if parts:
            yield first, " ".join(parts)
        first, parts = line, [content.strip()]
    if parts:
        yield first, " ".join(parts)


def _domains(files: _Files) -> tuple[list[dict[str, Any]], list[str]]:
    """The limits of domains that `transport_maps` gives another transport, and what is left."""
    maps = files.value("transport_maps")
    found: list[dict[str, Any]] = []
    told: list[str] = []
    if maps is None or not maps.text:
        return found, told
    entries: dict[str, str] = {}
    inline = _INLINE.fullmatch(maps.text)
    kind, _, name = maps.text.partition(":")
    if inline is not None:
        for entry in re.findall(r"\{([^}]*)\}|([^\s,{}]+=[^\s,{}]+)", inline[1]):
            key, _, target = (entry[0] or entry[1]).partition("=")
            entries[key.strip()] = target.strip()
    elif kind in _MAPS and Path(name).is_file():
        for _, line in _lines(read_text(Path(name), "transport map")):
            key, _, target = line.partition(" ") if " " in line else line.partition("\t")
            entries[key] = target.strip()
    else:
        return found, [f"{maps.place}: transport_maps = {maps.text}"]
    for domain, target in entries.items():
        transport = target.partition(":")[0]
        if transport in ("smtp", ""):
            continue
        service = files.services.get(transport)
        whole = "@" not in domain and not domain.startswith((".", "*"))
        if service is None or service.program != "smtp" or not whole:
            told.append(f"{maps.place}: transport_maps: {domain} {target}")
            continue
        found.append({"name": domain, **_own_limits(files, transport)})
    return found, told


def _own_limits(files: _Files, transport: str) -> dict[str, int]:
    """The limits of a transport. With a delay between its deliveries it has one at a time."""
    concurrency = files.value(f"{transport}_destination_concurrency_limit") or files.value(
        "default_destination_concurrency_limit"
    )
    limit = number("destination_concurrency_limit", concurrency) if concurrency else 20
    sessions = min(limit or UNLIMITED, _processes(files, transport))
    delay = files.value(f"{transport}_destination_rate_delay")
    delay_s = time_s("rate_delay", delay, "s") if delay else 0
    if delay_s:
        return {"sessions": 1, "per_minute": max(1, 60 // delay_s)}
    return {"sessions": sessions}


def _advised(smtp: _Service, now: Policy, plan: Policy, providers: Providers) -> Iterator[Advice]:
    """The lines of Postfix's files that make one policy of another."""
    for setting, processes in differing([PROCESSES], now, plan):
        yield advice(setting.parts[0], "master.cf", smtp.with_processes(processes))
    for setting, value in differing(SETTINGS, now, plan):
        yield advice(setting.parts[0], "main.cf", f"{setting.name} = {setting.text(value)}")
        if setting.parts[0] == "retry.first":
            yield advice("retry", "main.cf", f"queue_run_delay = {setting.text(value)}")
    for share in changed_shares(now, plan, providers):
        own = _Service(smtp.place, [share.name, *smtp.fields[1:]])
        yield from _transport(own, share, plan["limits"])


def _transport(own: _Service, share: Share, limits: Mapping[str, Any]) -> Iterator[Advice]:
    """A delivery agent for some domains, for which limits of the agent `smtp` do not hold."""
    service, sessions = share.name, share.limits.get("sessions", limits["destination"])
    yield advice("domain", "master.cf", own.with_processes(sessions))
    mapped = [f"{domain} {service}:" for domain in share.domains]
    yield advice("domain", "the file of transport_maps", *mapped)
    lines = [
        f"{service}_destination_recipient_limit = {limits['recipients']}",
        f"{service}_destination_concurrency_limit = {sessions}",
    ]
    if "per_minute" in share.limits:
        # In whole seconds, between two deliveries to one domain, or of all that share the agent.
        kind = "transport" if share.is_provider else "destination"
        delay_s = math.ceil(60 / share.limits["per_minute"])
        lines.append(f"{service}_{kind}_rate_delay = {delay_s}s")
    yield advice("domain", "main.cf", *lines)
