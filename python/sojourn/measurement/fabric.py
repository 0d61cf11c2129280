"""A study of one switch on the kernel's own TCP, in the rows that the simulator writes.

Permanent flows are measured over their window, flows that end from their first byte to its last
acknowledgement.
"""

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sojourn._core import Case, Outcome, Progress, Study, quantity
from sojourn._internal.errors import MeasurementError
from sojourn._internal.units import PS_PER_S
from sojourn.execution import inputs
from sojourn.execution.execute import Task
from sojourn.execution.results import keep
from sojourn.measurement import collectives, netns
from sojourn.measurement.cases import measure_cases
from sojourn.measurement.load import Load
from sojourn.measurement.measured import Ints, Measured, ints
from sojourn.measurement.plan import Plan, plan
from sojourn.measurement.port_queue import check_disciplines
from sojourn.measurement.realtime import scheduled
from sojourn.measurement.sampling import Samples
from sojourn.measurement.star import Star, built
from sojourn.measurement.switches import put_over, read, stated
from sojourn.measurement.traffic import Carried, Flow, Look, Traffic, connected
from sojourn.store.ledger import Record, Value
from sojourn.store.rows import Column
from sojourn.store.run_directory import SERIES, RunDirectory

_MOST_FLOWS = 10_000
_IDEAL = "ideal: none, a permanent flow has no end"


def measure(
    study: Study,
    source: str,
    directory: RunDirectory,
    *,
    command: str,
    switches: Sequence[str] = (),
) -> int:
    """Measure the cases that a run directory lacks, one after the other.

    Args:
        study: of the single switch, its jobs flows.
        source: the study's file, for messages.
        directory: where to.
        command: for `meta.json`.
        switches: of the kernel's TCP, NAME=VALUE each, put over what the study asks for.

    Returns:
        How many cases were measured, replications counted.

    Raises:
        MeasurementError: the study cannot be measured; no root, no iproute2; the directory holds
            something else.
        Interrupted: Ctrl-C; finished cases are kept.
    """
    if study.model != "fabric":
        raise MeasurementError(f'{source}: model = "{study.model}", expected "fabric"')
    cases, put = study.cases(), read(switches)
    plans = {case.index: put_over(plan(case, source), put) for case in cases}
    for case in cases:
        _refuse_other_jobs(case, source)
    netns.check()
    check_disciplines(name for plan in plans.values() for name in plan.disciplines)
    return measure_cases(
        study,
        directory,
        command=command,
        measured=" ".join([f"TCP of Linux {platform.release()}", *map("=".join, put.items())]),
        one=lambda task: _one(task, plans[task.case.index], directory),
    )


def _refuse_other_jobs(case: Case, source: str) -> None:
    kind = case.parameters["workload.kind"]
    if kind == "collective":
        collectives.check(case, source)
        return
    if not {"flow", "bulk"} & {*case.kinds}:
        raise MeasurementError(
            f'{source}: workload.kind = "{kind}", expected collectives, or flows that follow no'
            " other"
        )
    if not _is_bulk(case) and case.parameters["completion"] != "sender":
        raise MeasurementError(
            f'{source}: completion = "receiver", expected "sender": on the kernel it is the sender'
            " that says when a flow is done"
        )
    if not _is_bulk(case) and case.parameters["scheme.queue.kind"] == "drr":
        raise MeasurementError(
            f'{source}: scheme.queue.kind = "drr", expected "drop-tail": on the kernel each flow'
            " has a part of the buffer for good, and flows that end would leave theirs empty"
        )
    if case.jobs > _MOST_FLOWS:
        raise MeasurementError(
            f"{source}: {case.jobs} flows, expected at most {_MOST_FLOWS}: one port each"
        )


def _is_bulk(case: Case) -> bool:
    """Whether its flows are permanent ones."""
    return case.parameters["workload.kind"] == "bulk"


