"""Which connections of a matrix wait for which, and in which order a study has them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sojourn._internal.errors import InputError
from sojourn.htsim.matrix import Connection, Matrix, Trigger

_NAMED = 8
_NOWHERE = (
    "which in a fabric no host knows in time: the message would have to travel; expected a flow of"
    " the same host"
)


Waits: TypeAlias = Sequence[Sequence[int]]
"""For each connection those that it waits for, by their places in the matrix.

Those that end at its source have to be received there; those that start there, its source has to
know to be delivered.
"""


@dataclass
class _Use:
    """Who activates a trigger, as pairs of a place and whether its receiver does, and for whom."""

    sources: list[tuple[int, bool]] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)


def waits(matrix: Matrix) -> Waits:
    """What the triggers of a matrix mean.

    Raises:
        InputError: a trigger has no meaning here, or connections wait for each other in a circle.
    """
    connections = matrix.connections
    awaited: list[list[int]] = [[] for _ in connections]
    for trigger, use in _used(matrix):
        _check(trigger, use)
        for place, by_receiver in use.sources:
            for target in use.targets:
                _expect_knowledge(connections, place, target, by_receiver=by_receiver)
                awaited[target].append(place)
        if any(by_receiver for _, by_receiver in use.sources):
            matrix.notes.append(
                "recv_done_trigger starts connections here; htsim_uec never starts them"
            )
    matrix.notes[:] = dict.fromkeys(matrix.notes)
    return awaited


def _used(matrix: Matrix) -> Iterator[tuple[Trigger, _Use]]:
    uses: Mapping[int, _Use] = defaultdict(_Use)
    for place, connection in enumerate(matrix.connections):
        names = (connection.trigger, connection.sent, connection.received)
        for name in names:
            if name is not None and name not in matrix.triggers:
                raise connection.line.refused(
                    f"trigger {name}, expected a line such as trigger id {name} oneshot"
                )
        if connection.trigger is not None:
            uses[connection.trigger].targets.append(place)
        if connection.sent is not None:
            uses[connection.sent].sources.append((place, False))
        if connection.received is not None:
            uses[connection.received].sources.append((place, True))
    for name, trigger in matrix.triggers.items():
        yield trigger, uses[name]


def _check(trigger: Trigger, use: _Use) -> None:
    """Refuse a trigger that would stop htsim_uec, start nothing, or something by chance."""
    name, sources, targets = f"trigger {trigger.id}", len(use.sources), len(use.targets)
    if not targets:
        return
    if not sources:
        raise trigger.line.refused(f"{name} is activated by no connection, so nothing would start")
    if trigger.kind == "oneshot" and sources > 1:
        raise trigger.line.refused(
            f"{name} is activated {sources} times, expected once for a oneshot; a barrier waits for"
            " several"
        )
    if trigger.kind == "multishot" and (sources, targets) != (1, 1):
        raise trigger.line.refused(
            f"{name} is activated {sources} times for {targets} connections, expected one of each:"
            " which ends first is known nowhere in time"
        )
    if trigger.kind == "barrier" and trigger.count != sources:
        raise trigger.line.refused(
            f"{name} has count {trigger.count}, expected {sources}, as often as it is activated"
        )


def _expect_knowledge(
    connections: Sequence[Connection], place: int, target: int, *, by_receiver: bool
) -> None:
    """Refuse one that waits for what its source does not know at once."""
    awaited, waiting = connections[place], connections[target]
    host = awaited.dst if by_receiver else awaited.src
    if waiting.src != host:
        raise waiting.line.refused(
            f"{waiting.src}->{waiting.dst} waits for {awaited.src}->{awaited.dst} of line"
            f" {awaited.line.number}, whose end is known at host {host}; {_NOWHERE}"
        )


def earliest(matrix: Matrix, waiting: Waits) -> list[int]:
    """When each connection can start at the earliest, in microseconds.

    Raises:
        InputError: some wait for each other.
    """
    starts = [connection.start_us or 0 for connection in matrix.connections]
    for place in _behind(matrix, waiting):
        starts[place] = max([starts[place], *(starts[other] for other in waiting[place])])
    return starts


def study_order(matrix: Matrix, waiting: Waits) -> list[int]:
    """The places of the connections in the order in which a run has its flows.

    They come by arrival, those that wait for others last.
    """
    starts = earliest(matrix, waiting)
    order = _behind(matrix, waiting)
    return sorted(order, key=lambda place: (bool(waiting[place]), starts[place]))


def _behind(matrix: Matrix, waiting: Waits) -> list[int]:
    """The places, each behind those that it waits for (Kahn 1962)."""
    places = range(len(matrix.connections))
    left = [len(waiting[place]) for place in places]
    children: Mapping[int, list[int]] = defaultdict(list)
    for place in places:
        for other in waiting[place]:
            children[other].append(place)
    order = [place for place in places if not left[place]]
    for place in order:
        for child in sorted(children.get(place, ())):
            left[child] -= 1
            if not left[child]:
                order.append(child)
    if len(order) < len(places):
        raise _circle(matrix, [place for place in places if left[place]])
    return order


def _circle(matrix: Matrix, stuck: Sequence[int]) -> InputError:
    numbers = [matrix.connections[place].line.number for place in stuck[:_NAMED]]
    shown = ", ".join(map(str, numbers)) + (", ..." if len(stuck) > _NAMED else "")
    return matrix.refused(f"lines {shown}: they wait for each other, expected an order")
