"""`sojourn estimate`: a fabric too large to be simulated, from its links."""

import shlex
from pathlib import Path

import click

from sojourn._internal import ending
from sojourn.cli import options, output


@click.command(short_help="Estimate a large fabric from its links.")
@options.study
@options.settings(
    "Put a value over the study's: estimate.cluster=0.2 simulates similar links once."
)
@options.seed
@options.replications
@click.option("--jobs", type=int, help="Links simulated at a time.  [default: one per processor]")
@click.option("--scheduler", metavar="ADDRESS", help="Simulate the links on a Dask cluster.")
@options.out("Run directory.  [default: out/STUDY's name-estimated]")
@click.option("--force", is_flag=True, help="Estimate even if an exact run would be faster.")
@options.trust_code
@output.quiet
@output.as_json
@click.pass_context
@ending.soon
def estimate(
    context: click.Context,
    *,
    study: Path,
    settings: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    jobs: int | None,
    scheduler: str | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate the cases of a STUDY of a large fabric from its links, each simulated alone.

    Interactions between links are ignored, and studies where they matter are rejected. If a full
    simulation would be faster, it is run instead, like `sojourn run`, into out/STUDY's name.

    \b
    Example:
      sojourn estimate large.toml --set estimate.cluster=0.2
    """
    from sojourn import estimation as estimating
    from sojourn.analysis import cautions
    from sojourn.estimation import costs
    from sojourn.execution import studies
    from sojourn.execution.execute import unfinished
    from sojourn.execution.place import Execution
    from sojourn.store.ledger import Ledger
    from sojourn.store.run_directory import RunDirectory
    from sojourn.store.stored_run import StoredRun

    execution = Execution(jobs, scheduler=scheduler)
    pairs = [options.pair(setting) for setting in settings]
    text = studies.read(study)
    parsed = estimating.parse(
        text, studies.source_of(study), pairs, seed=seed, replications=replications
    )
    directory = RunDirectory(out or Path("out", f"{studies.name_of(study)}-estimated"))
    exact = RunDirectory(out or Path("out", studies.name_of(study)))
    words = output.command(context)
    whole, predicted = False, None
    if not force and not directory.holds(parsed.resolved()):
        there = exact.finished() if exact.holds(parsed.study.resolved()) else Ledger()
        left = unfinished(parsed.study, there)
        predicted = costs.predict(parsed, left) if left else None
        whole = predicted is None or predicted.exact_is_cheaper
    if whole:
        ran = studies.simulate(parsed.study, exact, command=words, execution=execution)
    else:
        ran = estimating.run(parsed, directory, command=words, execution=execution)
    done = StoredRun.open((exact if whole else directory).path)
    if as_json:
        said = {"costs": predicted.to_dict()} if predicted else {}
        output.document(done.to_dict() | said)
        return
    if predicted is not None:
        click.echo(predicted.line())
    before = "" if ran else ", all finished before"
    click.echo(f"{done.title}: {done.ledger.size()} in {done.path}{before}")
    if not whole:
        simulated, links = (
            sum(int(record.figures[name]) for record in done.ledger)
            for name in ("links_simulated", "links")
        )
        click.echo(f"{simulated:,} of {links:,} links simulated")
        click.echo(f"{estimating.SAID}")
        for doubt in cautions.doubted(done.ledger):
            click.echo(f"caution: {doubt}")
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")
