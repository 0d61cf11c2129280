"""What a case asks of a fabric, and how the kernel is set to do it.

Every parameter of a case is either put into effect, or held against what the kernel does anyway,
or refused: a measurement is of the study that was asked for, or there is none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn._core import Case
from sojourn._internal.units import PS_PER_MS, PS_PER_US
from sojourn.measurement.asked import Asked
from sojourn.measurement.port_queue import PortQueue, port_queue
from sojourn.store.ledger import Value

IP_AND_TCP = 40  # bytes of headers without options
TIMESTAMPS = 12  # what the option adds to every segment
_FREE_DELAY_PS = 50 * PS_PER_US  # what links between namespaces take anyway
_SHORTEST_SAMPLE_PS = PS_PER_MS
UNLIMITED = 2**31 - 1  # packets or bytes: as many as come
_QUICK_ACKS = 16  # TCP_MAX_QUICKACKS of linux/tcp.h
_DELAYED_ACK_PS = 40 * PS_PER_MS  # TCP_DELACK_MIN of linux/tcp.h
_CONGESTION = {"new-reno": "reno", "cubic": "cubic", "dctcp": "dctcp", "bbr": "bbr"}
CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Loss:
    """A packet that each flow loses: its number from 1, none for the last, and how often."""

    packet: int | None
    times: int

    def place(self, size: int | None, payload: int) -> int | None:
        """How many packets are before it in a flow of so many bytes; none where it has none."""
        if size is None:
            return None if self.packet is None else self.packet - 1
        packets = -(-size // payload)
        place = (self.packet or packets) - 1
        return place if place < packets else None


@dataclass(frozen=True)
class Plan:
    """A star of hosts on the kernel.

    `rates` are of each host's link, in bits a second, `queue` is each switch port's; both count IP
    packets, of at most `mtu` bytes. `delay_us` is what a packet takes from host to host, beyond
    what it takes anyway. `route` are the attributes of every host's route, `sysctls` its settings
    under /proc/sys/net.
    """

    rates: tuple[int, ...]
    delay_us: int
    queue: PortQueue
    payload: int
    mtu: int
    congestion: str
    route: Mapping[str, str]
    sysctls: Mapping[str, object]
    loss: Loss | None = None

    @property
    def delaying(self) -> str | None:
        """The discipline that keeps packets back, as tc has it; it drops none."""
        return f"netem delay {self.delay_us}us limit {UNLIMITED}" if self.delay_us else None

    @property
    def disciplines(self) -> tuple[str, ...]:
        """The disciplines that not every kernel has."""
        return tuple(name for name in (self.delaying, self.queue.discipline) if name)


def plan(case: Case, source: str) -> Plan:
    """How the kernel does a case.

    Raises:
        MeasurementError: it cannot, for the reason of one parameter, which is named.
    """
    asked = Asked(case.parameters, source)
    rates, delay_us = _topology(asked)
    payload, header = _packets(asked)
    sysctls: dict[str, object] = {
        "ipv6/conf/all/disable_ipv6": 1,
        "ipv4/tcp_no_metrics_save": 1,
        "ipv4/tcp_ecn": 0,
        "ipv4/tcp_timestamps": int(header > IP_AND_TCP),
    }
    route: dict[str, str] = {}
    congestion = _transport(asked, route, sysctls)
    queue = port_queue(asked, payload + header)
    asked.only("background", "none")
    asked.only("failure", "[]")
    asked.only("forwarding", "store-and-forward")
    asked.take("completion")  # permanent flows have none, and others were asked for it
    asked.take("hosts.overhead")  # whatever it says, this machine takes the time that it takes
    asked.only("hosts.port", "backpressure")
    asked.check("window_digest", lambda given: given is False, "false: the kernel tells no window")
    asked.only("trace", "none")
    asked.check("message_rows", lambda given: given is False, "false: the kernel tells no message")
    _sample(asked)
    loss = _loss(asked)
    asked.refuse_the_rest()
    return Plan(
        rates=rates,
        delay_us=delay_us,
        queue=queue,
        payload=payload,
        mtu=payload + header,
        congestion=congestion,
        route=route,
        sysctls=sysctls,
        loss=loss,
    )


def _topology(asked: Asked) -> tuple[tuple[int, ...], int]:
    """The rate of each host's link, and how long a packet is kept back on its way."""
    asked.only("topology.kind", "single-switch")
    hosts, rate = int(asked.take("topology.hosts")), asked.quantity("topology.rate")
    uplink = asked.optional("topology.uplink") or rate
    delay, spread = asked.quantity("topology.delay"), asked.quantity("topology.delay_spread")
    asked.take("topology.clock_ppm")  # whatever it says, this machine has the clock that it has
    free = delay + spread <= _FREE_DELAY_PS
    if not free and spread:
        asked.refuse("topology.delay_spread", "0s, or at most 50us with the delay")
    if not free and delay % PS_PER_US:
        asked.refuse("topology.delay", "whole microseconds, or at most 50us")
    if hosts > 250:
        asked.refuse("topology.hosts", "at most 250, an address each")
    return (*[rate] * (hosts - 1), uplink), 0 if free else 2 * delay // PS_PER_US


