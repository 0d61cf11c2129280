"""`sojourn measure`: the real thing, into the same rows."""

import shlex
from pathlib import Path

import click

from sojourn.cli import common


@click.group(cls=common.Commands)
def measure() -> None:
    """Measure a real system the way it is simulated: the same study, the same rows."""


@measure.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Put a value over the study's."
)
@click.option("--seed", type=int, help="In place of the study's.")
@click.option("--replications", type=int, help="In place of the study's.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Run directory.  [default: out/STUDY's name-measured]",
)
@common.as_json
@click.pass_context
def fabric(
    context: click.Context,
    *,
    study: Path,
    settings: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure a STUDY of one switch on this kernel's own TCP. Needs Linux, root and iproute2."""
    from sojourn import document, studies
    from sojourn.measure.fabric import BUSY
    from sojourn.measure.fabric import measure as measure_study
    from sojourn.rundir import RunDirectory
    from sojourn.runs import Run

    pairs = [common.pair(setting) for setting in settings]
    text = studies.read(study)
    parsed = studies.parse(text, str(study), pairs, seed=seed, replications=replications)
    directory = RunDirectory(out or Path("out", f"{study.stem}-measured"))
    ran = measure_study(parsed, str(study), directory, command=common.command(context))
    done = Run.open(directory.path)
    if as_json:
        click.echo(document.dumps(done.to_dict()))
        return
    before = "" if ran else ", all measured before"
    click.echo(f"{done.title}: {done.ledger.size()} in {done.path}{before}")
    busy = max(float(record.figures["processors_busy"]) for record in done.ledger)
    if busy > BUSY:
        click.echo(f"processors were {busy:.0%} busy: repeat this on a machine with less to do")
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")
