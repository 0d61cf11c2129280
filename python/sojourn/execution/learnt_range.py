"""Cases that ask of a learnt disk what it was not learnt from: sizes, operations, loads."""

from collections.abc import Iterable, Mapping
from math import sqrt
from pathlib import Path

import numpy as np

from sojourn._core import Case, StudyError, quantity
from sojourn._internal.units import PS_PER_S, count, number
from sojourn.store.ledger import Value
from sojourn.store.rows import Column
from sojourn.store.service_list import OPS, OUTSIDE, SERVICES, Range, Services

_NEARLY = 1.1  # rates that are so near to each other count as one


def check(cases: Iterable[Case]) -> None:
    """Refuse cases with a list whose comment cannot be understood.

    Raises:
        InputError: which line of which list.
    """
    for path in dict.fromkeys(path for case in cases if (path := _list_of(case))):
        Services.read(path)


def figures(
    case: Case, replication: int, columns: Mapping[str, Column], totals: Mapping[str, Value]
) -> dict[str, Value]:
    """What a case asks of its disks beyond what these were learnt from, as figures of its run.

    Args:
        case: any; only one with the disk `empirical` has such figures.
        replication: which was simulated; only the first one of a case has such figures, as the
            others ask for the same but for chance.
        columns: its rows.
        totals: its other figures.

    Raises:
        InputError: the list of its disk cannot be read.
    """
    path = _list_of(case) if replication == 0 else None
    if path is None:
        return {}
    services = Services.read(path)
    asked, blocks = _accesses(case, replication, columns)
    said = [
        *_other_ops(services, asked),
        *_other_sizes(services.learnt, case, blocks),
        *_other_rates(services.learnt, case, columns, totals),
    ]
    found: dict[str, Value] = {SERVICES: min(map(services.drawn, asked), default=0)}
    return found | ({OUTSIDE: "; ".join(said)} if said else {})


def _list_of(case: Case) -> Path | None:
    asked = case.parameters
    return Path(str(asked["disk.file"])) if asked.get("disk.kind") == "empirical" else None


def _accesses(
    case: Case, replication: int, columns: Mapping[str, Column]
) -> tuple[list[str], tuple[int, int] | None]:
    """The operations of all accesses, and the least and most blocks of one; None if unknown."""
    own = columns["op"]
    codes = np.asarray(own[0] if isinstance(own, tuple) else own, dtype=np.int64)
    asked = [op for code, op in enumerate(OPS) if np.any(codes == code)]
    if case.parameters["layout.kind"] == "single":
        blocks = np.asarray(columns["blocks"], dtype=np.int64)
        return asked, (int(blocks.min()), int(blocks.max())) if blocks.size else None
    try:
        sizes = case.access_sizes(replication)
    except StudyError:  # not known ahead: a request of a closed loop waits for the one before it
        return asked, None
    ends = [end for both in sizes.values() for end in both]
    return [op for op in OPS if op in sizes], (min(ends), max(ends)) if ends else None


def _other_ops(services: Services, asked: list[str]) -> list[str]:
    lacking = [op for op in asked if not services.counts[op]]
    other = {"read": "write", "write": "read"}
    return [f"no {op} was measured, and {op}s take as long as {other[op]}s" for op in lacking]


def _other_sizes(learnt: Range | None, case: Case, blocks: tuple[int, int] | None) -> list[str]:
    """That accesses are of other sizes; `more` says what each block after the first one takes."""
    if blocks is None:
        return []
    block, (low, high) = quantity(str(case.parameters["block"])), blocks
    same = quantity(str(case.parameters["disk.more"])) == 0
    if learnt is None:
        takes = f"an access of {count(high, 'block')} takes as long as one of a single block"
        return [f"{takes}, as disk.more is 0ps"] if same and high > 1 else []
    sizes = (low * block, high * block) if same else (block, block)
    if sizes == (learnt.size_bytes, learnt.size_bytes):
        return []
    shown = " to ".join(f"{size:,}" for size in dict.fromkeys(sizes))
    return [f"accesses of {shown} bytes, and {learnt.size_bytes:,} bytes were measured"]


def _other_rates(
    learnt: Range | None, case: Case, columns: Mapping[str, Column], totals: Mapping[str, Value]
) -> list[str]:
    """That the busiest disk has more accesses a second than the heaviest load, or fewer."""
    last_ps = float(np.max(np.asarray(columns["arrived_ps"]), initial=0))
    disks = int(case.known([])["disks"])
    accesses = float(totals["accesses"]) / disks
    if learnt is None or not last_ps or not accesses:
        return []
    rate = accesses / last_ps * PS_PER_S
    mean, busiest = (float(totals[f"{name}_utilisation"]) for name in ("disk", "busiest_disk"))
    busier = busiest / mean if mean else 1.0
    nearly = _NEARLY + 3 / sqrt(accesses)
    low, high = learnt.rates
    if rate * busier > high * nearly:
        return [f"a disk has more accesses than the {number(high)}/s of the heaviest measured load"]
    if rate * busier < low / nearly:
        return [f"a disk has fewer accesses than the {number(low)}/s of the lightest measured load"]
    return []
