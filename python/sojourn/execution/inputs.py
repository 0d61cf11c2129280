"""What a study needs beside its text: its files are read here, and its functions called.

The compiled half opens nothing. It says what a study needs, and is handed that: see `parse`.
"""

import hashlib
import json
import os
import stat
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar

from sojourn._core import Call, Case, FileNeed, Progress, Resource, Study
from sojourn._internal.errors import Hint, InputError, reason
from sojourn._internal.files import whole
from sojourn.execution import flow_functions
from sojourn.htsim import fabric, topology_file
from sojourn.store import flow_tables
from sojourn.store.run_directory import as_named, code_name

_SMALL = 1 << 20
"""The most bytes of a text that is held in memory; a larger one holds a file descriptor instead."""

_CLASSES = {"transport": "Control", "queue": "Queue"}

Resources = dict[str, Resource]
NO_TABLES: Mapping[str, flow_tables.Table] = MappingProxyType({})
P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)


class Kind(Protocol[P_co]):
    """What is read with resources: a study, a plan, an estimate."""

    def needs(
        self,
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> list[FileNeed | Call]:
        """What is missing."""

    def parse(
        self,
        text: str,
        source: str,
        overrides: list[tuple[str, str]],
        resources: Mapping[str, Resource] = ...,
    ) -> P_co:
        """What is read."""


def parse(
    kind: Kind[P],
    text: str,
    source: str,
    overrides: Sequence[tuple[str, str]],
    tables: Mapping[str, flow_tables.Table] = NO_TABLES,
) -> P:
    """Read a study, plan or estimate with the files that it names, seen from the place of `source`.

    Args:
        kind: which of them.
        text: what it says, as TOML.
        source: where it is, for messages.
        overrides: what goes over it.
        tables: flows that are in no file yet, by the names that the text has for them.

    Raises:
        StudyError: it cannot be run as written.
    """
    resources: Resources = {}
    base, over = Path(source).parent, list(overrides)
    source = os.fsencode(source).decode(errors="replace")
    # Calls of functions are known when the files with these are.
    while missing := kind.needs(text, source, over, resources):
        for need in missing:
            resources[need.id] = (
                _drawn(need, resources)
                if isinstance(need, Call)
                else _held(need, tables[need.name])
                if need.part == ("workload", "table") and need.name in tables
                else _read(need, base)
            )
    return kind.parse(text, source, over, resources)


def study(
    text: str,
    source: str,
    overrides: Sequence[tuple[str, str]],
    tables: Mapping[str, flow_tables.Table] = NO_TABLES,
) -> Study:
    """Read a study with the files that it names; see `parse`.

    Raises:
        StudyError: it cannot be run as written.
    """
    return parse(Study, text, source, overrides, tables)


def warn(hints: Sequence[str]) -> None:
    """Say what the author of a study that can be run should know, where the package was called."""
    frame, level = sys._getframe(), 1
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("sojourn."):
        frame, level = frame.f_back, level + 1
    for hint in hints:
        warnings.warn(hint, Hint, stacklevel=level)


class Origin(Protocol):
    """Where something came from that a run keeps."""

    def keep(self, directory: Path) -> None:
        """See to it that it is in a run directory.

        Raises:
            InputError: it is not what it was.
            OSError: it cannot be written.
        """


@dataclass(frozen=True)
class Copied:
    """A file that a run keeps as `name`."""

    path: Path
    name: str
    sha256: str

    def keep(self, directory: Path) -> None:
        """Copy it, if it is not there yet."""
        into = directory / self.name
        try:
            flow_tables.copy(str(self.path), self.sha256, str(into))
        except InputError as error:
            raise InputError(f"cannot keep {self.path} as {into}: {error}") from None


@dataclass(frozen=True)
class Packed:
    """A table that was in no file, as Parquet; a run keeps it as `name`."""

    octets: bytes
    name: str

    def keep(self, directory: Path) -> None:
        """Write it, if it is not there yet."""
        into = directory / self.name
        if not into.exists():
            into.parent.mkdir(exist_ok=True)
            with whole(into) as partial:
                partial.write_bytes(self.octets)


@dataclass(frozen=True)
class Drawn:
    """A table that a function drew."""

    table: flow_tables.Table
    key: str

    def keep(self, directory: Path) -> None:
        """Write it, if it is not there yet."""
        if not flow_tables.has(directory / flow_tables.FOLDER, self.key):
            flow_tables.keep(self.table, directory / flow_tables.FOLDER, self.key)


@dataclass(frozen=True)
class Functions:
    """The functions of a file; none where their tables were drawn before."""

    code: flow_functions.Code | None

    def keep(self, directory: Path) -> None:
        """Keep nothing: a run keeps what they draw."""


def provide(study: Study, runs: Iterable[tuple[Case, int]], directory: Path) -> None:
    """See to it that a run directory has the tables and the code of a study.

    Args:
        study: it was read by `parse`. The tables of the first replication of every case are there
            too, without which it cannot be read again.
        runs: the cases and replications whose tables are drawn, where they are not there yet.
        directory: the run directory.

    Raises:
        StudyError: a table cannot be drawn.
        InputError: a file is not what it was.
        OSError: one cannot be written.
    """
    resources = study.resources
    for resource in resources.values():
        if resource.origin is not None:
            resource.origin.keep(directory)
    for case, replication in runs:
        for call in case.calls(replication):
            if flow_tables.has(directory / flow_tables.FOLDER, call.id):
                continue
            table = _drawn(call, resources)
            if table.origin is None:
                case.run(replication, Progress(), {call.id: table})  # refuses in its own words
            else:
                table.origin.keep(directory)


def tables(case: Case, replication: int, directory: Path) -> Resources:
    """The tables that a replication needs, as they are kept in a run directory."""
    folder = directory / flow_tables.FOLDER
    try:
        return {call.id: _kept(call, folder) for call in case.calls(replication)}
    except InputError as error:
        again = "remove that file, and it is drawn again"
        raise InputError(f"case {case.index}: {folder}: {error}; {again}") from None


def _read(need: FileNeed, base: Path) -> Resource:
    path = (base / need.name).absolute()
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="replace")
        return Resource.unread(shown, "a file to read: its path is not UTF-8")
    settings = {key: value for key, value in need.settings.items() if value != "none"}
    match need.part:
        case ("workload", "table"):
            return _table(path, settings)
        case ("workload", "python"):
            return _functions(path, settings, base)
        case ("transport" | "queue" as part, "python"):
            return _class(path, settings, _CLASSES[part])
        case ("topology", "file") if path.suffix == ".topo":
            return _htsim_topology(path)
        case _:
            return _text(path)


