"""`sojourn show`: a run as a table."""

import csv
import sys
from pathlib import Path

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options, output


@click.command(short_help="Show a run as a table.")
@click.argument("run", type=options.PATH)
@click.option("--by", metavar="COLUMN,...", help="Group by these.  [default: the swept axes]")
@options.asked_percentiles
@options.warmup
@output.as_json
@click.option("--csv", "as_csv", is_flag=True, help="Print a line of CSV an estimate.")
def show(
    *,
    run: Path,
    by: str | None,
    percentiles: str | None,
    warmup: bool | str,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show what is measured of the jobs of a RUN directory, by group, kind and size of job.

    Of flows the slowdown and the completion time, of requests to disks the response time, of mail
    the delay.
    """
    from sojourn.analysis.summary import summarise
    from sojourn.presentation.tables import show as print_table
    from sojourn.store.stored_run import StoredRun

    summary = summarise(
        StoredRun.open(run),
        by=options.names(by),
        percentiles=options.percentiles(percentiles),
        warmup=warmup,
    )
    if as_json and as_csv:
        raise InputError("show: expected one of --json and --csv")
    if as_csv:
        records = summary.to_records()
        names = dict.fromkeys(name for record in records for name in record)
        lines = csv.DictWriter(sys.stdout, [*names], lineterminator="\n")
        lines.writeheader()
        lines.writerows(records)
    elif as_json:
        output.document(summary)
    else:
        print_table(summary)
