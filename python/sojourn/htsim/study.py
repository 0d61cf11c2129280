"""A study that simulates what htsim_uec would."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn._internal.errors import one_line
from sojourn._internal.formats import toml_sections
from sojourn._internal.units import BPS_PER_GBPS
from sojourn.htsim import arguments, fabric, matrix, topology_file, waiting
from sojourn.htsim.arguments import PROGRAM, Arguments, refused
from sojourn.htsim.fabric import Tree
from sojourn.htsim.matrix import Matrix
from sojourn.htsim.sizes import HEADER_BYTES, sizes
from sojourn.htsim.waiting import Waits
from sojourn.store.flow_tables import Table, table_of

_US = "us"
_ENDLESS_S = 32_000
_SCHEMES = {
    (True, False): "UET NSCC",
    (False, True): "UET RCCC",
    (True, True): "UET NSCC+RCCC",
}
# What the reference does where the specification says otherwise, or nothing.
_READINGS = {
    "average_weight": 0.0125,
    "last_hop_trims": "quick-adapt",
    "timed_out_entropy": "zero",
    "untimed_acks": "average",
}


@dataclass(frozen=True)
class Made:
    """A study made of htsim_uec's arguments.

    Attributes:
        command: the command line that it stands for.
        tables: the study's parts, without its workload.
        flows: the columns of its flows, a row for each connection in the matrix's order.
        order: the places of the connections in the order in which a run has its flows.
        matrix: the connections.
        end_us: when the run ends; 0 if only with the last flow.
        notes: what the author should know.
    """

    command: str
    tables: Mapping[str, object]
    flows: Mapping[str, Sequence[object]]
    order: Sequence[int]
    matrix: Matrix
    end_us: int
    notes: Sequence[str]

    def text(self, workload: Mapping[str, object]) -> str:
        """The study as TOML, with its flows where `workload` says."""
        return f"# {self.command}\n" + toml_sections({**self.tables, "workload": workload})

    def as_table(self) -> tuple[str, dict[str, Table]]:
        """The study as TOML, and its flows as a table by the name that it has for them."""
        file = self.matrix.file
        return self.text({"kind": "table", "file": file}), {file: table_of(self.flows)}


def made(text: str, base: Path = Path()) -> Made:
    """The study that the arguments `text` ask for; its files are looked for from `base` on.

    Raises:
        InputError: an argument or a file cannot be used, or asks for what cannot be simulated.
    """
    asked = arguments.read(text)
    read = matrix.read(base / asked.matrix)
    tree = _tree(asked, read, base)
    waits = waiting.waits(read)
    starts = waiting.earliest(read, waits)
    topology = fabric.topology(tree, asked.speed)
    scheme = _scheme(asked, tree)
    return Made(
        command=one_line(text if text.strip().startswith(PROGRAM) else f"{PROGRAM} {text}"),
        tables={
            "title": f"{Path(read.file).stem}: {scheme['name']}",
            "completion": "sender",
            "forwarding": "store-and-forward",
            "drain": _drain(asked, read, starts),
            "topology": topology,
            "packets": {
                "payload": f"{asked.packet_bytes - HEADER_BYTES}B",
                "header": f"{HEADER_BYTES}B",
                "ack": f"{HEADER_BYTES}B",
            },
            "hosts": {"overhead": 0.0},
            "scheme": scheme,
            "run": {"seed": asked.seed},
            **({"failure": fabric.failures(tree, asked.failed)} if asked.failed else {}),
        },
        flows=_flows(read, waits),
        order=waiting.study_order(read, waits),
        matrix=read,
        end_us=asked.end_us,
        notes=[*asked.notes, *_about(asked, tree), *read.notes],
    )


def _tree(asked: Arguments, read: Matrix, base: Path) -> Tree:
    if asked.nodes not in (None, read.nodes):
        raise refused("-nodes", f"{asked.nodes}, expected {read.nodes}, as {read.file} has")
    if asked.topology is None:
        return fabric.default_tree(
            asked.tiers, read.nodes, asked.hop_latency, asked.switch_latency, asked.speed
        )
    tree = topology_file.read(base / asked.topology)
    if tree.all_hosts != read.nodes:
        raise refused(
            "-topo", f"{asked.topology} has {tree.all_hosts} hosts, expected {read.nodes}"
        )
    return tree


def _about(asked: Arguments, tree: Tree) -> list[str]:
    """What the author should know about arguments that do not go together."""
    notes = []
    if asked.topology is not None:
        ignored = asked.given & {"-tiers", "-hop_latency", "-switch_latency"}
        notes += [f"{name} has no effect with -topo" for name in sorted(ignored)]
        rate = tree.tiers[0].rate
        if rate != asked.speed:
            ours, theirs = (f"{bits / BPS_PER_GBPS:g} Gb/s" for bits in (asked.speed, rate))
            notes.append(
                f"the hosts' links have -linkspeed, {ours}; {PROGRAM} paces hosts by it, but has"
                f" links of {theirs}, as {asked.topology} says"
            )
    if "-cwnd" in asked.given and not asked.sender_control:
        notes.append("-cwnd has no effect on results with receiver control alone")
    return notes


def _drain(asked: Arguments, read: Matrix, starts: Sequence[int]) -> str:
    """How long after the last start a run goes on."""
    last = max(starts)
    if not asked.end_us:
        return f"{_ENDLESS_S}s"
    if last >= asked.end_us:
        late = read.connections[starts.index(last)]
        raise late.line.refused(
            f"start {last}, expected less than -end, {asked.end_us} us: it would never start"
        )
    return f"{asked.end_us - last}{_US}"


def _scheme(asked: Arguments, tree: Tree) -> dict[str, object]:
    computed = sizes(asked, tree)
    window = asked.window * asked.packet_bytes if asked.sender_control else 0
    return {
        "name": _SCHEMES[asked.sender_control, asked.receiver_control],
        "transport": {
            "spraying": {"kind": asked.spraying, "paths": asked.paths},
            **({"initial_window": f"{window}B"} if window else {}),
            "target": f"{computed.target}ps",
            "rto": f"{computed.rto}ps",
            "ack_every": f"{asked.ack_every_bytes}B",
            "quick_adapt_gate": asked.quick_adapt_gate,
            "oversubscription": _oversubscription(asked, tree),
            **_READINGS,
        },
        "queue": {
            "buffer": f"{computed.buffer}B",
            "mark_from": f"{computed.mark_from}B",
            "mark_all": f"{computed.mark_all}B",
            **({} if asked.trims else {"trims": False}),
        },
    }


def _oversubscription(asked: Arguments, tree: Tree) -> float:
    """By how much receivers hold credit back: only where they alone control."""
    is_on = not asked.sender_control and not asked.never_oversubscribed
    ratio = tree.oversubscription if is_on else 1
    if asked.oversubscribed and ratio == 1:
        raise refused(
            "-oversubscribed_cc",
            "expected receiver control alone and a topology with more bandwidth to hosts than"
            " above, where it is on by itself",
        )
    return float(ratio)


def _flows(read: Matrix, waits: Waits) -> dict[str, Sequence[object]]:
    """The columns of flows; those that wait have no start, and names are places from 0."""
    connections = read.connections
    columns: dict[str, Sequence[object]] = {
        "src": [connection.src for connection in connections],
        "dst": [connection.dst for connection in connections],
        "size_bytes": [connection.size for connection in connections],
        "arrival_us": [connection.start_us for connection in connections],
    }
    if any(waits):
        columns["after"] = [" ".join(map(str, places)) for places in waits]
    return columns
