"""The run directory: what lies where, and who may write it.

`study.toml` (as resolved), `meta.json`, `cases.parquet` (the ledger), `rows/*.parquet` (one file
a case and replication), and likewise `series/*.parquet` where stations were looked at,
`averages/*.parquet` where there are long flows (`analysis.fairness`), `pauses/*.parquet` where
ports stopped others, and `trace/*.parquet` where a flow was traced, with its packets in
`trace/*.pcapng`. Tables of flows that a study names or has drawn are in `flows/*.parquet`, Python
code that it names in `code/*.py`. While an estimate is under way, `links/*.parquet` hold those of
its links that are done. Every file is written under a temporary name and renamed, so what is there
is whole; a case is finished when its rows and its record are both there.
"""

import fcntl
import json
import os
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeAlias

from sojourn._internal.errors import RunDirectoryError, reason
from sojourn._internal.files import write_text
from sojourn.store import rows
from sojourn.store.flow_tables import SHOWN
from sojourn.store.ledger import Ledger

_INPUTS = {"flows": "*.parquet", "code": "*.py"}
SERIES, AVERAGES, PAUSES, TRACE = "series", "averages", "pauses", "trace"
_BESIDE = (SERIES, AVERAGES, PAUSES, TRACE)
_FOLDERS = ("rows", *_BESIDE, "links", *_INPUTS)
Difference: TypeAlias = tuple[str, object, object]
# what all parts of a run have in common, beside the study
_SAME = {"version": "the version of sojourn", "measured": "what was measured"}


