"""A choice between arrays as a table for people."""

from collections.abc import Sequence

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import BYTES_PER_GB, PS_PER_MS, bracketed, count, number
from sojourn.planning.candidate import DEARER, Candidate, Choice

_NAMED = 5
"""Candidates that one line names; it counts the others."""

_SHORT = 32
"""Letters of a reason that stands in the table; longer ones are notes below it."""


def show(choice: Choice) -> None:
    """Print the candidates by price, and which is the cheapest that meets the target."""
    offers = {candidate.offer for candidate in choice.candidates}
    axes = list(dict.fromkeys(name for c in choice.candidates for name in c.settings))
    first = ["offer", *axes] if len(offers) > 1 else axes
    of = "mean" if choice.percentile is None else f"p{choice.percentile:.10g}"
    heads = [*first, "verdict", "disks", "price", "holds [GB]", f"{of} [ms]", "busy [%]", "runs"]
    marks = {choice.cheapest.case: ", cheapest"} if choice.cheapest else {}
    marks |= {candidate.case: ", as cheap" for candidate in choice.ties}
    lines = [_line(c, first, marks.get(c.case, "")) for c in choice.candidates]
    print_table([lines], heads, title=f"{choice.title}: {choice.target}", numbers=6)
    print_lines(f"  {line}" for line in _notes(choice))


def _line(candidate: Candidate, first: Sequence[str], mark: str) -> list[str]:
    why = f": {candidate.why}" if _explained(candidate) and len(candidate.why) <= _SHORT else ""
    named = {"offer": candidate.offer} | candidate.settings
    return [
        *(named.get(name, "-") for name in first),
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


def _explained(candidate: Candidate) -> bool:
    """Whether the verdict has a reason that the note on all such candidates does not give."""
    return bool(candidate.why) and candidate.verdict != DEARER


def _time(candidate: Candidate) -> str:
    if candidate.value_ps is None:
        sign = "=" if candidate.exact else ">"
        least = candidate.least_ps
        return "-" if least is None else f"{sign} {number(least / PS_PER_MS)}"
    if candidate.ci95_ps is None:
        return number(candidate.value_ps / PS_PER_MS)
    return f"{number(candidate.value_ps / PS_PER_MS)} {bracketed(candidate.ci95_ps, PS_PER_MS)}"


def _notes(choice: Choice) -> list[str]:
    notes = [*_result(choice), "[ , ]: 95 % interval; a candidate meets or misses with all of it"]
    by_formulas = [c for c in choice.candidates if c.value_ps is None and c.least_ps is not None]
    if any(c.exact for c in by_formulas):
        notes.append("=: not simulated; exact by formulas")
    if any(not c.exact for c in by_formulas):
        least = "a lower bound by formulas" if choice.percentile is None else "if no request waits"
        notes.append(f">: not simulated; {least}")
    reasons = [
        f"{c.verdict}: {c}: {c.why}"
        for c in choice.candidates
        if _explained(c) and len(c.why) > _SHORT
    ]
    notes += [*reasons, *(_caution(c) for c in choice.candidates if c.uneven)]
    return notes + [
        f"caution: {c}, beyond what the disk was learnt from: {c.outside_learnt}"
        for c in choice.candidates
        if c.outside_learnt
    ]


def _result(choice: Choice) -> list[str]:
    """What is chosen, what costs as much, and what may be cheaper."""
    cheapest, unclear = choice.cheapest, choice.cheaper_unclear
    if cheapest is None:
        said = ["no candidate is known to meet the target"]
        return [*said, f"unclear: {_names(unclear)}"] if unclear else said
    said = [f"cheapest that meets it: {cheapest}, price {number(cheapest.cost)}"]
    if choice.ties:
        said.append(f"as cheap, and meets it too: {_names(choice.ties)}")
    if unclear:
        said.append(f"cheaper, and unclear: {_names(unclear, priced=True)}")
    return said


def _names(candidates: Sequence[Candidate], *, priced: bool = False) -> str:
    """The first few candidates by name, and how many others there are."""
    named = [f"{c}, price {number(c.cost)}" if priced else f"{c}" for c in candidates[:_NAMED]]
    left = len(candidates) - len(named)
    return "; ".join([*named, f"and {count(left, 'other')}"] if left else named)


def _caution(candidate: Candidate) -> str:
    busiest, mean = candidate.busiest_utilisation or 0, candidate.utilisation or 0
    return (
        f"caution: {candidate}: one disk is busier than the others, {100 * busiest:.3g} % of the"
        f" time; they are {100 * mean:.3g} % busy on average"
    )
