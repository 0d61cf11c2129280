"""From a study's text to a finished run directory."""

import platform
import sys
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sojourn._core import Case, Study, quantity
from sojourn._internal import build, classes
from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.files import decoded, read_text
from sojourn._internal.vocabulary import jobs_of, models
from sojourn.analysis.run_length import FEWEST_REPLICATIONS, Queue
from sojourn.execution import inputs, learnt_range
from sojourn.execution.execute import Place, Task, execute, processors, unfinished
from sojourn.execution.place import Execution
from sojourn.execution.progress import reporter
from sojourn.store.flow_tables import Table
from sojourn.store.ledger import Ledger
from sojourn.store.run_directory import RunDirectory

if TYPE_CHECKING:
    from sojourn.analysis.precision import Precision

_MOST_TIMES = 1_000_000
_HERE = Execution()
# Replications that are thrown away are numbered beyond all others.
_PILOTS = 1_000_000


BUNDLED = Path(__file__).parents[1] / "papers"
"""The studies that come with the package, in a folder for each paper, beside its claims."""

STANDARD_INPUT = Path("-")
_NO_STUDIES = {"paper.toml", "claims.toml"}


def bundled() -> dict[str, Path]:
    """The studies that come with the package, by name: `@pfabric/websearch-quick`."""
    return {
        f"@{path.parent.name}/{path.stem}": path
        for path in sorted(BUNDLED.glob("*/*.toml"))
        if path.name not in _NO_STUDIES
    }


def title(path: Path) -> str:
    """What a study calls itself."""
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))


def titles() -> list[dict[str, str]]:
    """The studies that come with the package: `name`, `title` and `path`."""
    return [
        {"name": name, "title": title(path), "path": str(path)} for name, path in bundled().items()
    ]


def find(given: str) -> Path:
    """The file of a study: `@PAPER/NAME` is one that comes with the package.

    Raises:
        InputError: there is no such study.
    """
    if not given.startswith("@"):
        return Path(given)
    there = bundled()
    if given not in there:
        other = "; `sojourn list studies` names them all"
        raise InputError(f"no study {given!r}{did_you_mean(given, there, otherwise=other)}")
    return there[given]


def read(path: Path) -> str:
    """The text of a study file, or of standard input where the path is `-`.

    Raises:
        InputError: it cannot be read, or is not text.
    """
    if path == STANDARD_INPUT:
        return decoded(sys.stdin.buffer, "standard input", "study")
    return read_text(path, "study")


def source_of(path: Path) -> str:
    """What messages call a study's file."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def name_of(path: Path) -> str:
    """What the run directory of a study is called, where nothing else was asked for."""
    if path == STANDARD_INPUT:
        return "stdin"
    # The study of a run directory, as its table names it, is called as the directory is.
    own = path.name == "study.toml" and (path.parent / "meta.json").exists()
    return path.resolve().parent.name if own else path.stem


def parse(
    text: str,
    source: str,
    overrides: Sequence[tuple[str, str]],
    *,
    seed: int | None,
    replications: int | None,
    tables: Mapping[str, Table] = inputs.NO_TABLES,
) -> Study:
    """Check a study; `seed` and `replications` go before its own and before the overrides.

    `tables` are flows that are in no file yet, by the names that the study has for them.

    Raises:
        StudyError: it cannot be run as written.
    """
    given = {"run.seed": seed, "run.replications": replications}
    more = [(path, str(value)) for path, value in given.items() if value is not None]
    study = inputs.study(text, source, [*overrides, *more], tables)
    inputs.warn(study.hints)
    return study


def longer(study: Study, times: float) -> list[tuple[str, str]]:
    """The overrides that make the runs of a study so many times as long.

    Raises:
        InputError: `times` is no such number, or the study does not say how many jobs there are, or
            sweeps it, or replays a trace to its end.
    """
    if not 1 <= times <= _MOST_TIMES:
        expected = f"a number from 1 to {_MOST_TIMES:,}, such as 3.2"
        raise InputError(f"--more {times:g}: expected {expected}")
    parameters = study.cases()[0].parameters
    found = [path for path in models()[study.model].lengths if path in parameters]
    if not found:
        raise InputError("--more: the study has no number of jobs or window that could be larger")
    for path in found:
        if len({case.parameters[path] for case in study.cases()}) > 1:
            raise InputError(f"--more: {path} is swept; expected one number of jobs")
        if parameters[path] in {None, "none"}:
            raise InputError("--more: the trace is replayed to its end, and cannot be longer")
    return [(path, _longer(parameters[path], times)) for path in found]


def _longer(length: object, times: float) -> str:
    """A number of jobs, or a time to measure for, so many times as long."""
    if isinstance(length, str):
        return f"{ceil(quantity(length) * times)}ps"
    return str(ceil(float(str(length)) * times))


def fresh_seed(study: Study, times: float) -> int:
    """A seed whose runs have nothing in common with the study's own."""
    return study.seed ^ zlib.crc32(f"more {times!r}".encode())


