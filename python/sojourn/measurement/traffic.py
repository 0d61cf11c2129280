"""Flows over the kernel's TCP: they start when they should, and are looked at when they should."""

import resource
import select
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from sojourn._internal.errors import MeasurementError, reason
from sojourn._internal.units import US_PER_S
from sojourn.measurement import acknowledged
from sojourn.measurement.plan import Plan
from sojourn.measurement.scripted_loss import Script, losing
from sojourn.measurement.star import FIRST_PORT, Star
from sojourn.measurement.tcpext import KEPT, PROBES, TcpExt, counted
from sojourn.measurement.tcpinfo import TcpInfo

_PORT = 5001
_CHUNK = 1 << 18
_UNSENT = 1 << 17  # bytes that wait in a socket before they are sent, at most
_SEND_BUFFER_FORCE, _RECEIVE_BUFFER_FORCE = 32, 33  # SO_*BUFFORCE of asm-generic/socket.h
_OVERHEAD = 3  # memory of a queued packet over its payload, at most
_HANDSHAKE_S = 10.0
# What is closed is reset at once (struct linger of socket.h): else sockets with unsent data stay
# for two minutes, and their namespaces with them.
_RESET = struct.pack("ii", 1, 0)


@dataclass(frozen=True)
class Flow:
    """Data from one host to another, from a time on, in seconds; without `size`, without end."""

    source: int
    destination: int
    start_s: float
    size: int | None = None


@dataclass(frozen=True)
class Look:
    """What the kernel said of every flow at one moment, in seconds since the start."""

    at_s: float
    infos: tuple[TcpInfo, ...]


@dataclass(frozen=True)
class Carried:
    """How a flow went, and what the kernel said of it: in seconds since the start.

    `began_s` is when its first byte was handed over, `acked_s` when its last one was acknowledged;
    None if it never was. `probes` are its tail loss probes, which the kernel counts host by host:
    None where flows of one host overlapped and sent some.
    """

    began_s: float
    acked_s: float | None
    info: TcpInfo
    probes: int | None


@dataclass
class _Sending:
    """A flow that has begun; `left` is None for one without end."""

    flow: Flow
    sender: socket.socket
    began_s: float
    left: int | None
    acked_s: float | None = None


class Traffic:
    """Open connections of flows that have not begun yet, and how they are driven."""

    def __init__(
        self,
        flows: Sequence[Flow],
        ends: Sequence[tuple[socket.socket, socket.socket]],
        counts: Mapping[int, TcpExt],
        script: Script | None,
    ):
        self._script = script
        self._flows, self._counts = flows, counts
        # Flows of a host that overlap, and those before them with what the host had counted then.
        self._together: dict[int, list[_Sending]] = {}
        self._groups: list[tuple[int, list[_Sending], bytes]] = []
        self._senders = [sender for sender, _ in ends]
        self._poll = select.epoll()
        self._receivers = {receiver.fileno(): receiver for _, receiver in ends}
        self._running: dict[int, _Sending] = {}
        self._unfinished = sum(flow.size is not None for flow in flows)
        self._origin, self._epoch = 0.0, 0.0
        self._chunk, self._drain = bytes(_CHUNK), bytearray(_CHUNK)
        for number in self._receivers:
            self._poll.register(number, select.EPOLLIN)

    def run(
        self, looks_s: Sequence[float], others: Sequence[tuple[float, Callable[[float], None]]] = ()
    ) -> list[Look]:
        """Start each flow in its time, keep it going until the last look; in seconds from now.

        `others` are called in their time, with what it has become.
        """
        looks: list[Look] = []

        def look(now_s: float) -> None:
            looks.append(Look(now_s, tuple(map(TcpInfo.of, self._senders))))

        def start(number: int, _: float) -> None:
            self._start(number)

        self._begin()
        due: list[tuple[float, Callable[[float], None]]] = [(at, look) for at in looks_s]
        due += [(flow.start_s, partial(start, number)) for number, flow in enumerate(self._flows)]
        due += others
        for at, act in sorted(due, key=lambda event: event[0]):
            self._carry(at)
            act(self._now())
        return looks

    def finish(self, drain_s: float) -> list[Carried]:
        """Start each flow in its time, and wait for all until `drain_s` after the last start."""
        self._begin()
        numbers = sorted(range(len(self._flows)), key=lambda number: self._flows[number].start_s)
        for number in numbers:
            self._carry(self._flows[number].start_s)
            self._start(number)
        self._carry(self._now() + drain_s, until_done=True)
        probes = self._probes()
        sendings = [self._running[sender.fileno()] for sender in self._senders]
        return [
            Carried(s.began_s, s.acked_s, TcpInfo.of(s.sender), probes[s.sender.fileno()])
            for s in sendings
        ]

    def _end_of_group(self, source: int) -> None:
        """Note what a host has counted, as all of its flows that had begun are done."""
        self._groups.append((source, self._together.pop(source), self._counts[source].look()))

    def _probes(self) -> dict[int, int | None]:
        """The probes of each flow, by its socket."""
        for source in tuple(self._together):
            self._end_of_group(source)
        found: dict[int, int | None] = {}
        before = Counter[int]()
        for source, together, look in self._groups:
            now = counted(look)[PROBES]
            sent, before[source] = now - before[source], now
            known = sent if len(together) == 1 or not sent else None
            found |= {sending.sender.fileno(): known for sending in together}
        return found

    def lost(self) -> int:
        """Packets lost by script so far."""
        return self._script.lost() if self._script else 0

    def counted(self) -> dict[str, int]:
        """What the kernel's TCP has counted at all senders (`tcpext.KEPT`)."""
        all_of_them = [counted(own.look()) for own in self._counts.values()]
        return {name: sum(own.get(name, 0) for own in all_of_them) for name in KEPT}

    def _begin(self) -> None:
        self._origin, self._epoch = time.perf_counter(), time.time()

    def _now(self) -> float:
        return time.perf_counter() - self._origin

    def _start(self, number: int) -> None:
        flow, sender = self._flows[number], self._senders[number]
        if flow.size is not None:
            acknowledged.watch(sender)
        sending = _Sending(flow, sender, self._now(), flow.size)
        self._together.setdefault(flow.source, []).append(sending)
        self._running[sender.fileno()] = sending
        with suppress(BlockingIOError):
            self._send(sending, heard=False)
        self._poll.register(sender.fileno(), select.EPOLLOUT | select.EPOLLET)

    def _carry(self, until: float, *, until_done: bool = False) -> None:
        """Fill and empty sockets until then, or until all flows are done."""
        while (left := until - self._now()) > 0 and (self._unfinished or not until_done):
            for number, event in self._poll.poll(left):
                receiver = self._receivers.get(number)
                with suppress(BlockingIOError):
                    if receiver is not None:
                        receiver.recv_into(self._drain)
                    else:
                        self._send(self._running[number], heard=bool(event & select.EPOLLERR))

    def _send(self, sending: _Sending, *, heard: bool) -> None:
        """Fill a socket; where the kernel has a word for it, `heard`, look whether it is done."""
        size = sending.flow.size
        if heard and size is not None and sending.acked_s is None:
            at = acknowledged.when(sending.sender, size)
            if at is not None:
                sending.acked_s = at - self._epoch
                mates = self._together[sending.flow.source]
                if all(mate.acked_s is not None for mate in mates):
                    self._end_of_group(sending.flow.source)
                self._unfinished -= 1
        while sending.left is None or sending.left:
            part = self._chunk if sending.left is None else self._chunk[: sending.left]
            sent = sending.sender.send(part)
            sending.left = None if sending.left is None else sending.left - sent

    def close(self) -> None:
        """Stop watching."""
        self._poll.close()