def _one(task: Task, planned: Plan, directory: RunDirectory) -> Record:
    case, replication = task.case, task.replication
    # which flows start when: the simulator's own draw, so that both do the same
    drawn = inputs.tables(case, replication, directory.path)
    offered = case.run(replication, Progress(), drawn)
    of_flows = case.parameters["workload.kind"] != "collective"
    if of_flows and "started_ps" in offered.columns:
        given = case.parameters["workload.file"]
        raise MeasurementError(
            f'workload.file = "{given}", expected flows that follow no other and are of no job'
        )
    started, cpu = time.perf_counter(), time.process_time()
    measured = (_carried if of_flows else _collectives)(case, planned, offered)
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    return keep(
        directory,
        case,
        replication,
        measured.columns,
        measured.figures,
        beside={SERIES: measured.series} if measured.series else {},
        wall_s=wall,
        cpu_s=cpu,
    )


def _window(case: Case) -> tuple[float, float]:
    """From when until when a case is measured, in seconds."""
    warm_up, window = (
        quantity(str(case.parameters[f"workload.{name}"])) / PS_PER_S
        for name in ("warm_up", "window")
    )
    return warm_up, warm_up + window


def _carried(case: Case, planned: Plan, offered: Outcome) -> Measured:
    """Carry the offered flows over the kernel's TCP, and measure them."""
    columns = offered.columns
    names = ("src", "dst", "arrived_ps", "size_bytes")
    drawn = zip(*(ints(columns, name).tolist() for name in names), strict=True)
    flows = [
        Flow(src, dst, arrived / PS_PER_S, None if _is_bulk(case) else size)
        for src, dst, arrived, size in drawn
    ]
    pairs = [(flow.source, flow.destination) for flow in flows]
    with built(planned, pairs) as star, connected(star, planned, flows) as traffic:
        load = Load()
        with scheduled() as scheduling:
            measured, last = (_over_window if _is_bulk(case) else _to_their_ends)(
                case, planned, offered, star, traffic
            )
        figures = {
            **_of_ports(star, planned, last.at_s, traffic.lost()),
            **_of_connections(last),
            "kernel": stated(planned),
            **{f"kernel_{name}": value for name, value in traffic.counted().items()},
            **load.figures(),
            "scheduling": scheduling,
        }
    return replace(measured, figures={**figures, **measured.figures})


def _collectives(case: Case, planned: Plan, offered: Outcome) -> Measured:
    """Collectives of Open MPI over the kernel's TCP."""
    # Open MPI makes the sockets, so that their routes say which congestion control they have.
    route = {**planned.route, "congctl": planned.congestion}
    with built(replace(planned, route=route), []) as star:
        load = Load()
        measured, lasted_s = collectives.carried(case, offered, star)
        figures = {
            **_of_ports(star, planned, lasted_s, 0),
            "kernel": stated(planned),
            **load.figures(),
        }
    return replace(measured, figures={**figures, **measured.figures})


def _over_window(
    case: Case, planned: Plan, offered: Outcome, star: Star, traffic: Traffic
) -> tuple[Measured, Look]:
    """Permanent flows, and the last look at them."""
    begins, ends = _window(case)
    samples = Samples(star, planned)
    looks = [(at, samples.look) for at in _every(case, ends)]
    first, last = traffic.run((begins, ends), looks)
    columns = _columns(offered.columns, planned, first, last)
    series = samples.columns() if looks else None
    return Measured(columns, {"unfinished": 0, "ideal": _IDEAL}, series), last


def _every(case: Case, until_s: float) -> list[float]:
    """When the ports are looked at, in seconds."""
    sample = str(case.parameters["sample"])
    if sample == "none":
        return []
    every = quantity(sample) / PS_PER_S
    return [float(at) for at in np.arange(every, until_s, every)]


