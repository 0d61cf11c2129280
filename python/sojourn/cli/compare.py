"""`sojourn compare`: two runs beside each other."""

from pathlib import Path

import click

from sojourn.cli import common
from sojourn.errors import InputError


@click.command()
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path), required=False)
@click.option(
    "--between",
    metavar="COLUMN=A,B",
    help="Compare two values of a column within RUN_A: scheme=DCTCP,MinTCP+pFabric.",
)
@click.option("--metric", "metrics", metavar="NAME", multiple=True, help="Only this one.")
@click.option("--percentiles", metavar="50,90,99", help="In per cent.  [default: 50,90,95,99]")
@click.option(
    "--within", metavar="PERCENT", help="Exit code 1 if means or percentiles are further apart."
)
@common.warmup
@click.option(
    "-o", "picture", type=click.Path(path_type=Path), help="Draw distributions: a .png or .svg."
)
@common.as_json
@click.pass_context
def compare(
    context: click.Context,
    *,
    run_a: Path,
    run_b: Path | None,
    between: str | None,
    metrics: tuple[str, ...],
    percentiles: str | None,
    within: str | None,
    warmup: bool | str,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Lay RUN_B beside RUN_A, measured or simulated, in the cases that they share.

    Or two parts of one run beside each other, with --between.
    """
    from sojourn import compare as comparing
    from sojourn import document
    from sojourn.compare.show import show
    from sojourn.plots import targets
    from sojourn.runs import Run
    from sojourn.summary import PERCENTILES

    limit = _per_cent(within)
    shown = common.percentiles(percentiles) or PERCENTILES
    if (run_b is None) == (between is None):
        raise InputError("compare: expected a second run, or --between COLUMN=A,B")
    if run_b is not None:
        both = Run.open(run_a), Run.open(run_b)
        found = comparing.compare(*both, metrics=metrics, percentiles=shown, warmup=warmup)
    else:
        column, values = _two_values(between or "")
        found = comparing.between(
            Run.open(run_a), column, values, metrics=metrics, percentiles=shown, warmup=warmup
        )
    if picture is not None:
        from sojourn.compare.draw import draw

        (path,) = targets(picture, ["compare"], [])
        drawn = draw(found)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.write(path)
    if as_json:
        click.echo(document.dumps(found.to_dict(limit)))
    else:
        show(found, limit)
    if limit is not None and found.beyond(limit):
        context.exit(common.FAILED)


def _two_values(given: str) -> tuple[str, tuple[str, str]]:
    column, _, values = given.partition("=")
    both = [value.strip() for value in values.split(",")]
    if not column.strip() or len(both) != 2 or not all(both):
        raise InputError(f"--between {given!r}: expected COLUMN=A,B")
    return column.strip(), (both[0], both[1])


def _per_cent(given: str | None) -> float | None:
    if given is None:
        return None
    try:
        value = float(given.removesuffix("%"))
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise InputError(f"--within {given!r}: expected a percentage like 10%")
    return value
