"""`sojourn array plan`: the cheapest array that meets a target."""

from pathlib import Path

import click

from sojourn.cli import common


@click.command(short_help="Find the cheapest array that meets a target.")
@click.argument("file", type=common.PATH)
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Put a value over the plan's."
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Replications at a time.")
@click.option("--all", "everything", is_flag=True, help="Simulate dearer candidates too.")
@click.option(
    "-o",
    "--out",
    "picture",
    type=common.PATH,
    help="Draw prices and times: PNG, SVG, PDF.",
)
@common.quiet
@common.as_json
@click.pass_context
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

    Exit code 1 if none does.
    """
    from sojourn._core import Plan
    from sojourn._internal.formats import json_text
    from sojourn._internal.terminal import doing
    from sojourn.execution import studies
    from sojourn.plan import choose
    from sojourn.plan.show import show
    from sojourn.presentation.plots import targets

    files = None if picture is None else targets(picture, ["plan"], [])
    parsed = Plan.parse(studies.read(file), str(file), [common.pair(one) for one in settings])
    with doing() as say:
        choice = choose(parsed, jobs=jobs, everything=everything, say=say)
    if files is not None:
        from sojourn.plan.draw import draw

        (path,) = files
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(choice).write(path)
    if as_json:
        click.echo(json_text(choice.to_dict()))
    else:
        show(choice)
        if files is not None:
            click.echo(path)
    if choice.cheapest is None:
        context.exit(common.FAILED)
