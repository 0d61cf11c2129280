"""The internet that a plan is made for: learnt from logs, listed in a file, or a preset."""

import csv
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sojourn._core import StudyError
from sojourn._internal import registry
from sojourn._internal.errors import InputError
from sojourn._internal.files import read_text, write_text
from sojourn._internal.formats import toml_value
from sojourn.execution import inputs
from sojourn.mail.fit import Fitted
from sojourn.mail.mailer.setting import Providers
from sojourn.mail.plan import rules

_FILE = "internet.csv"
_ORDER = "order.txt"
_SEED = 1
_LISTED = "listed"
_PROVIDER = "provider"
# Where an internet's file is wrong, by the message of a study that names it.
_WRONG = re.compile(r"but in its (?:lines?|first line) ?(\d*): (.*)", re.DOTALL)


@dataclass(frozen=True)
class World:
    """An internet.

    Attributes:
        table: as a study has it under `internet`.
        subscribers: of the list.
        unknown_domains: how many of the list's domains nothing was known of.
        listed: whether a file has its hosts; those of a preset are drawn in each replication.
        limits: what providers of the file allow.
        providers: the domains of each provider.
        notes: what the logs do not tell of limits, a sentence each.
    """

    table: str
    subscribers: int
    unknown_domains: int = 0
    listed: bool = False
    limits: tuple[rules.Rule, ...] = ()
    providers: Providers = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def presets() -> list[str]:
    """The internets that have a name."""
    return [
        name for name in (entry["name"] for entry in registry.topic("internets")) if name != _LISTED
    ]


def preset(name: str, addresses: Sequence[str] | None) -> World:
    """An internet by its name, with as many subscribers and domains as a list has."""
    if addresses is None:
        raise InputError(f"{name}: a preset knows no subscribers; name them with --list")
    domains = len({_domain(address) for address in addresses})
    table = {"kind": name, "subscribers": len(addresses), "domains": domains}
    return World(toml_value(table), len(addresses))


def listed(path: Path) -> bool:
    """Whether a file is an internet as `sojourn mail fit` writes it."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            told = (line for line in file if line.strip() and not line.startswith("#"))
            return "subscribers" in next(csv.reader(told, skipinitialspace=True), ())
    except (OSError, csv.Error):
        return False


def learnt(fitted: Fitted, addresses: Sequence[str] | None, folder: Path) -> World:
    """An internet learnt from logs, written to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    fitted.write(folder / _FILE)
    return replace(from_file(folder / _FILE, addresses, folder), notes=tuple(fitted.notes))


def from_file(path: Path, addresses: Sequence[str] | None, folder: Path) -> World:
    """An internet that a file lists, with a list's subscribers in their order, put in a folder.

    A domain that the file does not have is like one of those it has, drawn at random: each as
    likely as another. It has a host alone, unless several domains of the file share the provider.

    Raises:
        InputError: the file cannot be read, or a line is no domain.
    """
    text = read_text(path, "internet")
    told = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    rows = [*csv.DictReader(told, skipinitialspace=True)]
    if not rows or "domain" not in rows[0]:
        raise InputError(f"{path}: no domains in it, expected what sojourn mail fit writes")
    _check(path)
    shared = Counter(row.get(_PROVIDER) for row in rows)
    if addresses is None:
        number = sum(int(row["subscribers"]) for row in rows)
        unknown_domains = 0
    else:
        counts = Counter(_domain(address) for address in addresses)
        known = {row["domain"]: row for row in rows}
        stream = np.random.default_rng(_SEED)
        unknown_domains = len(counts.keys() - known.keys())
        alone = {_PROVIDER: ""} if _PROVIDER in rows[0] else {}
        unlisted = [row if shared[row.get(_PROVIDER)] > 1 else row | alone for row in rows]
        rows = [
            {**known.get(name, unlisted[stream.integers(len(rows))]), "domain": name}
            | {"subscribers": str(count)}
            for name, count in sorted(counts.items())
        ]
        number = len(addresses)
    folder.mkdir(parents=True, exist_ok=True)
    names = list(rows[0])
    lines = [",".join(names), *(",".join(row[name] or "" for name in names) for row in rows)]
    write_text(folder / _FILE, "# sojourn mail plan\n" + "\n".join(lines) + "\n")
    table = {"kind": _LISTED, "file": _FILE}
    if addresses is not None:
        write_text(folder / _ORDER, "".join(f"{_domain(address)}\n" for address in addresses))
        table["order"] = _ORDER
    return World(
        toml_value(table),
        number,
        unknown_domains,
        listed=True,
        limits=_limits(rows),
        providers=_providers(rows),
    )


def _check(path: Path) -> None:
    """Refuse what a study could not read.

    Raises:
        InputError: a line is no domain.
    """
    burst = {"messages": 1, "arrivals": {"kind": "regular", "every": "0s"}}
    internet = {"kind": _LISTED, "file": str(path.resolve())}
    try:
        study = f'model = "mail"\nlist = {toml_value(burst)}\ninternet = {toml_value(internet)}\n'
        inputs.study(study, str(path), [])
    except StudyError as error:
        if (wrong := _WRONG.search(str(error))) is None:
            raise
        line, why = wrong.groups()
        raise InputError(f"{path}:{line}: {why}" if line else f"{path}: {why}") from None


def _limits(rows: Sequence[Mapping[str, str]]) -> tuple[rules.Rule, ...]:
    """The limits of providers that rows have, each once."""
    found = (
        rules.Rule(row[_PROVIDER].lower(), limit, int(row[limit]), _PROVIDER)
        for row in rows
        if row.get(_PROVIDER)
        for limit in ("sessions", "per_minute")
        if (row.get(limit) or "").isdecimal() and int(row[limit])
    )
    return tuple(dict.fromkeys(found))


def _providers(rows: Sequence[Mapping[str, str]]) -> Providers:
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.get(_PROVIDER):
            found.setdefault(row[_PROVIDER].lower(), []).append(row["domain"])
    return found


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()