@dataclass(frozen=True)
class RunDirectory:
    """Paths of a run, and the two ways to open one: to write it and to read it."""

    path: Path

    @property
    def study(self) -> Path:
        """The study as resolved."""
        return self.path / "study.toml"

    @property
    def meta(self) -> Path:
        """Version, commit, seed, command and machine."""
        return self.path / "meta.json"

    @property
    def cases(self) -> Path:
        """The ledger."""
        return self.path / "cases.parquet"

    def rows(self, case: int, replication: int) -> Path:
        """The rows of one case and replication."""
        return self.path / "rows" / _file(case, replication)

    def beside(self, name: str, case: int, replication: int) -> Path:
        """A table beside the rows of one case and replication, such as `SERIES`; if it is there."""
        return self.path / name / _file(case, replication)

    def links(self, case: int, replication: int) -> Path:
        """The finished links of one case and replication of an estimate that is not finished."""
        return self.path / "links" / _file(case, replication)

    def inputs(self) -> list[Path]:
        """The tables of flows and the code that the study needs."""
        return sorted(
            file for name, files in _INPUTS.items() for file in (self.path / name).glob(files)
        )

    def ledger(self) -> Ledger:
        """The records of the cases whose rows are there.

        Raises:
            RunDirectoryError: `cases.parquet` cannot be read.
        """
        if not self.cases.exists():
            return Ledger()
        records = Ledger.read(self.cases)
        return Ledger(r for r in records if self.rows(r.case, r.replication).exists())

    def finished(self) -> Ledger:
        """The records of the cases whose rows are there and whole; the others are to be run.

        Raises:
            RunDirectoryError: `cases.parquet` cannot be read.
        """
        return Ledger(
            r for r in self.ledger() if rows.number(self.rows(r.case, r.replication)) == r.jobs
        )

    def read_study(self) -> str:
        """The study's text.

        Raises:
            RunDirectoryError: this is not a run directory.
        """
        try:
            return self.study.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            what = "no study.toml in it" if self.path.is_dir() else "no such directory"
            what = "but a file" if self.path.is_file() else what
            raise RunDirectoryError(f"{self.path}: not a run directory, {what}") from None
        except UnicodeDecodeError:
            raise RunDirectoryError(f"{self.study}: not UTF-8 text") from None

    def read_meta(self) -> dict[str, object]:
        """The contents of `meta.json`.

        Raises:
            RunDirectoryError: it is missing or not JSON.
        """
        try:
            meta = json.loads(self.meta.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunDirectoryError(
                f"{self.path}: not a run directory, no meta.json in it"
            ) from None
        except ValueError:
            raise RunDirectoryError(f"{self.meta}: not JSON") from None
        if not isinstance(meta, dict):
            raise RunDirectoryError(f"{self.meta}: expected an object")
        return meta

    @contextmanager
    def writing(self, study: str) -> Iterator[None]:
        """Own the directory for a run of this study; make it where there is none.

        Of a run that is refused before anything is kept of it, nothing is left.

        Raises:
            RunDirectoryError: it cannot be written, holds something else or another study, or
                another process is writing it.
        """
        made = not self.path.exists()
        try:
            self._refuse_other_things()
            self.path.joinpath("rows").mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise RunDirectoryError(f"cannot write there: {reason(error)}") from None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunDirectoryError(f"{self.path}: another run is writing there") from None
            begun = not self.study.exists()
            self.expect(study)
            _write(self.study, study)
            try:
                yield
            except (OSError, ValueError):  # reported in one line
                if begun:
                    self._remove(and_itself=made)
                raise
        finally:
            os.close(lock)

    def _remove(self, *, and_itself: bool) -> None:
        """Remove a run of which nothing was kept; what is not its own stays."""
        folders = [self.path.joinpath(name) for name in _FOLDERS]
        there = [folder for folder in folders if folder.exists()]
        results = [folder for folder in there if folder.name not in _INPUTS]
        if self.cases.exists() or any(any(folder.iterdir()) for folder in results):
            return
        for file in self.inputs():
            file.unlink()
        for folder in there:
            with suppress(OSError):  # something else lies there by now
                folder.rmdir()
        for file in (self.study, self.meta):
            file.unlink(missing_ok=True)
        if and_itself:
            with suppress(OSError):  # another file may lie there by now
                self.path.rmdir()

    def sign(self, meta: Mapping[str, object], *, finished: bool) -> None:
        """Say in `meta.json` who runs the rest; a finished run keeps the name of its maker.

        Raises:
            RunDirectoryError: another version made what is there, or it was measured and this is
                not, or it cannot be written.
        """
        if self.meta.exists():
            there = self.read_meta()
            for key, what in _SAME.items():
                if there.get(key) != meta.get(key):
                    self._refuse(what, there.get(key), meta.get(key))
            if finished:
                return
            earlier = there.get("earlier_commits")
            commits = [*(earlier if isinstance(earlier, list) else []), there.get("commit")]
            meta = {**meta, "earlier_commits": [c for c in commits if c != meta["commit"]]}
        _write(self.meta, json.dumps(meta, indent=2) + "\n")

    def _refuse_other_things(self) -> None:
        if not self.path.exists() or self.study.exists():
            return
        if not self.path.is_dir():
            raise RunDirectoryError(f"{self.path}: not a directory; choose another --out")
        # A run writes its study first: without one, its folders of inputs are the user's.
        others = [
            entry.name
            for entry in self.path.iterdir()
            if not (entry.name in _FOLDERS or entry.name.endswith(".partial"))
            or (entry.name in _INPUTS and not (entry.is_dir() and not any(entry.iterdir())))
        ]
        if others:
            raise RunDirectoryError(
                f"{self.path}: holds other files ({min(others)!r}) and no run; choose another --out"
            )

    def holds(self, study: str) -> bool:
        """Whether the study of this resolved text is run here.

        Raises:
            RunDirectoryError: what is here cannot be read.
        """
        return self.study.exists() and self._differing(study) is None

    def expect(self, study: str) -> None:
        """Check that nothing else is here than a run of the study of this resolved text.

        Raises:
            RunDirectoryError: something is, or it cannot be read.
        """
        self._refuse_other_things()
        if self.study.exists() and (differing := self._differing(study)) is not None:
            self._refuse(*differing)

    def _differing(self, study: str) -> Difference | None:
        try:
            there = tomllib.loads(self.read_study())
        except tomllib.TOMLDecodeError as error:
            raise RunDirectoryError(f"{self.study}: not TOML ({error})") from None
        here = tomllib.loads(study)
        for thresholds in (there, here):
            thresholds.pop("expect", None)  # no row depends on it
        return first_difference(there, here)

    def _refuse(self, what: str, there: object, here: object) -> NoReturn:
        kept, other = str(there), str(here)
        if _is_code(kept) and _is_code(other) and as_named(kept) == as_named(other):
            raise RunDirectoryError(
                f"{self.path}: was started with another version of the code, which is kept in"
                f" {self.path / kept}; `sojourn run {shlex.quote(str(self.study))} --out"
                f" {shlex.quote(str(self.path))}` continues with that, another --out starts a new"
                " run"
            )
        raise RunDirectoryError(
            f"{self.path}: holds another run: {what} is {_shown(there)} there and {_shown(here)}"
            " here; choose another --out"
        )


_CODE = Path("code")


def code_name(stem: str, sha256: str) -> str:
    """The name in a run directory of a file of code that is called `stem`."""
    return f"{_CODE}/{stem}-{sha256[:SHOWN]}.py"


def _is_code(setting: object) -> bool:
    return isinstance(setting, str) and Path(setting).parent == _CODE


def as_named(kept: str) -> str:
    """The name that a file of code had when a run kept it as `kept`."""
    return f"{Path(kept).stem[: -SHOWN - 1]}.py"


def first_difference(there: object, here: object, path: str = "") -> Difference | None:
    """The first setting in which two studies differ, with its two values; None where they agree."""
    inside: Iterable[tuple[str, object, object]] = ()
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        begin = f"{path}." if path else ""
        inside = ((f"{begin}{key}", there.get(key), here.get(key)) for key in {**there, **here})
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        inside = (
            (f"{path}[{place}]", *both)
            for place, both in enumerate(zip(there, here, strict=True))
            if all(isinstance(one, Mapping) or _is_code(one) for one in both)
        )
    elif there != here:
        return path, there, here
    deeper = (first_difference(old, new, key) for key, old, new in inside)
    found = next((difference for difference in deeper if difference), None)
    return found if found or there == here or isinstance(there, Mapping) else (path, there, here)


def _file(case: int, replication: int) -> str:
    return f"case{case:04}-replication{replication:03}.parquet"


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise RunDirectoryError(f"cannot write there: {reason(error)}") from None


def _shown(value: object) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False, default=str)
