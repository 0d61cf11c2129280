"""A choice between arrays as a table for people."""

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import BYTES_PER_GB, PS_PER_MS, bracketed, number
from sojourn.planning import Candidate, Choice


def show(choice: Choice) -> None:
    """Print the candidates by price, and which is the cheapest that meets the target."""
    axes = list(choice.candidates[0].axes)
    of = "mean" if choice.percentile is None else f"p{choice.percentile:g}"
    heads = [*axes, "verdict", "disks", "price", "holds [GB]", f"{of} [ms]", "busy [%]", "runs"]
    lines = [_line(candidate, axes, choice) for candidate in choice.candidates]
    print_table([lines], heads, title=f"{choice.title}: {choice.target}", numbers=6)
    print_lines(f"  {line}" for line in _notes(choice))


def _line(candidate: Candidate, axes: list[str], choice: Choice) -> list[str]:
    why = f": {candidate.why}" if candidate.why and candidate.verdict != "dearer" else ""
    mark = ", cheapest" if candidate is choice.cheapest else ""
    return [
        *(str(candidate.axes[name]) for name in axes),
        f"{candidate.verdict}{why}{mark}",
        "-" if candidate.disks is None else f"{candidate.disks}",
        "-" if candidate.price is None else number(candidate.price),
        "-"
        if candidate.capacity_bytes is None
        else number(candidate.capacity_bytes / BYTES_PER_GB),
        _time(candidate),
        "-" if candidate.utilisation is None else number(candidate.utilisation * 100, 3),
        f"{candidate.replications}" if candidate.simulated else "-",
    ]


def _time(candidate: Candidate) -> str:
    if candidate.value_ps is None:
        return "-" if candidate.least_ps is None else f"> {number(candidate.least_ps / PS_PER_MS)}"
    if candidate.ci95_ps is None:
        return number(candidate.value_ps / PS_PER_MS)
    return f"{number(candidate.value_ps / PS_PER_MS)} {bracketed(candidate.ci95_ps, PS_PER_MS)}"


def _notes(choice: Choice) -> list[str]:
    cheapest = choice.cheapest
    if cheapest is None:
        said = ["no candidate is known to meet the target"]
    else:
        price = number(cheapest.cost)
        said = [f"cheapest that meets it: {_what(cheapest)}, {cheapest.disks} disks, {price}"]
    said.append("[ , ]: 95 % interval; a candidate meets or misses with all of it")
    if any(c.value_ps is None and c.least_ps is not None for c in choice.candidates):
        said.append(">: not simulated; what it would be without any waiting")
    said += [_caution(c) for c in choice.candidates if c.uneven]
    return said + [
        f"caution: {_what(c)}, beyond what the disk was learnt from: {c.outside_learnt}"
        for c in choice.candidates
        if c.outside_learnt
    ]


def _caution(candidate: Candidate) -> str:
    busiest, mean = candidate.utilisation or 0, candidate.mean_utilisation or 0
    return (
        f"caution: of {_what(candidate)} one disk is busier than its fellows: {busiest:.0%} of the"
        f" time, in the mean they are {mean:.0%}"
    )


def _what(candidate: Candidate) -> str:
    return ", ".join(f"{name} {value}" for name, value in candidate.axes.items())
