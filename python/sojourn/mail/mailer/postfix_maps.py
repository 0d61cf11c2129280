"""Postfix's transport maps: which domains have their own transport, and its limits.

Source: transport(5) and postconf(5) of Postfix 3.7.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn._internal.errors import InputError
from sojourn._internal.files import read_text
from sojourn.mail.mailer.postfix_files import SMTP, Files, lines
from sojourn.mail.mailer.setting import UNLIMITED, Value, is_domain, number, time_s

_KINDS = ("texthash", "hash", "lmdb", "cdb", "btree", "dbm")
_INLINE = re.compile(r"inline:\{(.*)\}", re.DOTALL)
_ENTRY = re.compile(r"\{([^}]*)\}|([^\s,{}]+=[^\s,{}]+)")
_MINUTE_S = 60
_OF_DESTINATIONS = "_destination_rate_delay"


@dataclass(frozen=True)
class Maps:
    """What `transport_maps` says.

    Attributes:
        is_set: whether it says something.
        kind: the kind of its file; empty where it is no file that can be read.
        path: the file.
        targets: the transport of each domain, with what it is given as the next host.
    """

    is_set: bool = False
    kind: str = ""
    path: str = ""
    targets: Mapping[str, Value] = field(default_factory=dict)

    def transport(self, domain: str) -> str:
        """The transport of a domain; empty where it has none."""
        return self._target(domain).partition(":")[0]

    def next_host(self, domain: str) -> str:
        """What its transport is given as the next host; empty where it is the domain itself."""
        return self._target(domain).partition(":")[2]

    def domains(self, transport: str) -> set[str]:
        """The domains that a transport has."""
        return {domain for domain in self.targets if self.transport(domain) == transport}

    def _target(self, domain: str) -> str:
        target = self.targets.get(domain)
        return "" if target is None else target.text


def maps(files: Files) -> Maps:
    """What `transport_maps` says.

    Raises:
        InputError: a map cannot be read, or has a domain twice.
    """
    setting = files.value("transport_maps")
    if setting is None or not setting.text:
        return Maps(is_set=files.raw("transport_maps") is not None and setting is None)
    inline = _INLINE.fullmatch(setting.text)
    kind, _, path = setting.text.partition(":")
    if inline is not None:
        return Maps(True, targets=_once(_inline(inline[1], setting.place)))
    if kind in _KINDS and _is_file(Path(path)):
        return Maps(True, kind, path, _once(_entries(Path(path))))
    return Maps(True)


def _inline(text: str, place: str) -> Iterator[tuple[str, Value]]:
    for braced, bare in _ENTRY.findall(text):
        key, _, target = (braced or bare).partition("=")
        yield key.strip(), Value(target.strip(), place)


def _entries(path: Path) -> Iterator[tuple[str, Value]]:
    for line, content in lines(read_text(path, "transport map")):
        key, _, target = content.replace("\t", " ").partition(" ")
        yield key, Value(target.strip(), f"{path}:{line}")


def _once(entries: Iterator[tuple[str, Value]]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, target in entries:
        domain = key.lower()
        if domain in found:
            raise InputError(f"{target.place}: {domain[:60]} again, as at {found[domain].place}")
        found[domain] = target
    return found


def limits(files: Files, known: Maps) -> tuple[list[dict[str, Any]], list[str]]:
    """The limits of domains that have their own transport, and what the model lacks of them.

    Raises:
        InputError: a domain is none, or a limit.
    """
    tables: list[dict[str, Any]] = []
    lacking: dict[str, None] = {}
    if known.is_set and not known.targets and (setting := files.raw("transport_maps")):
        lacking[setting.said("transport_maps")] = None
    for domain, target in known.targets.items():
        transport = known.transport(domain)
        if transport in (SMTP, ""):
            continue
        service = files.services.get(transport)
        whole = "@" not in domain and not domain.startswith((".", "*", "["))
        if service is None or service.program != SMTP or not whole:
            lacking[f"{target.place}: transport_maps: {domain} {target.text}"] = None
            continue
        if not is_domain(domain):
            raise InputError(f"{target.place}: {domain[:60]!r}, expected a domain")
        tables.append({"name": domain, **_own(files, transport)})
        lacking |= dict.fromkeys(_lacking(files, transport, len(known.domains(transport)) > 1))
    return tables, [*lacking]


def _own(files: Files, transport: str) -> dict[str, int]:
    """The limits of a transport. With a delay to each destination it has one delivery at a time."""
    concurrency = f"{transport}_destination_concurrency_limit"
    most = number(concurrency, files.found(concurrency)) or UNLIMITED
    for_recipients = _recipients(files, transport) == 1
    # The limit of a destination is then that of a recipient, and so is its delay.
    own = {"sessions": min(UNLIMITED if for_recipients else most, files.processes(transport))}
    for delay, seconds in _delays(files, transport):
        for_destinations = delay.endswith(_OF_DESTINATIONS)
        if not seconds or (for_destinations and for_recipients):
            continue
        if for_destinations:
            own["sessions"] = 1
        if _MINUTE_S % seconds == 0:
            own["per_minute"] = min(_MINUTE_S // seconds, own.get("per_minute", _MINUTE_S))
    return own


def _lacking(files: Files, transport: str, is_shared: bool) -> Iterator[str]:
    """What the model lacks of a transport."""
    for delay, seconds in _delays(files, transport):
        said = files.found(delay).said(delay)
        if seconds and delay.endswith(_OF_DESTINATIONS) and _recipients(files, transport) == 1:
            yield f"{said}: for each recipient"
        elif seconds and _MINUTE_S % seconds:
            yield f"{said}: no whole number a minute"
        elif seconds and is_shared and not delay.endswith(_OF_DESTINATIONS):
            yield f"{said}: taken for each of its domains"
    recipients = f"{transport}_destination_recipient_limit"
    if _recipients(files, transport) != _recipients(files, SMTP):
        yield files.found(recipients).said(recipients)
    initial = f"{transport}_initial_destination_concurrency"
    if files.found(initial).text != files.found(f"{SMTP}_initial_destination_concurrency").text:
        yield files.found(initial).said(initial)
    of_smtp = {name: value.text for name, value in files.services[SMTP].overrides.items()}
    for name, value in files.services[transport].overrides.items():
        if of_smtp.get(name) != value.text:
            yield value.said(f"{transport}: -o {name}")


def _delays(files: Files, transport: str) -> Iterator[tuple[str, int]]:
    for kind in ("destination", "transport"):
        name = f"{transport}_{kind}_rate_delay"
        yield name, time_s(name, files.found(name), "s")


def _recipients(files: Files, transport: str) -> int:
    name = f"{transport}_destination_recipient_limit"
    return number(name, files.found(name))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # Its name is too long for one.
        return False
