"""`sojourn show`: a run as a table."""

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn.store.stored_run import StoredRun


@click.command(short_help="Show a run as a table.")
@click.argument("run", type=options.PATH)
@click.option(
    "--by",
    metavar="COLUMN,...",
    help="Columns to group by.  [default: the swept parameters]",
    shell_complete=options.complete_columns,
)
@options.asked_percentiles
@options.warmup
@click.option(
    "--over",
    metavar="TIME,...",
    help="Show how evenly long flows share over these averaging times, such as 0.5s,2s.",
)
@click.option(
    "--path",
    "of_path",
    is_flag=True,
    help="Show what iterations of ranks wait for: the time on their critical paths.",
)
@output.as_json
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print CSV: a line per number, and cautions as lines that start with #.",
)
@click.pass_context
def show(
    context: click.Context,
    *,
    run: Path,
    by: str | None,
    percentiles: str | None,
    warmup: bool | str,
    over: str | None,
    of_path: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show the results of a RUN directory, by group, kind and size of job.

    Flows have a slowdown and a completion time, requests to disks a response time, and mail a
    delay. A second table has totals of each case: drops and memory of a fabric, or utilisation,
    IOPS, MB/s and mean queue depth of an array, which also has a table of reads and writes.

    Exit code 1 means that a threshold of the study, in its table `expect`, is missed or undecided.

    \b
    Examples:
      sojourn show out/run --by scheme,load --percentiles 50,99
      sojourn show out/run --csv > results.csv
      sojourn show out/training --path
    """
    from sojourn.analysis import thresholds
    from sojourn.analysis.summary import summarise
    from sojourn.presentation.tables import show as print_table
    from sojourn.store.stored_run import StoredRun

    if as_json and as_csv:
        raise InputError("show: expected one of --json and --csv")
    opened = StoredRun.open(run)
    if over is not None and of_path:
        raise InputError("show: expected one of --over and --path")
    if over is not None:
        if percentiles is not None:
            raise InputError("show: --percentiles has no effect with --over; leave one out")
        _fairness(opened, options.names(over) or [], options.names(by), as_json, as_csv)
        return
    if of_path:
        if percentiles is not None:
            raise InputError("show: --percentiles has no effect with --path; leave one out")
        _critical_path(opened, options.names(by), as_json, as_csv)
        return
    summary = summarise(
        opened,
        by=options.names(by),
        percentiles=options.percentiles(percentiles),
        warmup=warmup,
    )
    if as_csv:
        _write_csv(summary.to_records())
        for line in thresholds.lines(summary.thresholds):
            click.echo(f"# {line}")
        for line in summary.cautions:
            click.echo(f"# caution: {line}")
    elif as_json:
        output.document(summary)
    else:
        print_table(summary)
    if not thresholds.are_met(summary.thresholds):
        context.exit(output.FAILED)


def _fairness(
    run: "StoredRun",
    over: Sequence[str],
    by: Sequence[str] | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show how evenly long flows share over some averaging times."""
    from sojourn.analysis import fairness, summary
    from sojourn.presentation.fairness import show as print_table

    found = fairness.fairness(run, over, by=by)
    if as_csv:
        _write_csv([own.record() for own in found])
    elif as_json:
        output.document([own.flat() for own in found])
    else:
        print_table(run.title, found, summary.longer(run))


def _critical_path(run: "StoredRun", by: Sequence[str] | None, as_json: bool, as_csv: bool) -> None:
    """Show what iterations wait for."""
    from sojourn.analysis.critical_path import critical_paths
    from sojourn.presentation.critical_path import show as print_table

    found = critical_paths(run, by)
    if as_csv:
        _write_csv([own.record() for own in found])
    elif as_json:
        output.document([own.record() for own in found])
    else:
        print_table(run.title, found)


def _write_csv(records: Sequence[Mapping[str, object]]) -> None:
    names = dict.fromkeys(name for record in records for name in record)
    lines = csv.DictWriter(sys.stdout, [*names], lineterminator="\n")
    lines.writeheader()
    lines.writerows(records)
