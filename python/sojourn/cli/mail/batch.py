"""`sojourn mail batch`: the paper's batchstat."""

from pathlib import Path
from typing import Any

import click

from sojourn.cli import log_options, options, output


@click.command(short_help="Draw a day of mail from its log.")
@log_options.reads
@click.option(
    "--day", metavar="2026-11-22", help="Day to draw.  [default: the last day of the log]"
)
@click.option(
    "--interval",
    type=options.Time("1s", "24h"),
    default="60s",
    show_default=True,
    help="Interval over which rates are averaged.",
)
@options.out("Picture, a .png, .svg or .pdf file.", "picture", default=Path("out", "batch.png"))
@output.quiet
@output.as_json
def batch(*, day: str | None, interval: float, picture: Path, as_json: bool, **asked: Any) -> None:
    """Draw a day of mail: the rate of delivery, and when new messages arrived.

    LOG... are files, compressed or not, or - for standard input. --since and --until draw another
    time than one day.

    \b
    Example:
      sojourn mail batch /var/log/mail.log* --day 2026-11-22 -o day.png
    """
    from sojourn._internal.errors import InputError
    from sojourn._internal.terminal import print_lines
    from sojourn._internal.units import count
    from sojourn.mail.tools import batch as of
    from sojourn.maillog.times import day_us
    from sojourn.presentation.plots import targets

    (path,) = targets(picture, ["batch"], [])
    reading = log_options.reading(**asked)
    if day is not None:
        if reading.since_us is not None or reading.until_us is not None:
            raise InputError(f"--day {day}: it says from when to when, as --since and --until do")
        reading = of.of_day(reading, *day_us("--day", day))
    found = of.batch(reading, round(interval * 10**6))
    of_a_time = reading.since_us is not None or reading.until_us is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    of.draw(found if of_a_time else of.near(found)).write(path)
    if as_json:
        output.document({**found.to_dict(), "picture": str(path)})
        return
    print_lines(
        [
            f"{path}: {count(found.arrived.sum(), 'new message')}, {found.delivered.sum():,} "
            f"delivered, {found.failed.sum():,} failed, at most "
            f"{found.per_hour.max(initial=0):,.0f} delivered an hour",
            *([f"  {found.earlier:,} delivered on earlier days: --day"] if found.earlier else []),
            *(f"  {line}" for line in found.log.notes()),
        ]
    )
