"""Cases that ask of a learnt disk what it was not learnt from: sizes, operations, loads."""

from collections.abc import Iterable, Mapping
from math import sqrt
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn._core import Case, SpecError, quantity
from sojourn._internal.units import PS_PER_S, count, number
from sojourn.store.ledger import Value
from sojourn.store.rows import Column
from sojourn.store.service_list import OPS, OUTSIDE, SERVICES, Range, Services

_NEARLY = 1.1  # rates that are so near to each other count as one

Ints: TypeAlias = npt.NDArray[np.int64]


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
        replication: which was simulated.
        columns: its rows.
        totals: its other figures.

    Raises:
        InputError: the list of its disk cannot be read.
    """
    if (path := _list_of(case)) is None:
        return {}
    services = Services.read(path)
    ops, blocks = _accesses(case, replication, columns)
    asked = [op for code, op in enumerate(OPS) if np.any(ops == code)]
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
) -> tuple[Ints, Ints | None]:
    """The operation and the blocks of each access; no blocks where a layout does not tell."""
    own = columns["op"]
    codes = np.asarray(own[0] if isinstance(own, tuple) else own, dtype=np.int64)
    if case.parameters["layout.kind"] == "single":
        return codes, np.asarray(columns["blocks"], dtype=np.int64)
    try:
        offered = case.offered(replication)
    except SpecError:  # accesses are not known ahead: erasure reads from all disks, closed loops
        return codes, None
    op = offered["op"]
    codes = np.asarray(op[0] if isinstance(op, tuple) else op, dtype=np.int64)
    return codes, np.asarray(offered["blocks"], dtype=np.int64)


def _other_ops(services: Services, asked: list[str]) -> list[str]:
    lacking = [op for op in asked if not services.counts[op]]
    other = {"read": "write", "write": "read"}
    return [f"no {op} was measured, and {op}s take as long as {other[op]}s" for op in lacking]


def _other_sizes(learnt: Range | None, case: Case, blocks: Ints | None) -> list[str]:
    """That accesses are of other sizes; `more` says what each block after the first one takes."""
    if blocks is None or not blocks.size:
        return []
    block, low, high = quantity(str(case.parameters["block"])), int(blocks.min()), int(blocks.max())
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
