"""`sojourn estimate`: a fabric too large to be simulated, from its links."""

import shlex
from pathlib import Path

import click

from sojourn.cli import common


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Put a value over the study's: estimate.cluster=0.2 simulates similar links once.",
)
@click.option("--seed", type=int, help="In place of the study's.")
@click.option("--replications", type=int, help="In place of the study's.")
@click.option("--jobs", type=int, help="Links at a time.  [default: one a processor]")
@click.option("--scheduler", metavar="ADDRESS", help="Simulate the links on a Dask cluster.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Run directory.  [default: out/STUDY's name-estimated]",
)
@common.as_json
@click.pass_context
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
    as_json: bool,
) -> None:
    """Estimate the cases of a STUDY of a large fabric from its links, each simulated alone.

    What links do to each other is left out; a study for which that matters is refused.
    """
    from sojourn import document, studies
    from sojourn import estimate as estimating
    from sojourn.rundir import RunDirectory
    from sojourn.runs import Run

    pairs = [common.pair(setting) for setting in settings]
    text = studies.read(study)
    parsed = estimating.parse(text, str(study), pairs, seed=seed, replications=replications)
    directory = RunDirectory(out or Path("out", f"{study.stem}-estimated"))
    words = common.command(context)
    ran = estimating.run(parsed, directory, jobs=jobs, command=words, scheduler=scheduler)
    done = Run.open(directory.path)
    if as_json:
        click.echo(document.dumps(done.to_dict()))
        return
    before = "" if ran else ", all finished before"
    click.echo(f"{done.title}: {done.ledger.size()} in {done.path}{before}")
    simulated, links = (
        sum(int(record.figures[name]) for record in done.ledger)
        for name in ("links_simulated", "links")
    )
    click.echo(f"{simulated:,} of {links:,} links simulated")
    click.echo(f"{estimating.SAID}")
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")
