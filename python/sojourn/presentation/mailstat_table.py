"""mailstat's numbers as tables for people."""

from collections.abc import Iterator, Sequence

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import count
from sojourn.maillog.source import wall
from sojourn.maillog.stats import Ended, Group, Stats
from sojourn.maillog.times import span


def show(stats: Stats, by: Sequence[str], wanted: Sequence[float], top: int | None) -> None:
    """Print what was asked for: by `hour`, as in figures 3 and 4, by `age`, by `domain`."""
    if "hour" in by:
        print_lines(hours(stats))
    heads = [
        "attempts",
        "delivered",
        "deferred",
        "bounced",
        *(f"delay p{p:g}" for p in wanted),
        *(f"attempt p{p:g}" for p in wanted),
        *(f"in vain p{p:g}" for p in wanted),
    ]
    if "age" in by:
        lines = [_line(group, wanted) for group in stats.ages]
        print_table(
            [lines, [_line(stats.all, wanted)]], ["age of the message", *heads], numbers=len(heads)
        )
    if "domain" in by:
        lines = [_line(group, wanted) for group in stats.domains[:top]]
        print_table([lines], ["domain", *heads], numbers=len(heads))
        left = len(stats.domains) - len(lines)
        if left:
            print_lines([f"  {count(left, 'domain')} more (--top)"])
    print_lines(f"  {line}" for line in [_delays(stats.all, wanted), *stats.log.notes()] if line)


def hours(stats: Stats) -> Iterator[str]:
    """The paper's table: a line an hour, messages at hosts and recipients."""
    ends = [stats.log.counts["first_us"], stats.log.counts["last_us"]]
    said = [f"{wall(end):%a %b %d %H:%M:%S %Y}" for end in ends if end is not None]
    yield f"mailstat: {' to '.join(said)}"
    yield from mailstat(
        [(f"{wall(start):%b %d %H}", ended) for start, _, ended in stats.hours if ended.recipients]
    )


def mailstat(hours: Sequence[tuple[str, Ended]]) -> Iterator[str]:
    """The table itself: hours by name, and their sum."""
    yield f"{'':10}{'failed':>20}   {'deliveries':>20}"
    yield f"MMM DD HH {'mhosts/recipient':>20}   {'mhosts/recipient':>20}"
    yield f"=== == == {'========= =========':>20}   {'========= =========':>20}"
    for name, ended in hours:
        yield _hour(name, ended)
    yield _hour("Totals", Ended.sum([ended for _, ended in hours]))


def _hour(name: str, ended: Ended) -> str:
    failed = f"{ended.failed_hosts:>10}/{ended.failed_recipients:>9}"
    delivered = f"{ended.delivered_hosts:>10}/{ended.delivered_recipients:>9}"
    return f"{name:<10}{failed}   {delivered}"


def _line(group: Group, wanted: Sequence[float]) -> list[str]:
    ended = group.ended
    counts = (
        ended.recipients,
        ended.delivered_recipients,
        ended.deferred_recipients,
        ended.bounced_recipients,
    )
    times = [
        "-" if value is None else span(value)
        for histogram in (group.delay, group.took, group.in_vain)
        for value in histogram.percentiles(wanted)
    ]
    return [group.name, *(f"{count:,}" for count in counts), *times]


def _delays(group: Group, wanted: Sequence[float]) -> str:
    values = group.delay.percentiles(wanted)
    shown = [f"p{p:g} {span(v)}" for p, v in zip(wanted, values, strict=True) if v is not None]
    return f"delay of deliveries: {', '.join(shown)}" if shown else ""
