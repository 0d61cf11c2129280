"""A fat-tree of TCP flows over drop-tail ports in SimPy, as its users write it: a process a port.

Reads and prints what `ns3_fabric.cc` does. A flow's window grows and halves by NewReno without
fast retransmit; only its time-out, kept as RFC 6298 says, recovers what is lost, and
acknowledgements tell which packets came.
"""

import json
import random
import sys
import time
from dataclasses import dataclass
from typing import Any

import simpy

from sojourn.benchmarks.child import peak_bytes

HEADER = 40
ACK = 40


@dataclass(slots=True)
class Packet:
    """A packet of data, or of acknowledgement, on its way to a host."""

    flow: "Flow"
    number: int
    size: int
    to: int
    data: bool
    sent: float


class Port:
    """An output port: a drop-tail queue of bytes, a link, and what is at its other end."""

    def __init__(self, fabric: "Fabric", then: Any) -> None:
        self.fabric, self.then = fabric, then
        self.room = fabric.buffer
        self.queue = simpy.Store(fabric.env)
        fabric.env.process(self.serve())

    def put(self, packet: Packet) -> None:
        """A packet has come: it waits, or is dropped."""
        if packet.size <= self.room:
            self.room -= packet.size
            self.queue.put(packet)

    def serve(self) -> Any:
        """The port's process: one packet after the other."""
        env, fabric = self.fabric.env, self.fabric
        while True:
            packet = yield self.queue.get()
            self.room += packet.size
            yield env.timeout(packet.size * fabric.byte_ps)
            fabric.hops += 1
            arrival = env.timeout(fabric.delay, packet)
            arrival.callbacks.append(self.arrive)

    def arrive(self, event: Any) -> None:
        """A packet is at the other end."""
        self.then(event.value)


class Fabric:
    """The k-ary fat-tree: which port a packet takes next, at random where several do."""

    def __init__(self, k: int, rate: int, delay: int, buffer: int) -> None:
        self.env = simpy.Environment()
        self.byte_ps, self.delay, self.buffer = 8 * 10**12 // rate, delay, buffer
        self.hops = 0
        self.chance = random.Random(1)
        self.half = half = k // 2
        edges, hosts = k * half, k * half * half
        self.up = [Port(self, self.at_edge(host // half)) for host in range(hosts)]
        self.down = [Port(self, self.at_host) for _ in range(hosts)]
        self.edge_up = [
            [Port(self, self.at_top(edge // half * half + way)) for way in range(half)]
            for edge in range(edges)
        ]
        self.top_down = [
            [Port(self, self.at_edge(top // half * half + way)) for way in range(half)]
            for top in range(edges)
        ]
        self.top_up = [
            [Port(self, self.at_core(top % half * half + way)) for way in range(half)]
            for top in range(edges)
        ]
        self.core_down = [
            [Port(self, self.at_top(pod * half + core // half)) for pod in range(k)]
            for core in range(half * half)
        ]

    def at_edge(self, edge: int) -> Any:
        """What the switch of a rack does with a packet."""

        def forward(packet: Packet) -> None:
            if packet.to // self.half == edge:
                self.down[packet.to].put(packet)
            else:
                self.chance.choice(self.edge_up[edge]).put(packet)

        return forward

    def at_top(self, top: int) -> Any:
        """What a switch above the racks of a pod does with a packet."""

        def forward(packet: Packet) -> None:
            edge = packet.to // self.half
            if edge // self.half == top // self.half:
                self.top_down[top][edge % self.half].put(packet)
            else:
                self.chance.choice(self.top_up[top]).put(packet)

        return forward

    def at_core(self, core: int) -> Any:
        """What a switch above the pods does with a packet."""

        def forward(packet: Packet) -> None:
            self.core_down[core][packet.to // self.half // self.half].put(packet)

        return forward

    def at_host(self, packet: Packet) -> None:
        """Answers data with an acknowledgement; tells the flow of one."""
        flow = packet.flow
        if packet.data:
            answer = Packet(flow, packet.number, ACK, flow.source, False, packet.sent)
            self.up[packet.to].put(answer)
        else:
            flow.acknowledged(packet)


class Flow:
    """A sender: its window, its timer, and which of its packets have come."""

    def __init__(
        self, fabric: Fabric, line: list[int], payload: int, window: int, rto: int
    ) -> None:
        self.fabric, self.rto_floor = fabric, rto
        self.arrived, self.source, self.to, self.bytes = line
        self.payload, self.window, self.threshold = payload, float(window), float("inf")
        self.total = -(-self.bytes // payload)
        self.came = bytearray(self.total)
        self.missing, self.next, self.flying = self.total, 0, 0
        self.smoothed: float | None = None
        self.varies, self.rto, self.due = 0.0, float(rto), 0.0
        self.finished: float | None = None

    def run(self) -> Any:
        """Starts, and waits for its timer until all has come."""
        env = self.fabric.env
        yield env.timeout(self.arrived)
        self.due = env.now + self.rto
        self.send()
        while self.missing:
            if self.due > env.now:
                yield env.timeout(self.due - env.now)
                continue
            self.threshold, self.window = max(self.flying / 2, 2), 1.0
            self.next = self.came.find(0)
            self.flying = 0
            self.rto *= 2
            self.due = env.now + self.rto
            self.send()

    def send(self) -> None:
        """Sends what the window allows of what has not come."""
        now = self.fabric.env.now
        while self.flying < int(self.window):
            while self.next < self.total and self.came[self.next]:
                self.next += 1
            if self.next == self.total:
                return
            bytes_left = self.bytes - self.next * self.payload
            size = min(bytes_left, self.payload) + HEADER
            self.fabric.up[self.source].put(Packet(self, self.next, size, self.to, True, now))
            self.next += 1
            self.flying += 1

    def acknowledged(self, packet: Packet) -> None:
        """One of its packets has come."""
        now = self.fabric.env.now
        if self.came[packet.number]:
            return
        self.came[packet.number] = 1
        self.missing -= 1
        self.flying = max(self.flying - 1, 0)
        if not self.missing:
            self.finished = now
            return
        trip = now - packet.sent
        if self.smoothed is None:
            self.smoothed, self.varies = trip, trip / 2
        else:
            self.varies += (abs(self.smoothed - trip) - self.varies) / 4
            self.smoothed += (trip - self.smoothed) / 8
        self.rto = max(self.smoothed + 4 * self.varies, self.rto_floor)
        self.window += 1 if self.window < self.threshold else 1 / self.window
        self.due = now + self.rto
        self.send()


def main() -> None:
    """Simulate what standard input says."""
    k, rate, delay, buffer, payload, window, rto, _mark = map(int, sys.stdin.readline().split())
    fabric = Fabric(k, rate, delay, buffer)
    lines = [[int(word) for word in line.split()] for line in sys.stdin]
    flows = [Flow(fabric, line, payload, window, rto) for line in lines]
    for flow in flows:
        fabric.env.process(flow.run())
    begun = time.process_time()
    fabric.env.run(until=lines[-1][0] + 10**12)
    cpu_s = time.process_time() - begun
    times = [flow.finished - flow.arrived for flow in flows if flow.finished is not None]
    said = {
        "units": fabric.hops,
        "finished": len(times),
        "mean_ps": sum(times) / max(len(times), 1),
        "cpu_s": cpu_s,
        "peak_mb": peak_bytes() / 1e6,
    }
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