def runs_plainly(case: Case) -> bool:
    """Whether a case calls code of Python that is not compiled while it runs."""
    return not all(own["compiled"] for own in classes.of_case(case.parameters).values())


def simulate(
    study: Study,
    directory: RunDirectory,
    *,
    command: str,
    execution: Execution = _HERE,
    precision: "Precision | None" = None,
) -> int:
    """Run what the directory does not hold of a study yet, with progress on a terminal.

    With a precision, cases get more replications than the study's until they are known that well.

    Returns:
        How many cases were run, replications counted.

    Raises:
        InputError: there is no cluster; the directory cannot be written or holds something else; a
            list of service times does not say clearly what it was learnt from.
        StudyError: a case turned out to be impossible.
        Interrupted: Ctrl-C; finished cases are kept.
    """
    learnt_range.check(study.cases())
    apart = any(map(runs_plainly, study.cases()))
    where = execution.place(study.resolved(), apart=apart)
    meta = meta_of(study, command)
    directory.expect(study.resolved())
    wanted = _wanted(study, precision, where) if precision else None
    with directory.writing(study.resolved()):
        ledger = directory.finished()
        tasks = unfinished(study, ledger, wanted)
        directory.sign(meta, finished=not tasks)
        _execute(study, tasks, ledger, directory, where)
    return len(tasks)


def _wanted(study: Study, asked: "Precision", where: Place) -> dict[int, int]:
    """How many replications each case is to have, to be known as well as is asked.

    Settled before they run, and without a look at what has run before: computed where the model
    knows how long its runs are; elsewhere by separate replications that are thrown away.
    """
    from sojourn.analysis.precision import by_pilots, computed

    wanted: dict[int, int] = {}
    pilots = []
    for case in study.cases():
        queue = Queue.of([case.known([])])
        if queue and queue.decides:
            wanted[case.index] = max(study.replications, computed(asked, queue, case.jobs))
        else:
            pilots.append(case)
    with TemporaryDirectory() as thrown_away:
        apart, records = RunDirectory(Path(thrown_away)), Ledger()
        numbers = range(_PILOTS, _PILOTS + FEWEST_REPLICATIONS)
        tasks = [Task(case, n) for n in numbers for case in pilots]
        with apart.writing(study.resolved()):  # a process with a case reads the study there
            _execute(study, tasks, records, apart, where)
        for index, number in by_pilots(asked, apart, records).items():
            wanted[index] = max(study.replications, number)
    return {index: min(number, asked.most) for index, number in wanted.items()}


def _execute(
    study: Study, tasks: list[Task], ledger: Ledger, directory: RunDirectory, where: Place
) -> None:
    if tasks:
        inputs.provide(study, ((task.case, task.replication) for task in tasks), directory.path)
        with reporter(jobs_of(study.model)) as observer:
            execute(tasks, ledger, directory, place=where, observer=observer)


def meta_of(study: Study, command: str) -> dict[str, object]:
    """What `meta.json` says of a run that begins now."""
    return {
        "version": build.version(),
        "commit": build.commit(),
        "build": build.identity(),
        "earlier_commits": [],
        "seed": study.seed,
        "command": command,
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "processors": processors(),
            "python": platform.python_version(),
            **_compiler(study),
        },
    }


def _compiler(study: Study) -> dict[str, str]:
    """The version of what compiles the study's Python code, if any is compiled."""
    own = (one for case in study.cases() for one in classes.of_case(case.parameters).values())
    if not any(one["compiled"] for one in own):
        return {}
    from importlib.metadata import version

    return {"numba": version("numba")}


def _processor() -> str:
    """The processor's name where the system tells it, its architecture elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