def _text(path: Path) -> Resource:
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            why = "it is a pipe or a device, and is read more than once: save it first"
            return Resource.unread(str(path), f"a file to read: {why}")
        with path.open("rb") as opened:
            data = opened.read(_SMALL + 1)
            if len(data) <= _SMALL:
                return Resource.text(str(path), data)
            return Resource.file(str(path), opened.fileno())
    except OSError as error:
        return Resource.unread(str(path), f"a file to read: {_why(error)}")
    except ValueError:  # a null byte in the name
        return Resource.unread(str(path), "a file to read: no file has such a name")


def _htsim_topology(path: Path) -> Resource:
    """A topology of htsim, as the graph that it describes."""
    if not path.is_file():
        return _text(path)
    try:
        graph = fabric.graph(topology_file.read(path))
    except InputError as error:
        words = str(error).removeprefix(f"{path}: ")
        place = "in its " if words.startswith("line ") else ""
        return Resource.unread(str(path), f"a topology of htsim, but {place}{words}")
    return Resource.text(str(path), json.dumps(graph).encode())


def _table(path: Path, settings: Mapping[str, object]) -> Resource:
    expected = _text_of(settings, "sha256")
    try:
        sha256 = flow_tables.sha256(str(path))
        columns = flow_tables.columns(str(path), expected)
    except InputError as error:
        return Resource.unread(str(path), f"a file to read: {error}")
    name = flow_tables.name(sha256)
    return Resource.table(name, str(path), sha256, columns, Copied(path, name, sha256))


