"""What a case asks of a fabric, and how the kernel is set to do it.

Every parameter of a case is either put into effect, or held against what the kernel does anyway,
or refused: a measurement is of the study that was asked for, or there is none.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from sojourn._core import Case, quantity
from sojourn._internal.errors import InputError
from sojourn._internal.units import PS_PER_MS
from sojourn.store.ledger import Value

IP_AND_TCP = 40  # bytes of headers without options
TIMESTAMPS = 12  # what the option adds to every segment
_LONGEST_DELAY_PS = 50 * 10**6
_COUNTED = 1500  # bytes of a buffer for each packet, where packets are counted
_DELAYED_ACK_PS = 40 * PS_PER_MS  # TCP_DELACK_MIN of linux/tcp.h
_CONGESTION = {"new-reno": "reno", "cubic": "cubic", "dctcp": "dctcp"}
_QUEUES = ("drop-tail", "drr")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_PARTS_OF_THE_CORE = ("workload.", "scheme.priority.")
_WITHOUT_EFFECT = (
    "scheme.name",
    "scheme.balance",
    "scheme.ack_priority",
    "drain",
)


@dataclass(frozen=True)
class QueueLimit:
    """How much may wait at a port: bytes, or packets.

    With a quantum each flow has a queue, and sends so many bytes in its turn.
    """

    size: int
    packets: bool = False
    quantum: int | None = None


@dataclass(frozen=True)
class Plan:
    """A star of hosts on the kernel.

    `rates` are of each host's link, in bits a second, `room` is each switch port's; both count IP
    packets, of at most `mtu` bytes. `route` are the attributes of every host's route, `sysctls` its
    settings under /proc/sys/net.
    """

    rates: tuple[int, ...]
    limit: QueueLimit
    payload: int
    mtu: int
    congestion: str
    route: Mapping[str, str]
    sysctls: Mapping[str, object]


def plan(case: Case, source: str) -> Plan:
    """How the kernel does a case.

    Raises:
        InputError: it cannot, for the reason of one parameter, which is named.
    """
    asked = _Asked(case.parameters, source)
    rates = _topology(asked)
    payload, header = _packets(asked)
    sysctls: dict[str, object] = {
        "ipv6/conf/all/disable_ipv6": 1,
        "ipv4/tcp_no_metrics_save": 1,
        "ipv4/tcp_slow_start_after_idle": 0,
        "ipv4/tcp_ecn": 0,
        "ipv4/tcp_early_retrans": 0,
        "ipv4/tcp_timestamps": int(header > IP_AND_TCP),
    }
    route: dict[str, str] = {}
    congestion = _transport(asked, route, sysctls)
    room = _queue(asked, payload + header)
    asked.only("background", "none")
    asked.only("forwarding", "store-and-forward")
    asked.take("completion")  # permanent flows have none, and others were asked for it
    asked.take("hosts.overhead")  # whatever it says, this machine takes the time that it takes
    asked.only("hosts.port", "backpressure")
    asked.only("sample", "none")
    asked.refuse_the_rest()
    return Plan(
        rates=rates,
        limit=room,
        payload=payload,
        mtu=payload + header,
        congestion=congestion,
        route=route,
        sysctls=sysctls,
    )


def _topology(asked: "_Asked") -> tuple[int, ...]:
    asked.only("topology.kind", "single-switch")
    hosts, rate = int(asked.take("topology.hosts")), asked.quantity("topology.rate")
    uplink = asked.optional("topology.uplink") or rate
    delay = asked.quantity("topology.delay") + asked.quantity("topology.delay_spread")
    asked.take("topology.clock_ppm")  # whatever it says, this machine has the clock that it has
    if delay > _LONGEST_DELAY_PS:
        asked.refuse(
            "topology.delay",
            "at most 50us: links between namespaces take about that long, and no more is added",
        )
    if hosts > 250:
        asked.refuse("topology.hosts", "at most 250, an address each")
    return (*[rate] * (hosts - 1), uplink)


def _packets(asked: "_Asked") -> tuple[int, int]:
    """Payload and header of a full packet, in bytes."""
    payload, header = asked.quantity("packets.payload"), asked.quantity("packets.header")
    if header not in (IP_AND_TCP, IP_AND_TCP + TIMESTAMPS):
        asked.refuse(
            "packets.header", f"{IP_AND_TCP}B, or {IP_AND_TCP + TIMESTAMPS}B with timestamps"
        )
    if asked.quantity("packets.ack") != header:
        asked.refuse("packets.ack", f"{header}B: an acknowledgement is a packet's header")
    if payload + header < 576:
        asked.refuse("packets.payload", "at least 536B: the kernel cuts no smaller packets")
    return payload, header


def _transport(asked: "_Asked", route: dict[str, str], sysctls: dict[str, object]) -> str:
    """The congestion control; the rest of the transport goes into the route and the settings."""
    under = "scheme.transport"
    kind = str(asked.take(f"{under}.kind"))
    congestion = _CONGESTION.get(kind)
    available = _AVAILABLE.read_text(encoding="ascii").split()
    known = [kind for kind, name in _CONGESTION.items() if name in available]
    if congestion not in available:
        asked.refuse(f"{under}.kind", f"one that this kernel has: {', '.join(known)}")
    route["initcwnd"] = str(asked.take(f"{under}.initial_window"))
    cap = asked.take(f"{under}.window_cap")
    if cap != "none":
        route["cwnd lock"] = str(cap)
    floor = asked.quantity(f"{under}.min_rto")
    if floor % PS_PER_MS:
        asked.refuse(f"{under}.min_rto", "whole milliseconds")
    route["rto_min"] = f"{floor // PS_PER_MS}ms"
    if asked.optional(f"{under}.initial_rto") not in (None, floor):
        asked.refuse(
            f"{under}.initial_rto",
            "the same as min_rto: the connections are open, and their round trip is known",
        )
    sysctls["ipv4/tcp_sack"] = int(bool(asked.take(f"{under}.sack")))
    delay = asked.optional(f"{under}.ack_delay")
    if delay is None:
        route["quickack"] = "1"
    elif delay != _DELAYED_ACK_PS:
        asked.refuse(f"{under}.ack_delay", "40ms, as the kernel has it, or none")
    for key, holds, expected in _KERNELS_OWN:
        asked.check(f"{under}.{key}", holds, expected)
    reordering = asked.take(f"{under}.dupthresh", 3)
    sysctls["ipv4/tcp_reordering"] = sysctls["ipv4/tcp_max_reordering"] = reordering
    return str(congestion)


# What the kernel's TCP does and cannot be told otherwise.
_KERNELS_OWN: tuple[tuple[str, Callable[[Value], bool], str], ...] = (
    ("fast_retransmit", lambda given: given is True, "true: the kernel's TCP has no other way"),
    ("limited_transmit", lambda given: given is True, "true: the kernel's TCP has no other way"),
    (
        "abc_limit",
        lambda given: given != "none",
        "any but none: the kernel counts what is acknowledged",
    ),
    ("handshake", lambda given: given is False, "false: the connections are open"),
    ("c", lambda given: given == 0.4, "0.4, as the kernel's CUBIC has it"),
    ("beta", lambda given: given == 0.7, "0.7, as the kernel's CUBIC has it"),
    ("fast_convergence", lambda given: given is True, "true, as the kernel's CUBIC has it"),
)


def _queue(asked: "_Asked", full: int) -> QueueLimit:
    """The room at a port: the packet that is being sent waits in it too, unlike the simulator's."""
    asked.only("buffer.kind", "private")
    asked.only("core_buffer", "none")
    kind = asked.take("scheme.queue.kind")
    if kind not in _QUEUES:
        asked.refuse("scheme.queue.kind", f"one of {', '.join(_QUEUES)}")
    size, counting = asked.quantity("scheme.queue.buffer"), asked.take("scheme.queue.counting")
    if kind == "drr":
        asked.only("scheme.queue.counting", "bytes")
        asked.only("scheme.queue.victim", "longest")
        return QueueLimit(size, quantum=asked.quantity("scheme.queue.quantum"))
    if counting == "packets":
        return QueueLimit(size // _COUNTED + 1, packets=True)
    return QueueLimit(size + full)


@dataclass
class _Asked:
    """The parameters of a case, and which of them have not been looked at."""

    parameters: Mapping[str, Value]
    source: str
    rest: dict[str, Value] = field(init=False)

    def __post_init__(self) -> None:
        self.rest = dict(self.parameters)

    def take(self, key: str, otherwise: Value | None = None) -> Value:
        """A parameter's value, or another where the case has no such parameter."""
        self.rest.pop(key, None)
        value = self.parameters.get(key, otherwise)
        if value is None:
            raise KeyError(key)
        return value

    def quantity(self, key: str) -> int:
        """A quantity in ps, bytes or bit/s."""
        return quantity(str(self.take(key)))

    def optional(self, key: str) -> int | None:
        """A quantity that there may be none of."""
        value = str(self.take(key))
        return None if value == "none" else quantity(value)

    def only(self, key: str, value: str) -> None:
        """Refuse all but one value."""
        self.check(key, lambda given: given == value, json.dumps(value))

    def check(self, key: str, holds: Callable[[Value], bool], expected: str) -> None:
        """Refuse a value, where there is one, that is not as it must be."""
        if key in self.parameters and not holds(self.take(key)):
            self.refuse(key, expected)

    def refuse(self, key: str, expected: str) -> NoReturn:
        """Say what is wrong with a parameter."""
        given = json.dumps(self.parameters[key])
        raise InputError(f"{self.source}: {key} = {given}, expected {expected}")

    def refuse_the_rest(self) -> None:
        """Refuse a parameter that was not looked at."""
        for key in self.rest:
            if not key.startswith(_PARTS_OF_THE_CORE) and key not in _WITHOUT_EFFECT:
                self.refuse(key, "nothing: it cannot be measured on the kernel")
