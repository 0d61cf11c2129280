"""`sojourn array plan`: the cheapest array that meets a target."""

from pathlib import Path

import click

from sojourn._internal import ending
from sojourn.cli import options, output


@click.command(short_help="Find the cheapest array that meets a target.")
@click.argument("file", type=options.PATH)
@options.settings("Override a value of the plan.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    help="Replications that run at a time.  [default: as many as processors]",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also simulate candidates that cost more than the first that meets the target.",
)
@options.out("Draw prices and times into a PNG, SVG or PDF file.", "picture")
@output.quiet
@output.as_json
@click.pass_context
@ending.soon
def plan(
    context: click.Context,
    *,
    file: Path,
    settings: tuple[str, ...],
    jobs: int | None,
    everything: bool,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Find the cheapest array that meets the target of a plan (a TOML FILE).

    Exit code 1 if no array meets it.

    \b
    Example:
      sojourn array plan plan.toml --all -o plan.png
    """
    from sojourn._internal.terminal import doing
    from sojourn.execution import studies
    from sojourn.planning import choose, read
    from sojourn.planning.show import show
    from sojourn.presentation.plots import targets

    files = None if picture is None else targets(picture, ["plan"], [])
    pairs = [options.pair(one) for one in settings]
    shortlist = read(studies.read(file), studies.source_of(file), pairs)
    with doing() as say:
        choice = choose(shortlist, jobs=jobs, everything=everything, say=say)
    if files is not None:
        from sojourn.planning.draw import draw

        (path,) = files
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(choice).write(path)
    if as_json:
        output.document(choice)
    else:
        show(choice)
        if files is not None:
            click.echo(path)
    if choice.cheapest is None:
        context.exit(output.FAILED)
