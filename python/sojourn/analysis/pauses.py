"""Who stopped whom: what pauses did to links of the fabric, on average over the runs of a case."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sojourn._internal.units import PS_PER_MS
from sojourn.analysis.sample import Group
from sojourn.store import rows
from sojourn.store.ledger import Record, Value
from sojourn.store.run_directory import PAUSES, RunDirectory

SIMULATED = "simulated_ps"


@dataclass(frozen=True)
class Stopped:
    """A link whose sending port was stopped.

    Attributes:
        case: the values of the group's columns.
        by: the switch that sent the pauses, as a name.
        whom: the host or switch whose port was stopped, as a name.
        pauses: how often, a run.
        paused_ms: for how long, a run.
        share: of the time of the runs, a port's share where there are several links between two.
    """

    case: Mapping[str, Value | None]
    by: str
    whom: str
    pauses: float
    paused_ms: float
    share: float


def of_group(group: Group, directory: RunDirectory) -> list[Stopped]:
    """The links that were stopped in a group's runs, the longest ones first."""
    records = {part.record.key: part.record for part in group.sample.parts}
    return stopped(group.case, records.values(), directory)


def stopped(
    case: Mapping[str, Value | None], records: Iterable[Record], directory: RunDirectory
) -> list[Stopped]:
    """The links that were stopped in some runs, the longest ones first.

    Raises:
        RunDirectoryError: a file cannot be read.
    """
    records = [*records]
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for record in records:
        path = directory.beside(PAUSES, *record.key)
        if not path.exists():
            continue
        table = rows.read(path, ["switch", "stopped", "number", "pauses", "paused_ps"])
        for own in table.to_pylist():
            ends = f"switch {own['switch']}", f"{own['stopped']} {own['number']}"
            ports = found[ends]
            ports[0] += own["pauses"]
            ports[1] += own["paused_ps"]
            ports[2] += 1
    runs, simulated = len(records), sum(_simulated(record) for record in records)
    links = [
        Stopped(
            case=case,
            by=by,
            whom=whom,
            pauses=pauses / runs,
            paused_ms=paused / PS_PER_MS / runs,
            share=paused / simulated / max(ports / runs, 1) if simulated else 0.0,
        )
        for (by, whom), (pauses, paused, ports) in found.items()
    ]
    return sorted(links, key=lambda link: -link.paused_ms)


def _simulated(record: Record) -> float:
    value = record.figures.get(SIMULATED)
    return float(value) if isinstance(value, (int, float)) else 0.0
