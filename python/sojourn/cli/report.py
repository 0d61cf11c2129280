"""`sojourn report`: runs as one page to send."""

from pathlib import Path

import click

from sojourn.cli import options


@click.command(short_help="Write runs as one HTML page.")
@click.argument("runs", nargs=-1, required=True, type=options.PATH)
@click.option("-o", "--out", required=True, type=options.PATH, help="Name of the page, FILE.html.")
@click.option("--title", help="Title of the page.  [default: the titles of the studies]")
def report(*, runs: tuple[Path, ...], out: Path, title: str | None) -> None:
    """Write RUNS, or what `sojourn reproduce` wrote, as one HTML page that loads nothing else.

    \b
    Example:
      sojourn report out/run -o report.html
    """
    from sojourn.reporting import report as write

    size = write(runs, out, title=title)
    click.echo(f"{out} ({size / 1000:,.0f} KB)")
