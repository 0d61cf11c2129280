"""A switch with hosts around it, each in its network namespace.

Links are pairs of virtual Ethernet devices, the switch is a bridge. What a link can carry a second
is held at its two sending ends by a token bucket (tbf), whose queue is the port's; what does not
fit is dropped at its tail. Links and queues count IP packets, as the simulator does:
Ethernet's header is taken off (stab). TCP cuts its packets itself (gso_max_segs 1), so that none is
larger than the MTU, and no device puts them together again (virtual devices do so only when asked).
Propagation of both links of a way is at its sending host, before the bucket (netem): round trips
are the study's, and nothing but the port's own queue is at the switch.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sojourn.measurement.counters import Counters, Counts
from sojourn.measurement.netns import Namespace
from sojourn.measurement.plan import UNLIMITED, Plan

FIRST_PORT = 10_000
_ETHERNET = 14
_ROOT = f"root handle 1: stab overhead {-_ETHERNET} linklayer ethernet"
_SWITCH = "switch0"
_HOSTS_ROOM = 10_000_000  # the kernel keeps a socket's packets out of it, see TSQ
# By so much a bucket's timer may be late before the link loses time; a packet at the least.
_LATEST_S = 100e-6


@dataclass(frozen=True)
class Star:
    """The hosts, and what the switch counts at its ports; `address(i)` is host i's."""

    hosts: tuple[Namespace, ...]
    counters: Counters

    @staticmethod
    def address(host: int) -> str:
        """The IP address of a host."""
        return f"10.0.0.{host + 1}"

    def ports(self) -> list[Counts]:
        """What the switch's ports have sent and dropped, and what waits there, a host each.

        Raises:
            MeasurementError: the kernel does not say.
        """
        return self.counters.read()


@contextmanager
def built(plan: Plan, flows: Sequence[tuple[int, int]]) -> Iterator[Star]:
    """A star as planned, for as long as the context lasts.

    Flow number `i`, from and to the hosts of `flows[i]`, is to have the TCP port `FIRST_PORT + i`
    at its source.

    Raises:
        MeasurementError: the kernel cannot do it.
    """
    with ExitStack() as stack:

        def namespace() -> Namespace:
            made = Namespace()
            stack.callback(made.close)
            return made

        switch, hosts = namespace(), tuple(namespace() for _ in plan.rates)
        _link(switch, hosts, plan)
        _queue(switch, hosts, plan, flows)
        counters = Counters(switch, [_port(host) for host in range(len(hosts))])
        stack.callback(counters.close)
        yield Star(hosts, counters)


def _link(switch: Namespace, hosts: Sequence[Namespace], plan: Plan) -> None:
    """Lay the links, and give each host its address and route."""
    quiet = {"ipv6/conf/all/disable_ipv6": 1}
    switch.set(quiet)
    lines = [f"link add name {_SWITCH} type bridge mcast_snooping 0"]
    for host, namespace in enumerate(hosts):
        end = f"name {_port(host)} mtu {plan.mtu}"
        lines.append(
            f"link add {end} type veth peer name eth0 mtu {plan.mtu} netns {namespace.path}"
        )
        lines.append(f"link set {_port(host)} master {_SWITCH} gso_max_segs 1 up")
    switch.batch("ip", [*lines, f"link set {_SWITCH} up"])
    for host, namespace in enumerate(hosts):
        namespace.set(plan.sysctls)
        own = Star.address(host)
        attributes = " ".join(f"{name} {value}" for name, value in plan.route.items())
        namespace.batch(
            "ip",
            [
                "link set lo up",
                "link set eth0 gso_max_segs 1 up",
                f"addr add {own}/24 dev eth0 noprefixroute",
                f"route add 10.0.0.0/24 dev eth0 src {own} {attributes}",
            ],
        )


def _queue(
    switch: Namespace, hosts: Sequence[Namespace], plan: Plan, flows: Sequence[tuple[int, int]]
) -> None:
    """Put a queue and a rate at both ends of each link."""
    for host, (namespace, rate) in enumerate(zip(hosts, plan.rates, strict=True)):
        bucket = _bucket("eth0", rate, plan.mtu, _HOSTS_ROOM)
        delay = [f"qdisc add dev eth0 parent 1:1 {plan.delaying}"] if plan.delaying else []
        namespace.batch("tc", [bucket, *delay])
        own_flows = [
            (number, "sport" if destination == host else "dport")
            for number, (source, destination) in enumerate(flows)
            if host in (source, destination)
        ]
        fair = plan.queue.quantum and own_flows
        lines = _fair(host, rate, plan, own_flows) if fair else _fifo(host, rate, plan)
        switch.batch("tc", lines)


def _port(host: int) -> str:
    return f"port{host}"


def _fifo(host: int, rate: int, plan: Plan) -> list[str]:
    """The switch's port to a host: one queue."""
    device, queue = _port(host), plan.queue
    if not queue.packets:
        return [_bucket(device, rate, plan.mtu, queue.size)]
    return [
        _bucket(device, rate, plan.mtu, UNLIMITED),
        f"qdisc add dev {device} parent 1:1 {queue.discipline or f'pfifo limit {queue.size}'}",
    ]


def _fair(host: int, rate: int, plan: Plan, flows: Sequence[tuple[int, str]]) -> list[str]:
    """The switch's port to a host: a queue for each flow, found by its number's TCP port.

    Classes that have hardly a rate borrow all of it, a quantum in turn: htb
    goes round them by deficit round robin. Each has an equal part of the port's capacity: what the
    longest queue is left with where all want more.
    """
    device, burst = _port(host), _burst(rate, plan.mtu)
    lines = [
        f"qdisc add dev {device} {_ROOT} htb",
        f"class add dev {device} parent 1: classid 1:1 htb rate {rate}bit burst {burst}"
        f" cburst {burst}",
    ]
    for number, side in flows:
        queue = f"1:{number + 2:x}"
        lines += [
            f"class add dev {device} parent 1:1 classid {queue} htb rate 8kbit ceil {rate}bit"
            f" burst {plan.mtu} cburst {burst} quantum {plan.queue.quantum}",
            f"qdisc add dev {device} parent {queue} bfifo limit {plan.queue.size // len(flows)}",
            f"filter add dev {device} parent 1: protocol ip prio 1 u32"
            f" match ip {side} {FIRST_PORT + number} 0xffff flowid {queue}",
        ]
    return lines


def _bucket(device: str, rate: int, mtu: int, room: int) -> str:
    return (
        f"qdisc add dev {device} {_ROOT} tbf rate {rate}bit burst {_burst(rate, mtu)} limit {room}"
    )


def _burst(rate: int, mtu: int) -> int:
    return max(2 * mtu, round(rate / 8 * _LATEST_S) + mtu)
