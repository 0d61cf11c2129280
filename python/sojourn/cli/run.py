"""`sojourn run`: simulate a study into a run directory."""

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal import ending
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn._core import Study
    from sojourn.cli.given import Given
    from sojourn.store.run_directory import RunDirectory
    from sojourn.store.stored_run import StoredRun


@click.command(short_help="Simulate the cases of a study.")
@options.study_or_none
@click.option(
    "--htsim",
    metavar="ARGUMENTS",
    help="Instead of a STUDY: simulate what htsim_uec does with these arguments.",
)
@click.option(
    "--as-study",
    is_flag=True,
    help="With --htsim: run nothing, print the study, and write its flows into a CSV file.",
)
@options.settings("Override a value of the study; may be repeated.")
@options.seed
@options.replications
@click.option(
    "--precision",
    metavar="PERCENT",
    help="Add replications until each case is known to this precision: 5% is ± 5 %.",
)
@click.option(
    "--precision-of",
    metavar="mean|p50|p99|...",
    help="Value to which --precision applies.  [default: mean]",
)
@click.option(
    "--most-replications",
    type=int,
    metavar="N",
    help="Maximum replications per case.  [default: 100]",
)
@click.option(
    "--more",
    type=float,
    metavar="TIMES",
    help="Simulate this many times as many jobs, with another seed.",
)
@click.option(
    "--jobs", type=int, help="Cases that run at a time.  [default: as many as processors]"
)
@click.option(
    "--threads", type=int, default=1, help="Threads per case (fabric only).  [default: 1]"
)
@click.option(
    "--trace",
    metavar="flow=N",
    help="Record the packets of one flow (fabric only), into RUN/trace.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Run the cases on a Dask cluster.")
@options.out("Run directory, or with --as-study the file of flows.  [default: out/STUDY's name]")
@click.option(
    "--dry-run", is_flag=True, help="Run nothing; list the cases and predict how long they take."
)
@options.trust_code
@output.quiet
@output.as_json
@click.pass_context
@ending.soon
def run(
    context: click.Context,
    *,
    study: Path | None,
    htsim: str | None,
    as_study: bool,
    settings: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    precision: str | None,
    precision_of: str | None,
    most_replications: int | None,
    more: float | None,
    jobs: int | None,
    threads: int,
    trace: str | None,
    scheduler: str | None,
    out: Path | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run the cases of a STUDY that are not finished yet.

    STUDY is a TOML file, @PAPER/NAME for one that comes with sojourn (see `sojourn list studies`),
    or - for standard input.

    --htsim takes a command line of htsim_uec, the reference simulator of the Ultra Ethernet
    Consortium, with its connection matrix and topology. The run directory then has
    connections.csv, with a row per connection in the matrix's order.

    --more starts a new run, with another seed and directory. If you extend a run until it has an
    interval, you stop at a lucky moment.

    Exit code 1 means that a case ended in a deadlock of pauses; with --precision, that a case did
    not reach the precision with the maximum number of replications; and with thresholds in the
    study's table `expect`, that one is missed or undecided.

    \b
    Examples:
      sojourn run study.toml --set workload.load=0.8 --out out/busy
      sojourn run @pfabric/websearch-quick --replications 5
      sojourn run study.toml --dry-run
      sojourn run study.toml --trace flow=17
    """
    from sojourn._internal.errors import InputError
    from sojourn.analysis import thresholds
    from sojourn.analysis.cautions import failed
    from sojourn.analysis.precision import MOST, Precision, judge
    from sojourn.cli.given import connections, given, print_study
    from sojourn.execution import studies
    from sojourn.execution.place import Execution
    from sojourn.store import traces
    from sojourn.store.run_directory import RunDirectory
    from sojourn.store.stored_run import StoredRun

    pairs = [options.pair(setting) for setting in settings]
    if trace is not None:
        pairs.append(("trace", _flow(trace)))
    execution = Execution(jobs, threads, scheduler)
    found = given(study, htsim)
    if as_study:
        print_study(found, out, as_json=as_json)
        return
    parsed = _parsed(found, pairs, more, seed=seed, replications=replications)
    name = found.name + ("" if more is None else f"-x{more:g}")
    directory = RunDirectory(out or Path("out", name))
    if precision is None and (precision_of or most_replications is not None):
        raise InputError("--precision-of and --most-replications: expected --precision too")
    if dry_run and precision:
        raise InputError("--dry-run: expected no --precision, which is settled by running")
    if dry_run:
        directory.expect(parsed.resolved())
        _plan(parsed, directory, execution.at_a_time, as_json=as_json)
        return
    most = MOST if most_replications is None else most_replications
    asked = None if precision is None else Precision.read(precision, precision_of or "mean", most)
    ran = studies.simulate(
        parsed,
        directory,
        command=output.command(context),
        execution=execution,
        precision=asked,
    )
    done = StoredRun.open(directory.path)
    judged = asked and judge(asked, directory, done.ledger)
    verdicts = thresholds.judge(done)
    table, lines = connections(found, done)
    if as_json:
        said: dict[str, object] = {"precision": judged.to_dict()} if judged else {}
        if verdicts:
            said["thresholds"] = [verdict.to_dict() for verdict in verdicts]
        output.document(done.to_dict() | said | table)
    else:
        judgements = (*(judged.lines() if judged else ()), *thresholds.lines(verdicts))
        _say(done, (*lines, *traces.lines(done.ledger), *judgements), ran=ran, traced=bool(trace))
    missed = (judged and not judged.reached) or not thresholds.are_met(verdicts)
    if missed or failed(done.ledger):
        context.exit(output.FAILED)


def _say(done: "StoredRun", lines: Iterable[str], *, ran: int, traced: bool) -> None:
    """Say what has been run and where it is, these lines, and what to be careful about."""
    from sojourn.analysis.cautions import doubted, outside_learnt
    from sojourn.store.run_directory import TRACE

    before = "" if ran else ", all finished before"
    click.echo(f"{done.title}: {done.ledger.size()} in {done.path}{before}")
    for line in lines:
        click.echo(line)
    for line in (*outside_learnt(done.ledger), *doubted(done.ledger)):
        click.echo(f"caution: {line}")
    if traced:
        click.echo(f"trace: {done.path / TRACE}")
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")


def _flow(trace: str) -> str:
    """The number of the flow that `--trace` names."""
    from sojourn._internal.errors import InputError

    name, _, number = trace.partition("=")
    if name != "flow" or not (number.isascii() and number.isdigit()):
        raise InputError(f"--trace {trace!r}: expected flow=N, such as flow=17")
    return number


def _parsed(
    found: "Given",
    pairs: list[tuple[str, str]],
    more: float | None,
    *,
    seed: int | None,
    replications: int | None,
) -> "Study":
    """The study, or the study with runs `more` times as long, which has another seed."""
    from sojourn.execution import studies

    parsed = found.parse(pairs, seed=seed, replications=replications)
    if more is None:
        return parsed
    longer = [*pairs, *studies.longer(parsed, more)]
    fresh = studies.fresh_seed(parsed, more)
    return found.parse(longer, seed=fresh, replications=replications)


def _plan(study: "Study", directory: "RunDirectory", at_a_time: int, *, as_json: bool) -> None:
    from sojourn.execution.dry_run import plan

    found = plan(study, directory.finished(), at_a_time=at_a_time)
    output.emit(found, found.show, as_json=as_json)
