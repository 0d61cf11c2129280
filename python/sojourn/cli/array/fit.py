"""`sojourn array fit`: learn a device from a measurement, and predict other loads."""

import shlex
from pathlib import Path

import click

from sojourn.cli import options, output


@click.command(short_help="Learn a disk from a run that measured it.")
@click.argument("run", type=options.PATH)
@options.out("Folder of the model.  [default: RUN-fitted]")
@options.asked_percentiles
@click.option(
    "--picture",
    type=options.PATH,
    help="Draw the distributions into a PNG, SVG or PDF file.",
)
@output.quiet
@output.as_json
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
    """Learn a device from a RUN that measured it, and compare its predictions with the RUN.

    The lightest load gives the service times. The heaviest load gives the number of requests
    served at once, and how much they slow each other. The command writes a study with the device,
    and simulates it.

    A device is accepted if the 95 % intervals of the errors of its mean and 95th percentile lie
    within 15 % at every load, and refused if one lies outside. Otherwise there were too few
    requests, and the command says how many are enough. Exit code 1 unless the device is accepted.

    \b
    Example:
      sojourn array fit out/measured -o out/fitted --picture out/fit.png
    """
    from sojourn._internal.errors import InputError
    from sojourn.fitting import fit as learn
    from sojourn.fitting import loads
    from sojourn.fitting.judge import TAIL, judge
    from sojourn.fitting.predict import PREDICTED, predict, write
    from sojourn.fitting.show import judged, learnt, to_dict
    from sojourn.presentation.comparison_tables import show as print_comparison
    from sojourn.presentation.plots import targets
    from sojourn.presentation.style import FORMATS
    from sojourn.store.stored_run import StoredRun

    if out is not None and out.suffix.removeprefix(".") in FORMATS:
        raise InputError(f"--out {out}: expected a directory; --picture {out} draws")
    files = None if picture is None else targets(picture, ["fit"], [])
    measured = StoredRun.open(run)
    known = loads(measured)
    fitted = learn(measured, known)
    study = write(fitted, measured, out or run.with_name(f"{run.name}-fitted"))
    found = predict(
        study,
        measured,
        percentiles=sorted({*asked, TAIL}) if (asked := options.percentiles(percentiles)) else (),
        command=output.command(context),
    )
    verdict = judge(fitted, known, found)
    if files is not None:
        from sojourn.presentation.comparison_plot import draw

        (path,) = files
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(found).write(path)
    if as_json:
        fit_and_files = {**to_dict(fitted, verdict), "study": str(study)}
        output.document({"fit": fit_and_files, **found.to_dict()})
    else:
        for line in learnt(fitted):
            click.echo(line)
        print_comparison(found, None)
        for line in judged(verdict):
            click.echo(line)
    if not verdict.accepted:
        context.exit(output.FAILED)
    if not as_json:
        file, simulated = (shlex.quote(str(path)) for path in (study, study.parent / PREDICTED))
        click.echo(f"next: sojourn run {file} --set ..., or sojourn show {simulated}")