def _to_their_ends(
    case: Case, _plan: Plan, offered: Outcome, _star: Star, traffic: Traffic
) -> tuple[Measured, Look]:
    """Flows that end: they arrive when the simulator's do, and take what they take from then on."""
    carried = traffic.finish(quantity(str(case.parameters["drain"])) / PS_PER_S)
    columns = offered.columns
    arrived, ideal = ints(columns, "arrived_ps"), ints(columns, "ideal_ps")
    took = np.array([_took_ps(flow) for flow in carried], dtype=np.int64)
    done = took >= 0
    slowdown = np.divide(took, ideal, out=np.full(len(took), np.nan), where=done)
    measured: dict[str, Column] = {
        "finished_ps": np.where(done, arrived + took, -1),
        "acknowledged_ps": np.where(done, arrived + took, -1),
        "sojourn_ps": took,
        "slowdown": slowdown,
        "retransmits": np.array([flow.info.retransmits for flow in carried], dtype=np.int64),
    }
    if case.parameters.get("scheme.transport.tail_loss_probe"):
        probes = [-1 if flow.probes is None else flow.probes for flow in carried]
        measured["probes"] = np.array(probes, dtype=np.int64)
    result = {**columns, **measured}
    timeouts = [flow.info.timeouts for flow in carried]
    if None in timeouts:
        del result["timeouts"]
    else:
        result["timeouts"] = np.array(timeouts, dtype=np.int64)
    late = [flow.began_s - at / PS_PER_S for flow, at in zip(carried, arrived, strict=True)]
    figures: dict[str, Value] = {
        "unfinished": int((~done).sum()),
        "latest_start_ps": round(max(late) * PS_PER_S),
        "timeouts": sum(filter(None, timeouts)),
        "ideal": offered.figures["ideal"],
    }
    ends = [flow.acked_s for flow in carried if flow.acked_s is not None]
    last = Look(max(ends, default=carried[-1].began_s), tuple(flow.info for flow in carried))
    return Measured(result, figures), last


def _took_ps(flow: Carried) -> int:
    """From its first byte to its last acknowledgement; -1 if that never came."""
    return -1 if flow.acked_s is None else round((flow.acked_s - flow.began_s) * PS_PER_S)


def _columns(
    offered: Mapping[str, Column], planned: Plan, first: Look, last: Look
) -> dict[str, Column]:
    """The offered columns with what was measured between two looks."""
    looks = list(zip(first.infos, last.infos, strict=True))

    def between(name: str) -> Ints:
        return np.array([getattr(b, name) - getattr(a, name) for a, b in looks], dtype=np.int64)

    acked = between("acked_bytes")
    measured: dict[str, Column] = {
        "size_bytes": acked,
        "packets": -(-acked // planned.payload),
        "retransmits": between("retransmits"),
        "goodput_bps": acked * 8 / (last.at_s - first.at_s),
    }
    columns = {**offered, **measured}
    if any(info.timeouts is None for info in last.infos):
        del columns["timeouts"]
    else:
        columns["timeouts"] = between("timeouts")
    return columns


def _of_ports(star: Star, planned: Plan, lasted_s: float, by_script: int) -> dict[str, Value]:
    """What the switch's ports sent and dropped, from the first connection to the last look.

    Packets lost `by_script` are dropped at hosts.
    """
    ports = star.ports()
    for port in ports:
        if port.bytes > port.packets * planned.mtu:
            raise MeasurementError(
                f"the kernel sent packets of over {planned.mtu} bytes; nothing measured can be used"
            )
    shares = [p.bytes * 8 / rate for p, rate in zip(ports, planned.rates, strict=True)]
    drops = sum(port.drops for port in ports)
    return {
        "drops": drops + by_script,
        "packets_dropped_at_switches": drops,
        **({"packets_lost_by_script": by_script} if planned.loss else {}),
        "switch_port_utilisation": sum(shares) / len(shares) / lasted_s,
        "measured_ps": round(lasted_s * PS_PER_S),
    }


def _of_connections(last: Look) -> dict[str, Value]:
    """The shortest round trip and time-out that the kernel knew of at the end."""
    return {
        "shortest_round_trip_ps": min(info.min_rtt_us for info in last.infos) * 10**6,
        "shortest_time_out_ps": min(info.rto_us for info in last.infos) * 10**6,
    }