def _loss(asked: Asked) -> Loss | None:
    if asked.parameters.get("hosts.loss") == "none":
        asked.take("hosts.loss")
        return None
    packet = asked.take("hosts.loss.packet")
    return Loss(None if packet == "none" else int(packet), int(asked.take("hosts.loss.times")))


def _sample(asked: Asked) -> None:
    every = asked.optional("sample")
    if every is None:
        return
    if asked.parameters["workload.kind"] != "bulk":
        asked.refuse("sample", "none: ports are looked at while permanent flows are measured")
    if every < _SHORTEST_SAMPLE_PS:
        asked.refuse("sample", "at least 1ms: between looks packets have to be carried")


def _packets(asked: Asked) -> tuple[int, int]:
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


def _transport(asked: Asked, route: dict[str, str], sysctls: dict[str, object]) -> str:
    """The congestion control; the rest of the transport goes into the route and the settings."""
    under = "scheme.transport"
    kind = str(asked.take(f"{under}.kind"))
    congestion = _CONGESTION.get(kind)
    available = CONTROLS.read_text(encoding="ascii").split()
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
    if delay is not None and asked.parameters.get(f"{under}.rack"):
        quick = f"{_QUICK_ACKS}, as the kernel has it"
        asked.check(f"{under}.quick_acks", lambda given: given == _QUICK_ACKS, quick)
    asked.take(f"{under}.quick_acks", otherwise=0)
    if delay is None:
        route["quickack"] = "1"
    elif delay != _DELAYED_ACK_PS:
        asked.refuse(f"{under}.ack_delay", "40ms, as the kernel has it, or none")
    for key, holds, expected in _KERNELS_OWN:
        asked.check(f"{under}.{key}", holds, expected)
    _recovery(asked, under, sysctls)
    return str(congestion)


def _recovery(asked: Asked, under: str, sysctls: dict[str, object]) -> None:
    """How losses are found and mended.

    A transport without `rack` counts duplicate ACKs, which the kernel has given up: probes are off
    then, and no reordering makes it more patient.
    """
    rack = asked.take(f"{under}.rack", otherwise=False) is True
    for key, holds, expected in _WITH_RACK:
        if rack:
            asked.check(f"{under}.{key}", holds, expected)
        asked.take(f"{under}.{key}", otherwise=False)
    probes, f_rto = (
        asked.take(f"{under}.{key}", otherwise=False) is True
        for key in ("tail_loss_probe", "f_rto")
    )
    reordering = asked.take(f"{under}.dupthresh", 3)
    restarts = asked.take(f"{under}.restart_after_idle", otherwise=False) is True
    sysctls["ipv4/tcp_slow_start_after_idle"] = int(restarts)
    sysctls["ipv4/tcp_recovery"] = _RACK
    sysctls["ipv4/tcp_early_retrans"] = _EARLY_RETRANS if probes else 0
    sysctls["ipv4/tcp_frto"] = _F_RTO if f_rto or not rack else 0
    sysctls["ipv4/tcp_reordering"] = reordering
    sysctls["ipv4/tcp_max_reordering"] = _MAX_REORDERING if rack else reordering


# As Linux ships them.
_RACK, _EARLY_RETRANS, _F_RTO, _MAX_REORDERING = 1, 3, 2, 300

# What has no switch in the kernel, where its way to find losses is asked for.
_WITH_RACK: tuple[tuple[str, Callable[[Value], bool], str], ...] = (
    ("prr", lambda given: given is True, "true, as the kernel has it"),
    ("hystart", lambda given: given is True, "true, as the kernel's CUBIC has it"),
    ("timeout_rule", lambda given: given == "linux", '"linux", as the kernel has it'),
    ("known_round_trip", lambda given: given is True, "true: the connections are open"),
    ("clock_tick", lambda given: given != "none", "a time: the kernel's timers run out at ticks"),
)


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
    ("startup_gain", lambda given: given == 2.885, "2.885, as the kernel's BBR has it"),
    ("cwnd_gain", lambda given: given == 2.0, "2.0, as the kernel's BBR has it"),
    ("bandwidth_rounds", lambda given: given == 10, "10, as the kernel's BBR has it"),
    ("min_rtt_window", lambda given: given == "10s", '"10s", as the kernel\'s BBR has it'),
    ("probe_rtt_time", lambda given: given == "200ms", '"200ms", as the kernel\'s BBR has it'),
)
