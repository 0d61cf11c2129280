"""The table of what iterations wait for."""

from collections.abc import Sequence

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import number
from sojourn.analysis.critical_path import Spent
from sojourn.store.ledger import Value, written

_HEADS = ("spent on", "for", "where", "steps", "time [ms]", "share [%]")
_NOTES = (
    "critical path: what the rank that ends last has waited for, back to the begin; its steps have"
    " no gaps, so that their times add up to the iteration",
    "server: not simulated packet by packet, but by a closed form",
)


def show(title: str, found: Sequence[Spent]) -> None:
    """Print a line for each thing that the paths of a group spend time on."""
    groups: list[list[list[str]]] = []
    before: dict[str, Value | None] | None = None
    for own in found:
        case = ["" if value is None else written(value) for value in own.case.values()]
        cells = [own.operation, own.label, own.where, number(own.steps)]
        cells += [number(own.time_ms), number(100 * own.share)]
        if own.case == before:
            groups[-1].append([*("" for _ in case), *cells])
        else:
            groups.append([[*case, *cells]])
        before = dict(own.case)
    print_table(groups, [*found[0].case, *_HEADS], title=title, numbers=3)
    print_lines(f"  {line}" for line in _NOTES)
