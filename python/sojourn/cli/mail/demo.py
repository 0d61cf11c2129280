"""`sojourn mail demo`: the list server at work in a small internet."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal.errors import InputError, Interrupted
from sojourn.cli import options, output

if TYPE_CHECKING:
    from sojourn.benchmarks.mail.outcome import Outcome
    from sojourn.benchmarks.mail.stage import Moment


@click.command(short_help="Send to 2,000 subscribers in a small internet.")
@click.argument("world", required=False, type=options.PATH)
@options.settings("Set a value of the world, such as drawn.unreachable=0.1.")
@click.option(
    "--messages",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Messages sent at once.",
)
@click.option(
    "--patience",
    metavar="TIME",
    default="120s",
    show_default=True,
    help="How long to wait for recipients that can be reached.",
)
@click.option("--log", type=options.PATH, help="Write a log in Postfix's format.")
@output.quiet
@output.as_json
def demo(
    *,
    world: Path | None,
    settings: tuple[str, ...],
    messages: int,
    patience: str,
    log: Path | None,
    as_json: bool,
) -> None:
    """Send to 2,000 subscribers in a small internet on loopback, and count the results.

    WORLD is a file that describes the internet. Without it, subscribers are on 400 domains whose
    sizes follow Zipf's law, and some are unreachable, greylisted or slow. Exit code 1 means that a
    copy was lost.

    \b
    Example:
      sojourn mail demo --set drawn.unreachable=0.1
    """
    from dataclasses import replace

    from sojourn._internal.files import read_text
    from sojourn._internal.units import PS_PER_S, picoseconds
    from sojourn.benchmarks.mail import loads as benchmarks
    from sojourn.benchmarks.mail import stage

    patience_s = picoseconds(patience, "--patience") / PS_PER_S
    if not patience_s:
        raise InputError(f"--patience {patience}: expected a time above zero")
    script = replace(
        benchmarks.script(benchmarks.Load("list", messages)),
        overrides=tuple(options.pair(setting) for setting in settings),
        log=log,
        patience_s=patience_s,
    )
    if world is None:
        script = replace(script, source="mail demo's own world")
    else:
        script = replace(script, world=read_text(world, "world"), source=str(world))
    with _live() as watch:
        outcome = stage.play(script, watch)
    summary = _summary(outcome)
    output.emit(summary, lambda: _show(summary), as_json=as_json)
    if outcome.interrupted:
        raise Interrupted("interrupted before all had it who can be reached")
    if summary["lost"]:
        raise click.exceptions.Exit(output.FAILED)


def _summary(outcome: "Outcome") -> dict[str, object]:
    groups = {
        group: {f"p{share:g}_s": outcome.until_s(group, share / 100) for share in (50, 95, 99)}
        for group in outcome.groups()
    }
    return {
        "subscribers": len(outcome.subscribers),
        "messages": len(outcome.messages),
        "sent": outcome.sent,
        "delivered": outcome.delivered,
        "deferred": outcome.deferred,
        "failed": len(outcome.failed),
        "lost": len(outcome.lost),
        "twice": outcome.twice,
        "times": groups,
        "stored_s": outcome.stored - outcome.submitted,
        "cpu_ms_per_delivery": outcome.cpu_s / max(outcome.delivered, 1) * 1e3,
        "peak_mb": outcome.peak_bytes / 1e6,
        "internet_cpu_s": outcome.internet_cpu_s,
        "interrupted": outcome.interrupted,
    }


def _show(summary: dict[str, object]) -> None:
    from sojourn._internal.terminal import print_lines, print_table
    from sojourn._internal.units import number
    from sojourn.benchmarks.mail.outcome import WHO

    times = summary["times"]
    if not isinstance(times, dict):
        raise TypeError("times are by group")
    heads = ["until this share of them has it", "50 % [s]", "95 % [s]", "99 % [s]"]
    lines = [
        [group, *(number(value) if isfinite(value) else "-" for value in found.values())]
        for group, found in times.items()
    ]
    print_table([lines], heads, numbers=3)
    print_lines(f"  {group}: {WHO[group]}" for group in times)
    if any(value == inf for found in times.values() for value in found.values()):
        print_lines(["  -: not while they were waited for"])
    names = {
        "sent": "sent",
        "delivered": "delivered",
        "deferred": "deferred",
        "failed": "failed",
        "lost": "lost",
        "twice": "twice",
        "cpu_ms_per_delivery": "CPU [ms/delivery]",
        "peak_mb": "peak memory [MB]",
    }
    values = [number(value) for key in names if isinstance(value := summary[key], int | float)]
    print_table([[values]], list(names.values()), numbers=len(names))


@contextmanager
def _live() -> Iterator[Callable[["Moment"], None]]:
    """Who has it, who is waited for: a bar on a terminal, else a line now and then."""
    import sys

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    if not sys.stderr.isatty():
        yield _Lines()
        return
    columns = (
        TextColumn("{task.fields[since]:5.1f} s"),
        BarColumn(),
        TextColumn("{task.completed:.0f} accepted, {task.fields[rate]:.0f}/s, {task.fields[rest]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, since=0.0, rate=0.0, rest="")
        before = (0.0, 0)

        def watch(moment: "Moment") -> None:
            nonlocal before
            elapsed = max(moment.since_s - before[0], 1e-3)
            rate = (moment.taken - before[1]) / elapsed
            before = (moment.since_s, moment.taken)
            counts = moment.progress()
            bar.update(
                task,
                total=moment.reachable,
                completed=moment.taken,
                since=moment.since_s,
                rate=rate,
                rest=f"{counts['deferred']} deferred, {counts['failed']} failed",
            )

        yield watch


class _Lines:
    """A line on standard error every ten seconds."""

    _EVERY_S = 10.0

    def __init__(self) -> None:
        self._next_s = self._EVERY_S

    def __call__(self, moment: "Moment") -> None:
        if moment.since_s < self._next_s:
            return
        self._next_s += self._EVERY_S
        counts = moment.progress()
        taken = f"{moment.taken:,} of {moment.reachable:,} taken over"
        rest = f"{counts['deferred']:,} deferred, {counts['failed']:,} failed"
        click.echo(f"{moment.since_s:.0f} s: {taken}, {rest}", err=True)
