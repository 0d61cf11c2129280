"""What formulas say of a candidate, before anything is simulated."""

from collections.abc import Mapping
from dataclasses import replace

from sojourn._core import CandidateList, Case
from sojourn.planning.candidate import IMPOSSIBLE, OVERLOADED, SLOW, SMALL, Candidate
from sojourn.planning.target import Target
from sojourn.store.ledger import Value

# Figures that say how busy the disks have to be. The first is the one that words about run length
# quote; formulas of means know some arrays that it does not.
_LOADS = ("queue_utilisation", "offered_utilisation")

OVERLOAD = "more arrives than it can serve"


def reason(error: str) -> str:
    """What is wrong, without the file's name and line, which all candidates share."""
    return error.split(": ", 1)[-1]


def impossible(index: int, axes: dict[str, Value], why: str, offer: str) -> Candidate:
    """A candidate that no array can be."""
    return Candidate(
        case=index,
        axes=axes,
        disks=None,
        price=None,
        capacity_bytes=None,
        offer=offer,
        verdict=IMPOSSIBLE,
        why=why,
    )


def known(
    candidates: CandidateList, target: Target, capacity_bytes: int | None, case: Case
) -> Candidate:
    """A candidate, judged by its size and by formulas, as far as these decide.

    Args:
        candidates: the list that has it.
        target: what it has to meet.
        capacity_bytes: what it has to hold; None where the plan does not say.
        case: its case.
    """
    price, capacity = candidates.priced_disk(case)
    figures = case.known([] if target.percentile is None else [target.percentile])
    exact = figures.get("exact_mean_sojourn_ps") if target.percentile is None else None
    least = figures.get(f"least_{target.name}_sojourn_ps") if exact is None else exact
    candidate = Candidate(
        case=case.index,
        axes=case.axes,
        disks=int(figures["disks"]),
        price=price * int(figures["disks"]),
        offer=candidates.name(case),
        capacity_bytes=None if capacity is None else capacity * int(figures["data_disks"]),
        least_ps=None if least is None else float(least),
        exact=exact is not None,
        utilisation=computed_load(figures),
    )
    found = figures.get("busiest_offered_utilisation")
    busiest = None if found is None else float(found)
    return _judged(candidate, capacity_bytes, busiest, target)


def computed_load(figures: Mapping[str, Value]) -> float | None:
    """The share of the time that disks have to be busy by formulas; None where they know none."""
    found = (float(figures[name]) for name in _LOADS if name in figures)
    return next(found, None)


def _judged(
    candidate: Candidate, capacity_bytes: int | None, busiest: float | None, target: Target
) -> Candidate:
    own, load, least = candidate.capacity_bytes, candidate.utilisation, candidate.least_ps
    if capacity_bytes is not None and own is not None and own < capacity_bytes:
        return replace(candidate, verdict=SMALL, why="holds too little")
    if max(load or 0, busiest or 0) >= 1:
        return replace(candidate, verdict=OVERLOADED, why=OVERLOAD)
    if least is not None and target.excludes(least):
        return replace(candidate, verdict=SLOW, why=_why_slow(target, exact=candidate.exact))
    return candidate


def _why_slow(target: Target, *, exact: bool) -> str:
    if target.percentile is not None:
        return "even if no request waits"
    return "its exact mean" if exact else "a lower bound of its mean"
