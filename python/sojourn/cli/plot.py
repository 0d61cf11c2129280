"""`sojourn plot`: a run as pictures."""

from pathlib import Path

import click

from sojourn.cli import options


@click.command(short_help="Draw a run as pictures.")
@click.argument("run", type=options.PATH)
@click.option(
    "--kind",
    "kinds",
    type=options.OneOf(
        [
            "slowdown",
            "time",
            "cdf",
            "missed",
            "goodput",
            "fairness",
            "timeline",
            "pauses",
            "trace",
            "fct",
            "qct",
        ]
    ),
    metavar="KIND",
    multiple=True,
    help="slowdown, time: against x. cdf: distributions at one x. missed: deadlines against x."
    " goodput: flows that never end, at one x. fairness: the same flows, by averaging time."
    " timeline: what an iteration waits for. pauses: who stopped whom. trace: one flow, of a"
    " run with --trace. fct and qct are earlier names of slowdown and cdf.  [default: the usual"
    " ones for such jobs]",
)
@click.option(
    "--x",
    metavar="COLUMN",
    help="Column along the axis.  [default: the load, or the first swept number]",
)
@click.option(
    "--by",
    metavar="COLUMN,...",
    help="Columns of which each combination is a line.  [default: the other swept ones]",
)
@click.option(
    "--at",
    metavar="VALUE",
    help="Value of x that cdf, goodput and fairness draw.  [default: the largest]",
)
@options.warmup
@click.option(
    "--format",
    "formats",
    type=options.OneOf(["png", "svg", "pdf"]),
    multiple=True,
    help="File format; may be repeated.  [default: png]",
)
@options.out("A file, or a directory for all pictures.  [default: RUN/plots]")
def plot(
    *,
    run: Path,
    kinds: tuple[str, ...],
    x: str | None,
    by: str | None,
    at: str | None,
    warmup: bool | str,
    formats: tuple[str, ...],
    out: Path | None,
) -> None:
    """Draw times, missed deadlines and goodputs of a RUN, and print the names of the files.

    \b
    Examples:
      sojourn plot out/run
      sojourn plot out/run --kind cdf --at 0.8 --format svg
    """
    from sojourn.presentation import plots
    from sojourn.store.stored_run import StoredRun

    opened = StoredRun.open(run)
    files = plots.targets(out or opened.path / "plots", kinds or plots.kinds(opened), formats)
    columns = options.names(by)
    pictures = {
        path: plots.draw(opened, kind, x=x, by=columns, at=at, warmup=warmup)
        for path, kind in files.items()
    }
    for path, picture in pictures.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.write(path)
        click.echo(path)
