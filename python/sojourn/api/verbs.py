"""What the commands do, from Python: compare, report, reproduce, estimate, plan, list."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn._internal import registry, trust
from sojourn._internal.errors import InputError
from sojourn._internal.registry import Entry
from sojourn.api.handles import Comparison, Run
from sojourn.api.simulate import overridden, text_of

if TYPE_CHECKING:
    from sojourn.analysis.sample import Warmup
    from sojourn.planning import Choice
    from sojourn.reproduction import Reproduction


def compare(
    a: Run | str | Path,
    b: Run | str | Path | None = None,
    *,
    between: Mapping[str, tuple[str, str]] | None = None,
    metrics: Sequence[str] | str = (),
    percentiles: Sequence[float] | float = (),
    warmup: "Warmup" = True,
) -> Comparison:
    """Compare two runs, measured or simulated, case by case; or two parts of one.

    Args:
        a: one run, or its directory; differences are in per cent of it.
        b: the other.
        between: in place of `b`, a column of `a` and two of its values:
            `{"scheme": ("DCTCP", "MinTCP+pFabric")}`.
        metrics: only these; by default what is shown of each kind of job.
        percentiles: in per cent; by default those that are shown of such jobs.
        warmup: the time to leave out at the start of each run, such as `"10ms"`; True for the
            first 5 % of the jobs, False for nothing.

    Raises:
        InputError: the runs share no case; an unknown metric, column or value; a percentile out of
            range; a file cannot be read.
    """
    from sojourn.analysis import comparison

    asked: dict[str, Any] = {
        "metrics": [metrics] if isinstance(metrics, str) else metrics,
        "percentiles": [percentiles] if isinstance(percentiles, int | float) else percentiles,
        "warmup": warmup,
    }
    if (b is None) == (between is None) or (between is not None and len(between) != 1):
        raise InputError("compare: expected a second run, or `between` with one column")
    if between is not None:
        ((column, values),) = between.items()
        if isinstance(values, str) or len(values) != 2:
            raise InputError(f"between: {column} is {values!r}, expected two values")
        first, second = map(str, values)
        return Comparison.of(comparison.between(_opened(a), column, (first, second), **asked))
    return Comparison.of(comparison.compare(_opened(a), _opened(b or ""), **asked))


def report(
    runs: Run | str | Path | Sequence[Run | str | Path],
    out: str | Path,
    *,
    title: str | None = None,
) -> Path:
    """Write runs as one HTML page, which needs nothing from the network.

    Args:
        runs: one or several runs, their directories, or directories that `reproduce` left.
        out: the file, which ends in `.html`.
        title: above the page; by default those of the runs.

    Returns:
        The file.

    Raises:
        InputError: one is no run; a file cannot be read or written; the page would be too large.
    """
    from sojourn.reporting import report as write

    several = [runs] if isinstance(runs, Run | str | Path) else runs
    if not several:
        raise InputError("report: expected at least one run")
    paths = [run.path if isinstance(run, Run) else Path(run) for run in several]
    write(paths, Path(out), title=title)
    return Path(out)


def reproduce(
    paper: str,
    out: str | Path,
    *,
    figures: Sequence[str] | str = (),
    reading: str | None = None,
    full: bool = False,
) -> "Reproduction":
    """Run the studies of a paper, draw its figures, and judge its claims.

    Args:
        paper: `pfabric`, `big-buffers`, `zoned-raid`, `sendmail` or `uet`.
        out: the directory of its runs, `figure-ID.png` and `claims.json`; finished runs stay.
        figures: only these; by default all.
        reading: another way to read the paper, by the name that its page has.
        full: as many flows and replications as the studies say, instead of the brief ones: hours.

    Raises:
        InputError: no such paper, figure or reading; `out` cannot be written, or holds something
            else.
        Interrupted: Ctrl-C; the same call resumes.
    """
    from sojourn.reproduction import papers
    from sojourn.reproduction import reproduce as run_and_judge

    if paper == papers.ALL:
        raise InputError("reproduce: expected one paper")
    (found,) = (one.under(reading) for one in papers.find(paper))
    wanted = (figures,) if isinstance(figures, str) else tuple(figures)
    chosen = found.chosen(wanted, reading)
    return run_and_judge(found, chosen, Path(out), full=full, command="sojourn.reproduce")


def estimate(
    study: str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    seed: int | None = None,
    replications: int | None = None,
    jobs: int | None = None,
    overrides: Mapping[str, object] | None = None,
    trust_code: bool = False,
) -> Run:
    """Estimate the cases of a study of a large fabric from its links, each simulated alone.

    What links do to each other is left out; the run's cautions say so.

    Args:
        study: as `sojourn.run` takes it.
        out: the run directory; cases that are finished there are not estimated again.
        seed: in place of the study's.
        replications: in place of the study's.
        jobs: how many links at a time; by default as many as there are processors for.
        overrides: values put over the study's, by dotted path.
        trust_code: run Python code that lies in the run directory of another user.

    Raises:
        StudyError: the study cannot be run as written, or cannot be estimated.
        InputError: a file is missing, or `out` cannot be written or holds something else.
        Interrupted: Ctrl-C; the same call resumes.
    """
    from sojourn import estimation
    from sojourn.execution.place import Execution
    from sojourn.store.run_directory import RunDirectory

    text, source = text_of(study)
    with trust.answering(trust.always if trust_code else trust.never):
        asked = overridden(
            lambda pairs: estimation.parse(
                text, source, pairs, seed=seed, replications=replications
            ),
            overrides,
        )
        execution = Execution(jobs)
        directory = RunDirectory(Path(out))
        estimation.run(asked, directory, command="sojourn.estimate", execution=execution)
    return Run.open(Path(out))


def plan(
    file: str | Path | Mapping[str, Any],
    *,
    jobs: int | None = None,
    everything: bool = False,
    overrides: Mapping[str, object] | None = None,
) -> "Choice":
    """Find the cheapest array that meets the target of a plan.

    Args:
        file: a plan file's path, a plan as TOML text, or as nested dictionaries.
        jobs: replications at a time; by default as many as there are processors for.
        everything: simulate candidates that are dearer than the cheapest one, too.
        overrides: values put over the plan's, by dotted path.

    Returns:
        The candidates, each with its verdict; `cheapest` is None where none meets the target.

    Raises:
        StudyError: the plan cannot be run as written.
        InputError: the file cannot be read.
    """
    from sojourn.planning import choose, read

    text, source = text_of(file, "plan")
    shortlist = overridden(lambda pairs: read(text, source, pairs), overrides)
    return choose(shortlist, jobs=jobs, everything=everything, say=lambda _: None)


def list_parts(topic: str | None = None) -> dict[str, list[Entry]] | list[Entry]:
    """What a study can name: all topics, or the entries of one with their parameters.

    Raises:
        InputError: there is no such topic.
    """
    return registry.topics() if topic is None else registry.topic(topic)


def _opened(run: Run | str | Path) -> Run:
    return run if isinstance(run, Run) else Run.open(Path(run))
