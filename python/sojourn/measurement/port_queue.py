"""How packets wait at a switch's port: the study's queue as one of the kernel's disciplines.

Sources: tc-codel(8), tc-fq_codel(8), tc-pie(8), and net/sched of Linux for what they leave open.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sojourn._internal.errors import MeasurementError
from sojourn._internal.units import PS_PER_US
from sojourn.measurement.asked import Asked
from sojourn.measurement.netns import Namespace

_COUNTED = 1500  # bytes of a buffer for each packet, where packets are counted
_AT = "scheme.queue"
_SMALLEST_QUANTUM, _LARGEST_QUANTUM = 256, 1 << 20  # of net/sched/sch_fq_codel.c
_MOST_FLOWS = 65_536
_MEMORY = "1gb"  # of fq_codel: more than its packets can take, so that only their number counts
_SIXTEENTHS, _MOST_SIXTEENTHS = 16, 32  # the unit of PIE's alpha and beta, and the most of them
_PIES_DELAYS = {"timestamps": "no_dq_rate_estimator", "departure-rate": "dq_rate_estimator"}
_PIES_BURST = "150ms"  # of include/net/pie.h


@dataclass(frozen=True)
class PortQueue:
    """A queue with room for so many bytes, or packets.

    With a quantum each flow has a queue, and sends so many bytes in its turn. A discipline is one
    of the kernel's, with its parameters as tc has them; without one what finds no room is dropped.
    """

    size: int
    packets: bool = False
    quantum: int | None = None
    discipline: str | None = None


def port_queue(asked: Asked, full: int) -> PortQueue:
    """The queue of a case whose full packets have `full` bytes.

    It has room for one packet more than the simulator's: here the packet that is being sent waits
    in it too.

    Raises:
        MeasurementError: the kernel has no such queue; the parameter is named.
    """
    asked.only("buffer.kind", "private")
    asked.only("core_buffer", "none")
    asked.only("scheme.pfc", "none")
    kind = str(asked.take(f"{_AT}.kind"))
    if kind not in ("drop-tail", "drr", *_DISCIPLINES):
        asked.refuse(f"{_AT}.kind", f"one of {', '.join(('drop-tail', 'drr', *_DISCIPLINES))}")
    size, counting = asked.quantity(f"{_AT}.buffer"), asked.take(f"{_AT}.counting")
    if kind == "drr":
        asked.only(f"{_AT}.counting", "bytes")
        asked.only(f"{_AT}.victim", "longest")
        return PortQueue(size, quantum=asked.quantity(f"{_AT}.quantum"))
    if kind in _DISCIPLINES:
        asked.only(f"{_AT}.counting", "packets")
        packets = size // _COUNTED + 1
        name, parameters = _DISCIPLINES[kind]
        discipline = f"{name} limit {packets} {parameters(asked)}"
        return PortQueue(packets, packets=True, discipline=discipline)
    if counting == "packets":
        return PortQueue(size // _COUNTED + 1, packets=True)
    return PortQueue(size + full)


def _codel(asked: Asked) -> str:
    return f"{_time(asked, 'target')} {_time(asked, 'interval')} {_ecn(asked)}"


def _fq_codel(asked: Asked) -> str:
    flows = int(asked.take(f"{_AT}.flows"))
    if flows > _MOST_FLOWS:
        asked.refuse(f"{_AT}.flows", f"at most {_MOST_FLOWS}")
    quantum = asked.quantity(f"{_AT}.quantum")
    if not _SMALLEST_QUANTUM <= quantum <= _LARGEST_QUANTUM:
        asked.refuse(f"{_AT}.quantum", f"{_SMALLEST_QUANTUM}B to {_LARGEST_QUANTUM}B")
    return f"flows {flows} quantum {quantum} {_codel(asked)} memory_limit {_MEMORY} drop_batch 1"


def _pie(asked: Asked) -> str:
    asked.only(f"{_AT}.max_burst", _PIES_BURST)
    return (
        f"{_time(asked, 'target')} {_time(asked, 'update', 'tupdate')}"
        f" {_weight(asked, 'alpha')} {_weight(asked, 'beta')} {_ecn(asked)}"
        f" {_PIES_DELAYS[str(asked.take(f'{_AT}.delay'))]}"
    )


# What tc calls a study's queue, and the rest of its parameters.
_DISCIPLINES: dict[str, tuple[str, Callable[[Asked], str]]] = {
    "codel": ("codel", _codel),
    "fq-codel": ("fq_codel", _fq_codel),
    "pie": ("pie", _pie),
}


def _time(asked: Asked, key: str, name: str | None = None) -> str:
    value = asked.quantity(f"{_AT}.{key}")
    if value % PS_PER_US:
        asked.refuse(f"{_AT}.{key}", "whole microseconds")
    return f"{name or key} {value // PS_PER_US}us"


def _weight(asked: Asked, key: str) -> str:
    sixteenths = float(asked.take(f"{_AT}.{key}")) * _SIXTEENTHS
    if not sixteenths.is_integer() or sixteenths > _MOST_SIXTEENTHS:
        asked.refuse(f"{_AT}.{key}", "sixteenths, at most 2, as the kernel has it")
    return f"{key} {sixteenths:.0f}"


def _ecn(asked: Asked) -> str:
    if not asked.take(f"{_AT}.ecn"):
        return "noecn"
    if asked.parameters.get("scheme.transport.kind") == "dctcp":
        asked.refuse(f"{_AT}.ecn", "false with dctcp: its connections here are opened without ECN")
    return "ecn"


def check_disciplines(disciplines: Iterable[str]) -> None:
    """Refuse disciplines that this kernel lacks, or does not do as they are written.

    Raises:
        MeasurementError: which one, and the module it is in.
    """
    for discipline in dict.fromkeys(disciplines):
        scratch = Namespace()
        try:
            _check(scratch, discipline)
        finally:
            scratch.close()


def _check(scratch: Namespace, discipline: str) -> None:
    name = discipline.split(maxsplit=1)[0]
    try:
        scratch.batch("tc", [f"qdisc add dev lo root {discipline}"])
    except MeasurementError as error:
        if "kind is unknown" not in str(error):
            raise
        raise MeasurementError(
            f"measuring this study needs {name}, which this kernel lacks: the module sch_{name},"
            f" CONFIG_NET_SCH_{name.upper()}"
        ) from None
    if name != "pie":
        return
    (said,) = json.loads(scratch.show("tc", "-j", "qdisc", "show", "dev", "lo"))
    takes = f"tupdate {said['options']['tupdate']}us"
    if takes not in discipline:
        raise MeasurementError(
            f"{_AT}.update: expected whole ticks of this kernel's clock: it takes {takes[8:]}"
        )
