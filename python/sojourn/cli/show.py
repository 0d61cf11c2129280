"""`sojourn show`: a run as a table."""

from pathlib import Path

import click

from sojourn.cli import common


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--by", metavar="COLUMN,...", help="Group by these.  [default: the swept axes]")
@click.option("--percentiles", metavar="50,90,99", help="In per cent.  [default: 50,90,95,99]")
@common.warmup
@common.as_json
def show(
    run: Path, by: str | None, percentiles: str | None, warmup: bool | str, as_json: bool
) -> None:
    """Show slowdown and sojourn time of a RUN directory by group and size of job."""
    from sojourn import document
    from sojourn.runs import Run
    from sojourn.show import show as print_table

    summary = Run.open(run).summary(
        by=common.names(by), percentiles=common.percentiles(percentiles), warmup=warmup
    )
    if as_json:
        click.echo(document.dumps(summary.to_list()))
    else:
        print_table(summary)
