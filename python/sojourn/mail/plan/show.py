"""A plan for a list as tables for people."""

import math
from collections.abc import Mapping

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import bracketed, number
from sojourn.analysis.statistics import Interval
from sojourn.mail.plan import Planned, Side
from sojourn.mail.plan.causes import Cause
from sojourn.mail.plan.predict import PERCENTILES


def show(planned: Planned, files: Mapping[str, str]) -> None:
    """Print a plan and where its files are."""
    sides = {"now": planned.now, "plan": planned.plan}
    heads = ["", *(f"{p} % [s]" for p in PERCENTILES), "delivered [%]"]
    lines = [line for name, side in sides.items() for line in _times(name, side)]
    title = f"Until so many of the deliveries were made, {_whom(planned)}"
    print_table([lines], heads, title=title, numbers=len(heads) - 1)
    for name, side in sides.items():
        heads = [f"without, {name}", *(f"{p} % sooner by [%]" for p in PERCENTILES)]
        lines = [_cause(cause) for cause in side.causes]
        print_table([lines], heads, numbers=len(heads) - 1)
    print_lines(_notes(planned, files))


def _whom(planned: Planned) -> str:
    world = planned.scenario.world
    unknown = f", {world.unknown_domains:,} domains unknown" if world.unknown_domains else ""
    return f"{world.subscribers:,} subscribers{unknown}"


def _times(name: str, side: Side) -> list[list[str]]:
    predicted = side.predicted
    delivered = predicted.delivered > 0
    times = [number(predicted.within_s(percentile)) for percentile in PERCENTILES]
    ends = [bracketed(side.of_one[percentile]) if delivered else "-" for percentile in PERCENTILES]
    return [[name, *times, number(predicted.delivered * 100)], ["one mailing", *ends, ""]]


def _cause(cause: Cause) -> list[str]:
    return [cause.name, *(_share(*cause.shares[p]) for p in PERCENTILES)]


def _share(share: float, interval: Interval | None) -> str:
    if math.isnan(share):
        return "-"
    per_cent = share * 100
    ends = [f"{end * 100:.0f}" for end in interval or ()]
    return f"{round(per_cent)} [{', '.join(ends)}]" if len(set(ends)) > 1 else f"{round(per_cent)}"


def _notes(planned: Planned, files: Mapping[str, str]) -> list[str]:
    said = [
        "  one mailing: between which times 95 of 100 mailings are, as far as the log knows hosts;",
        "  above it all replications together; [ , ] of shares: 95 % interval over replications,",
        "  in which all policies face the same hosts and outages",
        "  shares need not sum to 100: causes hide each other, or make each other worse; below 0,",
        "  more is delivered without that cause, and what comes later counts too",
        f"  {planned.tried:,} policies tried; changed:",
    ]
    said += [
        f"    {step.setting} = {step.value}: {planned.percentile} % after {number(step.within_s)} s"
        for step in planned.steps
    ]
    if not planned.steps:
        said[-1] = f"  {planned.tried:,} policies tried; none is better for sure"
    said += [f"  {note}" for note in planned.scenario.world.notes]
    for mailer, lines in planned.elsewhere.items():
        said += ["", f"{mailer}:", *(f"  {line}" for line in lines)]
    return [*said, "", *(f"{what}: {path}" for what, path in files.items())]
