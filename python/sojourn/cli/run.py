"""`sojourn run`: simulate a study into a run directory."""

import shlex
from pathlib import Path

import click

from sojourn.cli import common


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Put a value over the study's."
)
@click.option("--seed", type=int, help="In place of the study's.")
@click.option("--replications", type=int, help="In place of the study's.")
@click.option("--jobs", type=int, help="Cases at a time.  [default: one a processor]")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Run directory.  [default: out/STUDY's name]"
)
@common.as_json
@click.pass_context
def run(
    context: click.Context,
    *,
    study: Path,
    settings: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the cases of a STUDY (a TOML file), or those of them that are not finished yet."""
    from sojourn import document, studies
    from sojourn.rundir import RunDirectory
    from sojourn.runs import Run

    pairs = [common.pair(setting) for setting in settings]
    text = studies.read(study)
    parsed = studies.parse(text, str(study), pairs, seed=seed, replications=replications)
    directory = RunDirectory(out or Path("out", study.stem))
    ran = studies.simulate(parsed, directory, jobs=jobs, command=common.command(context))
    done = Run.open(directory.path)
    if as_json:
        click.echo(document.dumps(done.to_dict()))
        return
    before = "" if ran else ", all finished before"
    click.echo(f"{done.title}: {done.ledger.size()} in {done.path}{before}")
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")
