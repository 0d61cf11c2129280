"""`sojourn mail watch`: the paper's realstat."""

from itertools import islice
from typing import Any

import click

from sojourn.cli import log_options, options, output

_PER_MARK = 10


@click.command(short_help="Follow a log as it grows.")
@log_options.reads
@click.option(
    "--interval",
    type=options.Time("1s", "24h"),
    default="15s",
    show_default=True,
    help="Time per line.",
)
@click.option("--count", type=click.IntRange(1), help="Stop after this many lines.")
@click.option("--replay", is_flag=True, help="Read the existing log, by its own clock, and stop.")
@click.option(
    "--per-mark",
    type=click.IntRange(1),
    default=_PER_MARK,
    show_default=True,
    help="How many recipients a star or a dash means.",
)
@output.as_json
def watch(
    *,
    interval: float,
    count: int | None,
    replay: bool,
    per_mark: int,
    as_json: bool,
    **asked: Any,
) -> None:
    """Watch a LOG that grows: how many recipients are delivered (*) and how many are not (-).

    Each line covers 15 seconds: the time, deliveries per hour, deliveries. Files may be rotated. -
    is standard input.

    \b
    Examples:
      sojourn mail watch /var/log/mail.log
      journalctl -fo export | sojourn mail watch -
    """
    from sojourn._internal.errors import InputError
    from sojourn._internal.terminal import print_lines
    from sojourn.mail.tools import watch as of

    every_s = int(interval)
    if every_s != interval:
        raise InputError(f"--interval {interval:g}s: expected whole seconds")
    if as_json and not (replay or count):
        raise InputError("--json: one document has an end; give --count or --replay")
    reading = log_options.reading(**asked)
    notes: list[str] = []
    if replay:
        log, replayed = of.replay(reading, every_s)
        notes = log.notes()
    ticks = islice(replayed if replay else of.live(reading, every_s), count)
    if as_json:
        output.document([*ticks])
        return
    for tick in ticks:
        click.echo(tick.line(per_mark))
    print_lines(f"  {line}" for line in notes)
