"""Run, sweep and open studies from Python."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, TypeVar
from weakref import finalize

import numpy as np

from sojourn._core import Study, StudyError
from sojourn._internal import trust
from sojourn._internal.errors import InputError, Interrupted
from sojourn._internal.formats import toml_lines, toml_value
from sojourn.analysis.precision import Precision, judge
from sojourn.api.handles import Run
from sojourn.execution import studies
from sojourn.execution.flows import handed_over
from sojourn.execution.place import Execution
from sojourn.store.run_directory import RunDirectory

Parsed = TypeVar("Parsed")


def run(
    study: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    replications: int | None = None,
    precision: str | Precision | None = None,
    jobs: int | None = None,
    threads: int = 1,
    overrides: Mapping[str, object] | None = None,
    flows: object = None,
    trust_code: bool = False,
) -> Run:
    """Run the cases of a study that are not finished yet.

    Args:
        study: the path of a study file, the name of one that comes with sojourn
            (`@pfabric/websearch-quick`), TOML text of more than one line, or nested dictionaries.
        out: the run directory; finished cases there do not run again. Without it, the run is in a
            temporary directory, which is deleted with the `Run`.
        seed: the seed, instead of the study's.
        replications: the number of replications, instead of the study's.
        precision: add replications until the means of each case are known to this precision, such
            as `"5%"`. A `Precision` asks for a percentile, or sets the maximum number of
            replications. A warning names the cases that do not reach it.
        jobs: cases that run at a time; by default as many as processors.
        threads: threads per case of a fabric; the rows are the same.
        overrides: values that override the study, by dotted path: `{"workload.load": 0.7}`.
        flows: a table that replaces the study's workload, with the columns of a CSV file of flows:
            from pandas, Arrow, or a dictionary of NumPy arrays. Times are texts with a unit, or
            numbers in columns such as `arrival_s` and `arrival_ns`. A warning names columns that
            flows do not have. The run directory keeps the table.
        trust_code: run Python code from the run directory of another user.

    Returns:
        The finished run.

    Raises:
        StudyError: the study cannot be run as written.
        InputError: a file is missing, `flows` is no table, code belongs to another user's run, or
            `out` cannot be written or holds something else.
        Interrupted: Ctrl-C; the same call resumes.

    Example:
        >>> run = sojourn.run(study, overrides={"workload.load": 0.3}, seed=7)
        >>> run.rows.num_rows
        400
    """
    text, source = text_of(study)
    if not isinstance(precision, Precision | None):
        precision = Precision.read(str(precision))
    with (
        trust.answering(trust.always if trust_code else trust.never),
        nullcontext() if flows is None else handed_over(flows) as workload,
    ):
        given = {"workload": workload, **(overrides or {})} if workload else overrides
        try:
            parsed = overridden(
                lambda pairs: studies.parse(
                    text, source, pairs, seed=seed, replications=replications
                ),
                given,
            )
        except StudyError as error:
            raise StudyError(_of_flows(str(error), workload)) from None
        return _run(parsed, out, precision, Execution(jobs, threads))


def _of_flows(message: str, workload: Mapping[str, object] | None) -> str:
    """A message about flows that were handed over, without the file that they were put into."""
    if not workload or str(workload["file"]) not in message:
        return message
    return f"flows, expected {message.partition(', expected ')[2]}"


def _run(
    parsed: Study,
    out: str | Path | None,
    precision: Precision | None,
    execution: Execution,
) -> Run:
    """Run a study in the directory `out`, or in one that the `Run` holds."""
    if out is not None:
        return _simulated(parsed, Path(out), precision, execution)
    path = Path(mkdtemp(prefix="sojourn-"))
    try:
        finished = _simulated(parsed, path, precision, execution)
    except BaseException as error:
        rmtree(path, ignore_errors=True)
        if isinstance(error, Interrupted):
            raise Interrupted("interrupted; a run without `out` keeps nothing") from None
        raise
    finalize(finished, rmtree, path, ignore_errors=True)
    return finished


def sweep(
    study: str | Path | Mapping[str, Any],
    axes: Mapping[str, Sequence[object]],
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    replications: int | None = None,
    precision: str | Precision | None = None,
    jobs: int | None = None,
    threads: int = 1,
    overrides: Mapping[str, object] | None = None,
    flows: object = None,
    trust_code: bool = False,
) -> Run:
    """Run a study with several values of some parameters: a case for each combination.

    Args:
        study: as in `run`.
        axes: lists of values by dotted path, `{"workload.load": [0.2, 0.5, 0.8]}`; the last
            changes fastest. Other parameters that the study sweeps are swept as well.
        out: as in `run`, and so are all arguments below.
        seed: the seed, instead of the study's.
        replications: the number of replications, instead of the study's.
        precision: the precision to which each case has to be known.
        jobs: cases that run at a time.
        threads: threads per case of a fabric.
        overrides: values that override the study, by dotted path.
        flows: a table that replaces the study's workload.
        trust_code: run Python code from the run directory of another user.

    Returns:
        The finished run, with a case for each combination.

    Raises:
        StudyError: the study cannot be run as written.
        InputError: a value of `axes` is not a list, a file is missing, or `out` cannot be written
            or holds something else.
        Interrupted: Ctrl-C; the same call resumes.

    Example:
        >>> run = sojourn.sweep(study, {"workload.load": [0.2, 0.5]})
        >>> run.cases["load"].to_pylist()
        [0.2, 0.5]
    """
    swept = {}
    for path, values in axes.items():
        if isinstance(values, str) or not np.iterable(values):
            raise InputError(f"{path} is {values!r}, expected a list of values")
        swept[f"sweep.{path}"] = list(values)
    return run(
        study,
        out=out,
        seed=seed,
        replications=replications,
        precision=precision,
        jobs=jobs,
        threads=threads,
        overrides={**(overrides or {}), **swept},
        flows=flows,
        trust_code=trust_code,
    )


def load(path: str | Path) -> Run:
    """Open a run directory, simulated, estimated or measured.

    Args:
        path: the directory.

    Returns:
        The run; an unfinished one has the cases that are finished.

    Raises:
        InputError: it is not a run directory, or a file in it cannot be read.

    Example:
        >>> sojourn.load("out/two-schemes").title
        'untitled'
    """
    return Run.open(directory_of(path))


def directory_of(path: object) -> Path:
    """The path of a run directory.

    Raises:
        InputError: it is not a path.
    """
    if isinstance(path, str | Path):
        return Path(path)
    raise InputError(f"{path!r}: expected a run, or the path of a run directory")


def _simulated(study: Study, path: Path, asked: Precision | None, execution: Execution) -> Run:
    directory = RunDirectory(path)
    studies.simulate(study, directory, command="sojourn.run", execution=execution, precision=asked)
    finished = Run.open(path)
    if asked is not None:
        judged = judge(asked, directory, finished.ledger)
        if not judged.reached:
            warnings.warn("\n".join(judged.lines()), stacklevel=4)
    return finished


def overridden(
    parse: Callable[[list[tuple[str, str]]], Parsed], overrides: Mapping[str, object] | None
) -> Parsed:
    """What `parse` makes of overrides, given to it as paths and values in TOML.

    Raises:
        StudyError: what `parse` raises, with overrides called as Python's users call them.
    """
    pairs = [(path, toml_value(value, path)) for path, value in (overrides or {}).items()]
    try:
        return parse(pairs)
    except StudyError as error:
        # The parser names an override as the command line has it.
        raise StudyError(re.sub(r"^--set ", "overrides, ", str(error))) from None


def text_of(study: str | Path | Mapping[str, Any], what: str = "study") -> tuple[str, str]:
    """The text of a study or plan, and its name for messages.

    Raises:
        InputError: a file cannot be read; a value is none that TOML has.
    """
    if isinstance(study, Mapping):
        return toml_lines(study), what
    if isinstance(study, str) and "\n" in study:
        return study, what
    path = studies.find(str(study))
    return studies.read(path), studies.source_of(path)
