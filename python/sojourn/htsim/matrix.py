"""htsim's connection matrices, `*.cm` and `*.tm`: a head, then connections and triggers."""

from dataclasses import dataclass, field
from pathlib import Path

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.htsim.lines import LARGEST_NUMBER, Line, lines_of, whole

_HEAD = ("Nodes", "Connections", "Triggers", "Failures")
_KEYS = ("id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "msg")
_KINDS = ("oneshot", "multishot", "barrier")
_MOST_NODES = 1 << 16
_MOST_CONNECTIONS = 2_000_000
_LATEST_US = 1_000_000_000
_LARGEST_SIZE = 2**31 - 1

MESSAGES = "messages on one connection are not simulated yet"
"""Why `msg` and `-conn_reuse` are refused."""


@dataclass(frozen=True)
class Connection:
    """A flow between two hosts: `start_us` says when it starts, or `trigger` after what.

    `sent` and `received` are the triggers that it activates when its sender, or its receiver,
    knows that all has arrived.
    """

    line: Line
    src: int
    dst: int
    size: int
    id: int | None = None
    start_us: int | None = None
    trigger: int | None = None
    sent: int | None = None
    received: int | None = None


@dataclass(frozen=True)
class Trigger:
    """What starts connections when others have ended; `count` is that of a barrier."""

    line: Line
    id: int
    kind: str
    count: int


@dataclass
class Matrix:
    """What a file says. `notes` are what its author should know about how it was read."""

    file: str
    nodes: int
    connections: list[Connection] = field(default_factory=list)
    triggers: dict[int, Trigger] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def refused(self, what: str) -> InputError:
        """The error that names this file."""
        return InputError(f"{self.file}: {what}")


def read(path: Path) -> Matrix:
    """The matrix that a file holds.

    Raises:
        InputError: it cannot be read, is no such file, or has what cannot be simulated.
    """
    head: dict[str, int] = {}
    matrix = Matrix(str(path), 0)
    cut = ignored = False
    for line in lines_of(path, "connection matrix"):
        first = line.words[0]
        if first in _HEAD:
            if first in head:
                raise line.refused(f"{first} again, expected it once")
            if matrix.connections or matrix.triggers:
                raise line.refused(f"{first}, expected it above all connections")
            head[first] = line.whole(1, 0, _MOST_CONNECTIONS)
        elif first == "trigger":
            _add_trigger(matrix, _trigger(line))
        elif first == "failure":
            raise line.refused(
                "failure, expected none: htsim_uec itself stops at the first packet that wants such"
                " a switch; -failed N degrades links"
            )
        elif "->" in first:
            connection = _connection(line, _nodes(line, head))
            matrix.connections.append(connection)
            cut |= any(word == "start" and "." in at for word, at in _pairs(line))
            ignored |= "prio" in line.words
            if len(matrix.connections) > _MOST_CONNECTIONS:
                raise line.refused(f"expected at most {_MOST_CONNECTIONS:,} connections")
        else:
            near = did_you_mean(first, [*_HEAD, "trigger"], otherwise="")
            expected = "expected a connection such as 1->2, a trigger, or a line of the head"
            raise line.refused(f"{first!r}, {expected}{near}")
    _check(matrix, head)
    if cut:
        matrix.notes.append("start times are cut to whole microseconds, as htsim_uec does")
    if ignored:
        matrix.notes.append("the priorities of connections (prio) are ignored, as in htsim_uec")
    return matrix


def _pairs(line: Line) -> list[tuple[str, str]]:
    return [*zip(line.words, line.words[1:], strict=False)]


def _nodes(line: Line, head: dict[str, int]) -> int:
    if "Nodes" not in head:
        raise line.refused("expected a line such as Nodes 16 above the connections")
    return head["Nodes"]


def _connection(line: Line, nodes: int) -> Connection:
    ends = [whole(end) for end in line.words[0].split("->")]
    if len(ends) != 2 or None in ends:
        raise line.refused(f"{line.words[0]!r}, expected a connection such as 1->2")
    src, dst = (end for end in ends if end is not None)
    for host in (src, dst):
        if host >= nodes:
            raise line.refused(f"host {host}, expected one from 0 to {nodes - 1}")
    if src == dst:
        raise line.refused(f"{line.words[0]}, expected two different hosts")
    found: dict[str, int] = {}
    place = 1
    while place < len(line.words):
        key = line.words[place]
        if key == "msg":
            raise line.refused(f"msg: {MESSAGES}")
        if key not in _KEYS:
            raise line.refused(f"unknown {key!r}{did_you_mean(key, _KEYS)}")
        if key in found:
            raise line.refused(f"{key} again, expected it once")
        found[key] = _start(line, place + 1) if key == "start" else _number(line, key, place + 1)
        place += 2
    if "size" not in found:
        raise line.refused("no size, expected one: a connection without would never end")
    if ("start" in found) == ("trigger" in found):
        raise line.refused("expected either a start or a trigger")
    return Connection(
        line=line,
        src=src,
        dst=dst,
        size=found["size"],
        id=found.get("id"),
        start_us=found.get("start"),
        trigger=found.get("trigger"),
        sent=found.get("send_done_trigger"),
        received=found.get("recv_done_trigger"),
    )


def _number(line: Line, key: str, place: int) -> int:
    most = _LARGEST_SIZE if key == "size" else LARGEST_NUMBER
    return line.whole(place, 0 if key == "prio" else 1, most)


def _start(line: Line, place: int) -> int:
    """A start time, of which htsim_uec takes the whole microseconds."""
    given = line.words[place] if place < len(line.words) else ""
    before, dot, after = given.partition(".")
    found = whole(before)
    if found is None or found > _LATEST_US or (dot and whole(after) is None and after):
        expected = f"expected microseconds from 0 to {_LATEST_US:,}"
        raise line.refused(f"start {given!r}, {expected}")
    return found


def _trigger(line: Line) -> Trigger:
    found: dict[str, int] = {}
    kinds = []
    place = 1
    while place < len(line.words):
        word = line.words[place]
        if word in _KINDS:
            kinds.append(word)
            place += 1
        elif word in ("id", "count"):
            if word in found:
                raise line.refused(f"{word} again, expected it once")
            found[word] = line.whole(place + 1, 1)
            place += 2
        else:
            raise line.refused(f"unknown {word!r}{did_you_mean(word, ['id', 'count', *_KINDS])}")
    if "id" not in found:
        raise line.refused("a trigger without id, expected one")
    if len(kinds) != 1:
        raise line.refused(f"trigger {found['id']}, expected one of {', '.join(_KINDS)}")
    if (kinds[0] == "barrier") != ("count" in found):
        raise line.refused(
            f"trigger {found['id']}, expected a count for a barrier, and for no other kind"
        )
    return Trigger(line, found["id"], kinds[0], found.get("count", 1))


def _add_trigger(matrix: Matrix, trigger: Trigger) -> None:
    if trigger.id in matrix.triggers:
        raise trigger.line.refused(f"trigger {trigger.id} again, expected it once")
    matrix.triggers[trigger.id] = trigger


def _check(matrix: Matrix, head: dict[str, int]) -> None:
    nodes = head.get("Nodes")
    if nodes is None or not 2 <= nodes <= _MOST_NODES:
        expected = f"expected a line Nodes N, from 2 to {_MOST_NODES:,}"
        raise matrix.refused(f"no such number of nodes, {expected}")
    matrix.nodes = nodes
    there = {"Connections": len(matrix.connections), "Triggers": len(matrix.triggers)}
    for key, number in (*there.items(), ("Failures", 0)):
        promised = head.get(key, 0)
        if promised != number:
            raise matrix.refused(f"{key} {promised}, but there are {number}; expected the same")
    if not matrix.connections:
        raise matrix.refused("no connections, expected at least one")
    ids: dict[int, int] = {}
    for connection in matrix.connections:
        if connection.id is not None:
            other = ids.setdefault(connection.id, connection.line.number)
            if other != connection.line.number:
                raise connection.line.refused(
                    f"id {connection.id}, which line {other} has, expected another"
                )
