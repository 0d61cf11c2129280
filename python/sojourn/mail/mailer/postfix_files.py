"""Postfix's `main.cf`, `master.cf` and the output of `postconf`, parsed.

Source: postconf(5) and master(5) of Postfix 3.7.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sojourn._internal.errors import InputError
from sojourn._internal.files import read_text
from sojourn.mail.mailer.postfix_settings import NOT_MODELLED, OF_TRANSPORTS, OTHERS, SETTINGS
from sojourn.mail.mailer.setting import UNLIMITED, Value, number

MASTER, MAIN = "master.cf", "main.cf"
SMTP = "smtp"
_QMGR = "qmgr"
_ASSIGNED = re.compile(r"(\w[\w.-]*)\s*=\s*(.*)", re.DOTALL)
_SERVICE = re.compile(r"[^\s#]\S*\s+(?:inet|unix|fifo|pass|unix-dgram)\s")
_EXPANDED = re.compile(r"\$(?:(\w+)|\{(\w+)\}|\((\w+)\))")
# `-o name=value` and `-o { name = value }`.
_OVERRIDE = re.compile(r"-o\s+(?:\{\s*(\w+)\s*=\s*([^}]*?)\s*\}|(\w+)=(\S*))")
_DEEPEST, _LONGEST = 20, 65_536
_MAXPROC, _COMMAND = 6, 7
_DEFAULTS: Mapping[str, str] = {
    **{setting.name: setting.default for setting in SETTINGS},
    **OTHERS,
    **NOT_MODELLED,
    # The old name of `smtp_fallback_relay`, which is still that one's default.
    "fallback_relay": "",
}


@dataclass(frozen=True)
class Service:
    """A line of master.cf.

    Attributes:
        place: where it is.
        fields: its eight fields.
    """

    place: str
    fields: Sequence[str]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.fields[0]

    @property
    def maxproc(self) -> str:
        """How many processes it may have, as it says."""
        return self.fields[_MAXPROC]

    @property
    def program(self) -> str:
        """The program that it starts."""
        return self.fields[_COMMAND].split()[0]

    @property
    def overrides(self) -> dict[str, Value]:
        """The parameters that it sets for itself."""
        matches = _OVERRIDE.finditer(self.fields[_COMMAND])
        pairs = ((it[1] or it[3], it[2] if it[1] else it[4]) for it in matches)
        return {name: Value(value, self.place) for name, value in pairs}

    def with_processes(self, most: int) -> "Service":
        """The line with another `maxproc`."""
        fields = [*self.fields]
        fields[_MAXPROC] = "0" if most >= UNLIMITED else str(most)
        return Service(self.place, fields)

    def with_override(self, name: str, value: str) -> "Service":
        """The line with another value of a parameter that it sets for itself."""

        def other(match: re.Match[str]) -> str:
            return f"-o {name}={value}" if name in (match[1], match[3]) else match[0]

        command = _OVERRIDE.sub(other, self.fields[_COMMAND])
        return Service(self.place, [*self.fields[:_COMMAND], command])

    def called(self, name: str) -> "Service":
        """The line as that of another service."""
        return Service(self.place, [name, *self.fields[1:]])

    def __str__(self) -> str:
        return " ".join(self.fields)


@dataclass
class Files:
    """What the files say.

    Attributes:
        values: the parameters of main.cf.
        services: the services of master.cf that are no listeners.
    """

    values: dict[str, Value] = field(default_factory=dict)
    services: dict[str, Service] = field(
        default_factory=lambda: {SMTP: Service("", [SMTP, "unix", "-", "-", "-", "-", "-", SMTP])}
    )

    def owner(self, name: str) -> Service | None:
        """The service that sets a parameter for itself, if one does whose parameter it is.

        Only what the delivery agent itself reads can be set for it alone: the limits of a
        transport are the queue manager's.
        """
        transport = name.endswith(tuple(OF_TRANSPORTS)) or "_destination_" in name
        owner = self.services.get(SMTP if name.startswith("smtp_") and not transport else _QMGR)
        return owner if owner is not None and name in owner.overrides else None

    def raw(self, name: str) -> Value | None:
        """A parameter as the files have it, or else the one that then holds."""
        owner = self.owner(name)
        if owner is not None:
            return owner.overrides[name]
        known = self.values.get(name)
        if known is not None:
            return known
        for of_transport, default in OF_TRANSPORTS.items():
            if name.endswith(f"_{of_transport}") and name != default:
                return self.raw(default)
        return None

    def value(self, name: str) -> Value | None:
        """A parameter with its `$names` expanded.

        None where no file has it, or it is that of a name that is not known here: Postfix has
        more defaults.

        Raises:
            InputError: it refers to itself, or is too long.
        """
        raw = self.raw(name)
        text = None if raw is None else self._expanded(raw)
        return None if raw is None or text is None else Value(text, raw.place)

    def found(self, name: str) -> Value:
        """A parameter with its `$names` expanded, or its default."""
        of_all = next((all_ for its, all_ in OF_TRANSPORTS.items() if name.endswith(its)), "")
        default = _DEFAULTS.get(name, _DEFAULTS.get(of_all, ""))
        return self.value(name) or Value(default, "")

    def _expanded(self, raw: Value) -> str | None:
        text, left = raw.text, _LONGEST
        for _ in range(_DEEPEST):
            names = [_name(match) for match in _EXPANDED.finditer(text)]
            if not names:
                return text.strip()
            known = {name: self._known(name) for name in names}
            left -= sum(len(known[name] or "") for name in names)
            if None in known.values():
                return None
            if left < 0:
                more = f"expands to over {_LONGEST:,} characters"
                raise InputError(f"{raw.place}: {raw.text[:60]} {more}")
            text = _EXPANDED.sub(partial(_of, known), text)
        raise InputError(f"{raw.place}: {raw.text[:60]} refers to itself")

    def _known(self, name: str) -> str | None:
        value = self.values.get(name)
        return _DEFAULTS.get(name) if value is None else value.text

    def processes(self, name: str) -> int:
        """How many processes a service may have: `maxproc`, or else `default_process_limit`."""
        service = self.services.get(name)
        if service is not None and service.maxproc != "-":
            text = Value(service.maxproc, service.place)
            return number(f"maxproc of {name}", text) or UNLIMITED
        return number("default_process_limit", self.found("default_process_limit")) or UNLIMITED


def is_main(text: str) -> bool:
    """Whether a text is of `main.cf` or `postconf -n`."""
    names = {*_DEFAULTS, "queue_directory", "myhostname", "mydestination", "compatibility_level"}
    return any(line.partition("=")[0].strip() in names for line in text.splitlines())


def is_master(text: str) -> bool:
    """Whether a text is of `master.cf` or `postconf -M`."""
    return any(_SERVICE.match(line) for line in text.splitlines())


def parsed(paths: Sequence[Path]) -> Files:
    """What files say.

    Raises:
        InputError: a file cannot be read, or has something else.
    """
    files = Files()
    for path in paths:
        text = read_text(path, "settings of Postfix")
        if is_master(text):
            _master(path, text, files)
        else:
            _main(path, text, files)
    return files


def _main(path: Path, text: str, files: Files) -> None:
    # Where the other files usually are.
    files.values.setdefault("config_directory", Value(str(path.parent), str(path)))
    for line, content in lines(text):
        found = _ASSIGNED.fullmatch(content)
        if found is None:
            raise InputError(f"{path}:{line}: {content[:60]!r}, expected name = value")
        # The last one holds.
        files.values[found[1]] = Value(found[2].strip(), f"{path}:{line}")


def _master(path: Path, text: str, files: Files) -> None:
    for line, content in lines(text):
        place = f"{path}:{line}"
        fields = content.split(maxsplit=_COMMAND)
        if len(fields) <= _COMMAND:
            expected = f"expected the {_COMMAND + 1} of a service"
            raise InputError(f"{place}: {content[:60]!r} has {len(fields)} fields, {expected}")
        maxproc = fields[_MAXPROC]
        if maxproc != "-" and not maxproc.isdecimal():
            raise InputError(f"{place}: maxproc = {maxproc[:60]}, expected a whole number or -")
        if fields[1] != "inet":
            files.services[fields[0]] = Service(place, fields)


def _name(match: re.Match[str]) -> str:
    return match[1] or match[2] or match[3]


def _of(known: Mapping[str, str | None], match: re.Match[str]) -> str:
    return known[_name(match)] or ""


def lines(text: str) -> Iterator[tuple[int, str]]:
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
