"""A plan for a list as tables for people."""

import math
from collections.abc import Mapping

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import bracketed, number
from sojourn.analysis.statistics import Interval
from sojourn.mail.plan import Planned, Side
from sojourn.mail.plan.causes import Cause
from sojourn.mail.plan.logged import Explained
from sojourn.mail.plan.predict import PERCENTILES


def show(planned: Planned, files: Mapping[str, str]) -> None:
    """Print a plan and where its files are."""
    sides = {"now": planned.now, "plan": planned.plan}
    heads = _heads()
    lines = [line for name, side in sides.items() for line in _times(name, side)]
    if planned.explained is not None:
        lines = [*_logged(planned.explained), *lines]
    title = f"Time until this share of the deliveries was made, {_whom(planned)}"
    print_table([lines], heads, title=title, numbers=len(heads) - 1)
    for name, side in sides.items():
        heads = [f"without, {name}", *(f"{p} % earlier by [%]" for p in PERCENTILES)]
        lines = [_cause(cause) for cause in side.causes]
        print_table([lines], heads, numbers=len(heads) - 1)
    print_lines(_notes(planned, files))


def show_logged(explained: Explained) -> None:
    """Print a log next to the model of it, and why the model does not explain it."""
    print_table([_logged(explained)], _heads(), title=_LOGGED, numbers=len(_heads()) - 1)
    if explained.holds:
        print_lines([f"  the model explains this log; its settings: {explained.server.source}"])
        return
    said = ["the model cannot explain this log:", *explained.reasons()]
    print_lines([said[0], *(f"  {line}" for line in said[1:])])


_SHOWN = 5  # lines of one change
_LOGGED = "Time until this share of the log's deliveries was made"


def _heads() -> list[str]:
    return ["", *(f"{p} % [s]" for p in PERCENTILES), "delivered [%]"]


def _logged(explained: Explained) -> list[list[str]]:
    predicted = explained.predicted
    modelled_s = {percentile: predicted.within_s(percentile) for percentile in PERCENTILES}
    rows = {
        "as logged": [*explained.times_s.values(), explained.delivered * 100],
        "model of it": [*modelled_s.values(), predicted.delivered * 100],
    }
    return [[name, *map(number, numbers)] for name, numbers in rows.items()]


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
        f"  settings now: {planned.server.source}",
        *(f"  not modelled: {it}" for it in planned.server.not_modelled),
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
    said += _advice(planned)
    return [*said, "", *(f"{what}: {path}" for what, path in files.items())]


def _advice(planned: Planned) -> list[str]:
    if not planned.advice:
        gain = "no change of settings gains more than the interval of one mailing"
        return ["", f"{planned.server.mailer}: leave it as it is: {gain}"]
    said = ["", f"{planned.server.mailer}: change"]
    for one in planned.advice:
        more = len(one.lines) - _SHOWN
        said += [
            f"  {one.file}:",
            *(f"    {line}" for line in one.lines[:_SHOWN]),
            *([f"    ... and {more:,} more lines like it (--json has all)"] if more > 0 else []),
            f"    it does: {one.does}",
            f"    it may harm: {one.harms}",
        ]
    return said
