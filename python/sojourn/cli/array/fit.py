"""`sojourn array fit`: learn a device from a measurement, and predict other loads."""

import shlex
from pathlib import Path

import click

from sojourn.cli import common


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to write the model.  [default: RUN-fitted]",
)
@click.option("--percentiles", metavar="50,90,99", help="In per cent.  [default: 50,90,95,99]")
@click.option(
    "-o", "picture", type=click.Path(path_type=Path), help="Draw distributions: a .png or .svg."
)
@common.as_json
@click.pass_context
def fit(
    context: click.Context,
    *,
    run: Path,
    out: Path | None,
    percentiles: str | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Learn a device from a RUN that measured it, and lay its predictions beside the RUN.

    The lightest load gives the services, the heaviest how many are served at once. Writes a study
    with the device in it, and its simulation.
    """
    from sojourn import document
    from sojourn.compare.show import show as print_comparison
    from sojourn.fit import fit as learn
    from sojourn.fit import loads
    from sojourn.fit.predict import PREDICTED, predict, write
    from sojourn.fit.show import learnt, to_dict
    from sojourn.plots import targets
    from sojourn.runs import Run

    files = None if picture is None else targets(picture, ["fit"], [])
    measured = Run.open(run)
    fitted = learn(loads(measured))
    study = write(fitted, measured, out or run.with_name(f"{run.name}-fitted"))
    found = predict(
        study,
        measured,
        percentiles=common.percentiles(percentiles) or (),
        command=common.command(context),
    )
    if files is not None:
        from sojourn.compare.draw import draw

        (path,) = files
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(found).write(path)
    if as_json:
        fit_and_files = {**to_dict(fitted), "study": str(study)}
        click.echo(document.dumps({"fit": fit_and_files, **found.to_dict()}))
        return
    for line in learnt(fitted):
        click.echo(line)
    print_comparison(found, None)
    again = shlex.quote(str(study.parent / PREDICTED))
    click.echo(f"next: sojourn run {shlex.quote(str(study))} --set ..., or sojourn show {again}")
