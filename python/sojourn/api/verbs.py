"""The other commands from Python: compare, report, reproduce, estimate, plan, list."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn._internal import registry, trust
from sojourn._internal.errors import InputError
from sojourn._internal.registry import Entry
from sojourn.api.handles import Comparison, Run, numbers, one_or_several
from sojourn.api.simulate import directory_of, overridden, text_of

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
        a: the first run, or its directory; differences are in per cent of it.
        b: the second run, or its directory.
        between: instead of `b`, a column of `a` and two of its values:
            `{"scheme": ("DCTCP", "MinTCP+pFabric")}`.
        metrics: one or several metrics; by default the usual ones for each kind of job.
        percentiles: one or several, in per cent; by default the usual ones for such jobs.
        warmup: the time to leave out at the start of each run, such as `"10ms"`; True for the
            first 5 % of the jobs, False for nothing.

    Returns:
        The differences with their intervals, and `verdicts`; printed, it is what `sojourn compare`
        prints.

    Raises:
        InputError: the runs share no case; an unknown metric, column or value; a percentile out of
            range; a file cannot be read.

    Example:
        >>> found = sojourn.compare(run, between={"scheme": ("DCTCP", "MinTCP+pFabric")})
        >>> [verdict.metric for verdict in found.verdicts]
        ['slowdown', 'sojourn_ps']
    """
    from sojourn.analysis import comparison

    asked: dict[str, Any] = {
        "metrics": one_or_several(metrics, "metrics"),
        "percentiles": numbers(percentiles),
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
        runs: one or several runs, their directories, or directories that `reproduce` wrote.
        out: the file, which ends in `.html`.
        title: the title of the page; by default the titles of the runs.

    Returns:
        The path of the file.

    Raises:
        InputError: one is not a run; a file cannot be read or written; the page would be too large.

    Example:
        >>> sojourn.report(run, "out/page.html").name
        'page.html'
    """
    from sojourn.reporting import report as write

    several = [runs] if isinstance(runs, Run | str | Path) else runs
    if not several:
        raise InputError("report: expected at least one run")
    paths = [run.path if isinstance(run, Run) else directory_of(run) for run in several]
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
        out: the directory for its runs, `figure-ID.png` and `claims.json`; finished runs stay.
        figures: one or several figures; by default all.
        reading: the name of another reading of the paper, as its page has it.
        full: simulate all flows and replications of the studies, which takes hours.

    Returns:
        The verdicts, pictures and tables.

    Raises:
        InputError: no such paper, figure or reading; `out` cannot be written, or holds something
            else.
        Interrupted: Ctrl-C; the same call resumes.

    Example:
        >>> done = sojourn.reproduce("zoned-raid", "out/zoned-raid")  # doctest: +SKIP
        >>> [verdict.holds for verdict in done.verdicts]  # doctest: +SKIP
        [True, True]
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

    Interactions between links are ignored; the cautions of the run say so.

    Args:
        study: as in `sojourn.run`.
        out: the run directory; finished cases there are not estimated again.
        seed: the seed, instead of the study's.
        replications: the number of replications, instead of the study's.
        jobs: links that are simulated at a time; by default as many as processors.
        overrides: values that override the study, by dotted path.
        trust_code: run Python code from the run directory of another user.

    Returns:
        The run, whose rows have the column `method`.

    Raises:
        StudyError: the study cannot be run as written, or cannot be estimated.
        InputError: a file is missing, or `out` cannot be written or holds something else.
        Interrupted: Ctrl-C; the same call resumes.

    Example:
        >>> estimated = sojourn.estimate(two_racks, "out/links", overrides={"workload.flows": 200})
        >>> estimated.rows["method"].to_pylist()[0]
        'estimate'
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
        file: the path of a plan file, TOML text, or nested dictionaries.
        jobs: replications that run at a time; by default as many as processors.
        everything: also simulate candidates that cost more than the first that meets the target.
        overrides: values that override the plan, by dotted path.

    Returns:
        The candidates, each with its verdict; `cheapest` is None if none meets the target.

    Raises:
        StudyError: the plan cannot be run as written.
        InputError: the file cannot be read.

    Example:
        >>> sojourn.plan(array_plan).cheapest is None
        False
    """
    from sojourn.planning import choose, read

    text, source = text_of(file, "plan")
    shortlist = overridden(lambda pairs: read(text, source, pairs), overrides)
    return choose(shortlist, jobs=jobs, everything=everything, say=lambda _: None)


def list_parts(topic: str | None = None) -> dict[str, list[Entry]] | list[Entry]:
    """List everything that a study can contain.

    Args:
        topic: one topic, such as `"schemes"`; by default all.

    Returns:
        The entries of the topic with their parameters, or all topics with their entries.

    Raises:
        InputError: there is no such topic.

    Example:
        >>> [entry["name"] for entry in sojourn.list_parts("balances")]
        ['spray', 'ecmp', 'entropy', 'entropy-value']
    """
    if not isinstance(topic, str | None):
        raise InputError(f"topic is {topic!r}, expected the name of a topic")
    return registry.topics() if topic is None else registry.topic(topic)


def _opened(run: Run | str | Path) -> Run:
    return run if isinstance(run, Run) else Run.open(directory_of(run))
