"""`sojourn compare`: two runs beside each other."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn.store.stored_run import StoredRun


@click.command(short_help="Compare two runs: which is better, and may it be chance?")
@click.argument("run_a", type=options.PATH)
@click.argument("run_b", type=options.PATH, required=False)
@click.option(
    "--between",
    metavar="COLUMN=A,B",
    help="Compare two values of a column within RUN_A: scheme=DCTCP,MinTCP+pFabric.",
)
@click.option("--metric", "metrics", metavar="NAME", multiple=True, help="Only this one.")
@options.asked_percentiles
@click.option(
    "--within", metavar="5%", help="Exit code 1 if a mean or percentile differs by more than this."
)
@options.warmup
@options.out("Draw distributions: PNG, SVG or PDF.", "picture")
@output.as_json
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
    """Compare RUN_A and RUN_B, measured or simulated, in the cases that they share.

    With --between, compare two parts of one run.

    \b
    Examples:
      sojourn compare out/measured out/simulated -o compare.png
      sojourn compare out/both --between scheme=DCTCP,MinTCP+pFabric
      sojourn compare out/before out/after --within 10%
    """
    from sojourn._internal.units import per_cent
    from sojourn.analysis import comparison
    from sojourn.presentation.comparison_tables import show
    from sojourn.presentation.plots import targets
    from sojourn.store.stored_run import StoredRun

    limit = None if within is None else per_cent(within, "--within")
    shown = options.percentiles(percentiles) or ()
    if (run_b is None) == (between is None):
        if between is not None:
            raise InputError("RUN_B and --between: expected one of them")
        raise InputError("compare: expected a second run, or --between COLUMN=A,B")
    if run_b is not None:
        both = StoredRun.open(run_a), StoredRun.open(run_b)
        found = comparison.compare(*both, metrics=metrics, percentiles=shown, warmup=warmup)
    else:
        run = StoredRun.open(run_a)
        column, values = _two_values(between or "", run)
        found = comparison.between(
            run, column, values, metrics=metrics, percentiles=shown, warmup=warmup
        )
    if picture is not None:
        from sojourn.presentation.comparison_plot import draw

        (path,) = targets(picture, ["compare"], [])
        drawn = draw(found)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.write(path)
    if as_json:
        output.document(found.to_dict(limit))
    else:
        show(found, limit)
        if picture is not None:
            click.echo(path)
    if limit is not None and found.beyond(limit):
        context.exit(output.FAILED)


def _two_values(given: str, run: "StoredRun") -> tuple[str, tuple[str, str]]:
    """A column and two of its values, in which there may be commas too."""
    from sojourn.analysis.comparison import values_of

    column, _, values = (part.strip() for part in given.partition("="))
    words = values.split(",")
    cuts = range(1, len(words))
    pairs = [(",".join(words[:cut]).strip(), ",".join(words[cut:]).strip()) for cut in cuts]
    if len(pairs) > 1:
        there = values_of(run, column)
        pairs = [pair for pair in pairs if all(value in there for value in pair)]
    if not column or not pairs or not all(pairs[0]) or len({*pairs[0]}) == 1:
        raise InputError(f"--between {given!r}: expected COLUMN=A,B, two values")
    return column, pairs[0]