def _held(need: FileNeed, table: flow_tables.Table) -> Resource:
    octets = flow_tables.packed(table)
    sha256 = hashlib.sha256(octets).hexdigest()
    name = flow_tables.name(sha256)
    return Resource.table(
        name, need.name, sha256, flow_tables.handed_over(table), Packed(octets, name)
    )


def _functions(path: Path, settings: Mapping[str, object], base: Path) -> Resource:
    sha256, drawn = _text_of(settings, "sha256"), _text_of(settings, "drawn")
    if drawn is not None:
        folder = str((base / drawn).absolute())
        return Resource.functions(str(path), sha256, folder, Functions(None))
    try:
        code = flow_functions.read(path)
    except InputError as error:
        return Resource.unread(str(path), f"a file to read: {error}")
    if sha256 not in (None, code.sha256):
        changed = f"{path.name} has changed since: its SHA-256 is {code.sha256}, not {sha256}"
        return Resource.unread(str(path), f"a file to read: {changed}")
    return Resource.functions(str(path), code.sha256, None, Functions(code))


def _class(path: Path, settings: Mapping[str, object], base: str) -> Resource:
    expected, name = _text_of(settings, "sha256"), _text_of(settings, "class")
    from sojourn.control.loading import load
    from sojourn.control.runnable import Runnable

    # The copy that a run keeps is called as the file that it was made from.
    is_kept = path.name == Path(code_name(Path(as_named(path.name)).stem, expected or "")).name
    shown = as_named(path.name) if is_kept else _from_here(path)
    try:
        definition = load(str(path), name, shown, base)
        runnable = Runnable(definition)
        if settings.get("compiled") is True:
            runnable.check_available()
    except InputError as error:
        return Resource.unread(shown, f"a class to run: {error}")
    found = definition.sha256
    if expected not in (None, found):
        # It is this very file that has changed, not the one that it was made from.
        now = f"the file as it was, its SHA-256 is {found} and not {expected}"
        return Resource.unread(_from_here(path), now)
    kept = code_name(Path(shown).stem, found)
    return Resource.code(kept, runnable, Copied(path, kept, found))


def _drawn(call: Call, resources: Resources) -> Resource:
    if call.folder is not None:
        return _found(call, Path(call.folder))
    functions = (one.origin for one in resources.values())
    code = next(
        one.code
        for one in functions
        if isinstance(one, Functions) and one.code and str(one.code.path) == call.file
    )
    try:
        table = flow_functions.draw(code, call)
    except InputError as error:
        return Resource.unread(call.file, str(error))
    columns = flow_tables.handed_over(table)
    return Resource.table(call.id, call.file, "", columns, Drawn(table, call.id))


def _found(call: Call, folder: Path) -> Resource:
    """A table that was drawn before, if it is there."""
    try:
        return _kept(call, folder)
    except InputError as error:
        return Resource.unread(str(folder), str(error))


def _kept(call: Call, folder: Path) -> Resource:
    """A table that was drawn before."""
    path = Path(flow_tables.drawn(str(folder), call.id))
    columns = flow_tables.columns(str(path), None)
    sha256 = flow_tables.sha256(str(path))
    kept = Copied(path, f"{flow_tables.FOLDER}/{path.name}", sha256)
    return Resource.table(call.id, str(path), sha256, columns, kept)


def _text_of(settings: Mapping[str, object], key: str) -> str | None:
    value = settings.get(key)
    return value if isinstance(value, str) else None


def _from_here(path: Path) -> str:
    """A path as a user would write it: without the directory of this process, where it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _why(error: OSError) -> str:
    return reason(type(error)(error.errno, error.strerror)) if error.errno else str(error)
