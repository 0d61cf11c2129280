"""Other people's simulators beside ours: the same study, and what a unit of it costs them.

Each is a program of its own in this folder, written as its users would write it, and runs where
what it needs is installed. They draw for themselves what a study leaves to chance, so their times
are near ours, not equal to them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from peers import array, fabric
from peers.simulator import Outcome, Simulator
from sojourn._internal.units import NS_PER_S
from sojourn._internal.vocabulary import models
from sojourn.benchmarks import user_classes
from sojourn.benchmarks.engine import Cost


@dataclass(frozen=True)
class Contest:
    """A benchmark that others can do too.

    Attributes:
        case: its name.
        asked: the cases by which it is asked for.
        task: of its study, what the others read, and what this project's engine does with it,
            without its costs.
        simulators: all of them, those that lack something too.
    """

    case: str
    asked: tuple[str, ...]
    task: Callable[[str], tuple[str, Outcome]]
    simulators: Callable[[], Sequence[Simulator]]


def contests(model: str) -> list[Contest]:
    """Those of a model."""
    if model == "array":
        return [Contest(array.CASE, (array.CASE,), array.task, array.simulators)]
    with_dctcp = partial(fabric.task, flows=fabric.FLOWS_OF_DCTCP)
    return [
        Contest(fabric.CASE, (fabric.CASE,), fabric.task, fabric.simulators),
        Contest(fabric.DCTCP, tuple(user_classes.CASES), with_dctcp, fabric.with_dctcp),
    ]


def measure(
    model: str,
    studies: Mapping[str, str],
    *,
    say: Callable[[str], None],
    warn: Callable[[str], None],
) -> list[Cost]:
    """What benchmarks that others can do cost each simulator that is installed.

    Args:
        model: of the benchmarks.
        studies: those that were asked for; without one that others can do nothing is done.
        say: is called with what is being done.
        warn: is called with what is left out, and why.

    Raises:
        InputError: a simulator failed.
    """
    known = contests(model)
    found = next((one for one in known if one.case in studies), None)
    if found is None:
        asked = [case for one in known for case in one.asked]
        warn(f"beside: of the benchmarks, others can only do {', '.join(asked)}")
        return []
    costs = []
    reads, _ = found.task(studies[found.case])
    for simulator in found.simulators():
        if simulator.missing:
            warn(f"{simulator.name}: left out, it lacks {simulator.missing}")
            continue
        say(f"{found.case}: {simulator.name}")
        done = simulator.run(reads)
        costs.append(
            Cost(
                case=f"{found.case.removesuffix(' built in')} ({simulator.name})",
                unit=next(iter(models()[model].work)),
                units=done.units,
                cpu_s=done.cpu_s,
                per_cpu_s=done.units / done.cpu_s,
                ns_per_unit=done.cpu_s / done.units * NS_PER_S,
                instructions_per_unit=None,
                peak_mb=done.peak_mb,
            )
        )
    return costs
