"""Flows over the kernel's TCP: they start when they should, and are looked at when they should."""

import select
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sojourn.errors import InputError, reason
from sojourn.measure.plan import Plan
from sojourn.measure.star import FIRST_PORT, Star
from sojourn.measure.tcpinfo import TcpInfo

_PORT = 5001
_CHUNK = 1 << 18
_UNSENT = 1 << 17  # bytes that wait in a socket before they are sent, at most
_SEND_BUFFER_FORCE, _RECEIVE_BUFFER_FORCE = 32, 33  # SO_*BUFFORCE of asm-generic/socket.h
_OVERHEAD = 3  # memory of a queued packet over its payload, at most
_HANDSHAKE_S = 10.0


@dataclass(frozen=True)
class Flow:
    """Data without end from one host to another, from a time on, in seconds."""

    source: int
    destination: int
    start_s: float


@dataclass(frozen=True)
class Look:
    """What the kernel said of every flow at one moment, in seconds since the start."""

    at_s: float
    infos: tuple[TcpInfo, ...]


class Traffic:
    """Open connections of flows that have not begun yet, and how they are driven."""

    def __init__(self, flows: Sequence[Flow], ends: Sequence[tuple[socket.socket, socket.socket]]):
        self._flows = flows
        self._senders = [sender for sender, _ in ends]
        self._poll = select.epoll()
        self._receivers = {receiver.fileno(): receiver for _, receiver in ends}
        self._running: dict[int, socket.socket] = {}
        self._chunk, self._drain = bytes(_CHUNK), bytearray(_CHUNK)
        for number in self._receivers:
            self._poll.register(number, select.EPOLLIN)

    def run(self, looks_s: Sequence[float]) -> list[Look]:
        """Start each flow in its time, keep it going until the last look; in seconds from now."""
        origin = time.perf_counter()
        starts = [flow.start_s for flow in self._flows]
        due: list[tuple[float, socket.socket | None]] = [(at, None) for at in looks_s]
        due += zip(starts, self._senders, strict=True)
        due.sort(key=lambda event: event[0])
        looks = []
        for at, sender in due:
            self._carry(origin + at)
            if sender is None:
                now = time.perf_counter() - origin
                looks.append(Look(now, tuple(map(TcpInfo.of, self._senders))))
            else:
                self._running[sender.fileno()] = sender
                self._poll.register(sender.fileno(), select.EPOLLOUT | select.EPOLLET)
        return looks

    def _carry(self, until: float) -> None:
        """Fill and empty sockets until then."""
        while (left := until - time.perf_counter()) > 0:
            for number, _ in self._poll.poll(left):
                receiver = self._receivers.get(number)
                try:
                    if receiver is not None:
                        receiver.recv_into(self._drain)
                    else:
                        while self._running[number].send(self._chunk):
                            pass
                except BlockingIOError:
                    pass

    def close(self) -> None:
        """Stop watching."""
        self._poll.close()


@contextmanager
def connected(star: Star, plan: Plan, flows: Sequence[Flow]) -> Iterator[Traffic]:
    """The flows' connections, open for as long as the context lasts.

    Raises:
        InputError: one could not be opened.
    """
    room = plan.room.size * (plan.mtu if plan.room.packets else 1)
    in_flight = room + plan.mtu * 100  # no flow has more under way than fits the fabric
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
                    end.setblocking(False)
                ends.append((sender, receiver))
        except OSError as error:
            raise InputError(f"no connection between two hosts: {reason(error)}") from None
        traffic = Traffic(flows, ends)
        stack.callback(traffic.close)
        yield traffic