@contextmanager
def connected(star: Star, plan: Plan, flows: Sequence[Flow]) -> Iterator[Traffic]:
    """The flows' connections, open for as long as the context lasts.

    Raises:
        MeasurementError: one could not be opened.
    """
    capacity = plan.queue.size * (plan.mtu if plan.queue.packets else 1)
    on_the_way = max(plan.rates) * 2 * plan.delay_us // (8 * US_PER_S)
    # no flow has more under way than fits the fabric
    in_flight = capacity + on_the_way + plan.mtu * 100
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # two sockets a flow
    with ExitStack() as stack:
        try:
            listeners = {}
            for host in dict.fromkeys(flow.destination for flow in flows):
                with star.hosts[host].inside():
                    listener = socket.socket()
                stack.callback(listener.close)
                listener.setsockopt(
                    socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, 2 * _OVERHEAD * in_flight
                )
                listener.bind((star.address(host), _PORT))
                listener.listen(len(flows))
                listener.settimeout(_HANDSHAKE_S)
                listeners[host] = listener
            ends = []
            for number, flow in enumerate(flows):
                with star.hosts[flow.source].inside():
                    sender = socket.socket()
                stack.callback(sender.close)
                sender.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_CONGESTION, plan.congestion.encode()
                )
                sender.setsockopt(socket.SOL_SOCKET, _SEND_BUFFER_FORCE, _OVERHEAD * in_flight)
                sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT)
                sender.bind((star.address(flow.source), FIRST_PORT + number))
                sender.settimeout(_HANDSHAKE_S)
                sender.connect((star.address(flow.destination), _PORT))
                receiver, _ = listeners[flow.destination].accept()
                stack.callback(receiver.close)
                # a window below the buffer does not depend on how soon the reader reads
                receiver.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 2 * in_flight)
                for end in (sender, receiver):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    end.setblocking(False)
                ends.append((sender, receiver))
        except OSError as error:
            raise MeasurementError(f"no connection between two hosts: {reason(error)}") from None
        script = None
        if plan.loss:
            senders, sizes = [sender for sender, _ in ends], [flow.size for flow in flows]
            receivers = [star.hosts[host] for host in listeners]
            script = stack.enter_context(losing(plan.loss, senders, sizes, plan.payload, receivers))
        counts = {}
        for host in dict.fromkeys(flow.source for flow in flows):
            counts[host] = TcpExt(star.hosts[host])
            stack.callback(counts[host].close)
        traffic = Traffic(flows, ends, counts, script)
        stack.callback(traffic.close)
        yield traffic
