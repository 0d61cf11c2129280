"""The candidates of a plan: what its text asks, read into cases that can run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sojourn._core import CandidateList, Case, Plan
from sojourn._internal.units import count
from sojourn.execution import inputs
from sojourn.planning.bounds import impossible, known, reason
from sojourn.planning.candidate import Candidate
from sojourn.planning.target import Target

Pairs: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Entry:
    """A candidate, judged as far as formulas can, and its case, None where it is impossible."""

    candidate: Candidate
    case: Case | None


@dataclass(frozen=True)
class Shortlist:
    """A plan that was read: its target and its candidates, none of them simulated yet.

    `replications` is how often a candidate is simulated at most.
    """

    title: str
    target: Target
    capacity_bytes: int | None
    replications: int
    entries: tuple[Entry, ...]


def read(text: str, source: str, overrides: Pairs) -> Shortlist:
    """Read a plan.

    Args:
        text: the plan, TOML.
        source: its name in messages; files that it names are beside it.
        overrides: (path, value) pairs laid over it.

    Raises:
        StudyError: the text or an override is not a plan that can be run.
    """
    plan = inputs.parse(Plan, text, source, list(overrides))
    lists = plan.lists
    entries = [entry for candidates in lists for entry in _entries(plan, candidates)]
    if len(lists) > 1:  # each list counts its own
        entries = [
            replace(entry, candidate=replace(entry.candidate, case=number))
            for number, entry in enumerate(entries)
        ]
    return Shortlist(
        title=plan.title,
        target=Target.of(plan),
        capacity_bytes=plan.capacity_bytes,
        replications=plan.replications,
        entries=tuple(entries),
    )


def _entries(plan: Plan, candidates: CandidateList) -> Iterator[Entry]:
    """The candidates of a list: those that are possible, and then the others."""
    target, counts = Target.of(plan), candidates.counts
    for case in candidates.study.cases():
        candidate = known(candidates, target, plan.capacity_bytes, case)
        if counts and candidate.disks is not None and candidate.disks not in counts:
            why = f"has {count(candidate.disks, 'disk')}: not on offer"
            refused = impossible(candidate.case, candidate.axes, why, candidate.offer)
            yield Entry(refused, None)
        else:
            yield Entry(candidate, case)
    for index, axes, name, why in candidates.refused:
        yield Entry(impossible(index, axes, reason(why), name), None)
