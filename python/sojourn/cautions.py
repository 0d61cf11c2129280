"""What a user must know before they trust the numbers of a run."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sojourn.ledger import Ledger, Value
from sojourn.sample import Sample
from sojourn.trend import rises
from sojourn.units import count

Case: TypeAlias = Mapping[str, Value | None]

_BUSY = 0.99
_BEYOND = 10
_NAMED = 3


def grows(sample: Sample) -> bool:
    """Whether jobs take longer and longer to the end of their runs, each after its warm-up."""
    return rises([part.metrics["slowdown"][part.kept("slowdown")] for part in sample.parts])


def estimated(meta: Mapping[str, object]) -> list[str]:
    """What is said of a run that was not simulated but estimated."""
    return [str(meta["estimated"])] if "estimated" in meta else []


def unsteady(cases: Sequence[Case]) -> list[str]:
    """What is said of groups whose jobs take longer and longer (`grows`)."""
    if not cases:
        return []
    return [
        f"jobs take longer and longer to the end of the run{_of(cases)}: no steady state,"
        " and a longer run gives other numbers"
    ]


def saturated(ledger: Ledger) -> list[str]:
    """What is said of cases with a station that never rests: there is more work than it can do."""
    cases = [
        record.axes
        for record in ledger
        if any(
            name.startswith("busiest") and isinstance(value, float) and value >= _BUSY
            for name, value in record.figures.items()
        )
    ]
    if not cases:
        return []
    return [f"a station is busy all the time{_of(cases)}: the load is at its capacity or over it"]


def thin(lines: Sequence[int], percentiles: Sequence[float]) -> list[str]:
    """What is said of percentiles that hang on a handful of jobs.

    Args:
        lines: how many jobs each line of a table is about.
        percentiles: those that are shown of each, in per cent.
    """
    few = {
        f"p{p:g}": sum(0 < jobs * min(p, 100 - p) / 100 < _BEYOND for jobs in lines)
        for p in percentiles
        if 0 < p < 100
    }
    said = ", ".join(f"{name} in {many}" for name, many in few.items() if many)
    if not said:
        return []
    of = count(len(lines), "line")
    return [f"percentiles with fewer than {_BEYOND} jobs beyond them, of {of}: {said}"]


def _of(cases: Sequence[Case]) -> str:
    """The cases by what is swept; nothing where nothing is."""
    named = dict.fromkeys(
        ", ".join(f"{name} {value}" for name, value in case.items()) for case in cases
    )
    shown = [name for name in named if name]
    if not shown:
        return ""
    more = len(shown) - _NAMED
    end = f"; and {more} more" if more > 0 else ""
    return f" ({'; '.join(shown[:_NAMED])}{end})"
