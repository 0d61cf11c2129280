"""The trees of switches that htsim_uec simulates, as topologies of a study."""

from dataclasses import dataclass
from math import isqrt

from sojourn._internal.errors import InputError
from sojourn._internal.units import BPS_PER_GBPS, BPS_PER_MBPS, PS_PER_NS, PS_PER_US

_MOST_HOSTS = 1 << 16


@dataclass(frozen=True)
class Tier:
    """The switches of a tier and the links below them.

    `rate` is in bits a second, and the latencies are in picoseconds; `bundle` counts the parallel
    links to each neighbour below.
    """

    rate: int
    latency: int
    switch_latency: int
    bundle: int = 1


@dataclass(frozen=True)
class Tree:
    """Racks of hosts below one or two tiers of further switches.

    Each rack of a pod is connected to `planes` switches of its pod, and each of these to `cores` of
    its plane; without cores, the switches of the only pod are spines.
    """

    pods: int
    racks: int
    hosts: int
    planes: int
    cores: int
    tiers: tuple[Tier, ...]
    oversubscription: int = 1

    @property
    def all_hosts(self) -> int:
        """How many hosts there are."""
        return self.pods * self.racks * self.hosts

    @property
    def diameter(self) -> int:
        """How many links the longest way between two hosts has."""
        return 2 * len(self.tiers)

    @property
    def latency(self) -> int:
        """What the longest way between two hosts takes before any transmission, in picoseconds."""
        links = 2 * sum(tier.latency for tier in self.tiers)
        switches = [tier.switch_latency for tier in self.tiers]
        return links + 2 * sum(switches[:-1]) + switches[-1]


def default_tree(tiers: int, nodes: int, latency: int, switch_latency: int, rate: int) -> Tree:
    """The tree of equal switches that htsim_uec builds without a topology file.

    Raises:
        InputError: there is none with so many hosts.
    """
    if not 2 <= nodes <= _MOST_HOSTS:
        raise InputError(f"{nodes} nodes: expected 2 to {_MOST_HOSTS:,}")
    like = (Tier(rate, latency, switch_latency),) * tiers
    if tiers == 2:
        k = isqrt(2 * nodes)
        if k * k != 2 * nodes or k % 2:
            raise _impossible(nodes, "k²/2", "two tiers")
        return Tree(1, k, k // 2, k // 2, 0, like)
    k = round((4 * nodes) ** (1 / 3))
    if k**3 != 4 * nodes or k % 2:
        raise _impossible(nodes, "k³/4", "three tiers")
    return Tree(k, k // 2, k // 2, k // 2, k // 2, like)


def _impossible(nodes: int, formula: str, what: str) -> InputError:
    expected = f"without -topo {what} have {formula} hosts, k being the even number of their ports"
    return InputError(f"{nodes} nodes: {expected}")


def topology(tree: Tree, speed: int) -> dict[str, object]:
    """The topology of a study whose hosts' links have a speed, in bits a second.

    htsim_uec has a latency in each switch. A study has none, but longer links take packets the
    same time: half of it on each link of the switch, or what two switches have in common between
    them. That the hosts' clocks are late by half of a switch's changes no duration.

    Raises:
        InputError: a study cannot say it.
    """
    delays = _delays(tree)
    rates = [speed, *(tier.rate for tier in tree.tiers[1:])]
    bundles = [tier.bundle for tier in tree.tiers]
    if not tree.cores:
        return _leaf_spine(tree, delays, rates)
    if max(bundles) > 1:
        raise InputError(
            "Bundle: expected 1 in three tiers; a study has parallel links only between the leaves"
            " and spines of two"
        )
    if len({*delays}) > 1:
        raise InputError(
            f"latencies: a study has one for all links of three tiers; {_as_links(delays)}"
        )
    delay = _time(delays[0])
    k = 2 * tree.racks
    if [tree.pods, tree.hosts, tree.planes, tree.cores] == [k, *3 * [k // 2]] and len(
        {*rates}
    ) == 1:
        return {"kind": "fat-tree", "k": k, "rate": _rate(speed), "delay": delay}
    return {
        "kind": "clos",
        "pods": tree.pods,
        "racks": tree.racks,
        "hosts": tree.hosts,
        "planes": tree.planes,
        "spines": tree.cores,
        "rate": _rate(rates[0]),
        "uplink_rate": _rate(rates[1]),
        "spine_rate": _rate(rates[2]),
        "delay": delay,
    }


def graph(tree: Tree) -> dict[str, object]:
    """The switches, hosts and links of a tree, as a topology of the kind `graph`.

    Half of a switch's latency is on each link of the switch; see `topology`.

    Raises:
        InputError: latencies are no whole nanoseconds.
    """
    delays = [_time(delay) for delay in _delays(tree)]
    rates = [_rate(tier.rate) for tier in tree.tiers]
    racks = range(tree.pods * tree.racks)
    planes = range(tree.pods * tree.planes)

    def link(tier: int, below: str, above: str) -> dict[str, object]:
        speed = {"rate": rates[tier], "delay": delays[tier]}
        return {"from": below, "to": above, "count": tree.tiers[tier].bundle, **speed}

    links = [
        link(1, f"tor{rack}", f"agg{rack // tree.racks * tree.planes + plane}")
        for rack in racks
        for plane in range(tree.planes)
    ]
    links += [
        link(2, f"agg{agg}", f"core{agg % tree.planes * tree.cores + core}")
        for agg in planes
        for core in range(tree.cores)
    ]
    cores = range(tree.planes * tree.cores)
    hosts = {"count": tree.hosts, "rate": rates[0], "delay": delays[0]}
    return {
        "switches": [
            *(f"tor{rack}" for rack in racks),
            *(f"agg{plane}" for plane in planes),
            *(f"core{core}" for core in cores),
        ],
        "hosts": [{"switch": f"tor{rack}", **hosts} for rack in racks],
        "links": links,
    }


def _leaf_spine(tree: Tree, delays: list[int], rates: list[int]) -> dict[str, object]:
    more = delays[0] - delays[1]
    if more < 0:
        raise InputError(
            "latencies: a study of two tiers has no longer links between switches than to hosts;"
            f" {_as_links(delays)}"
        )
    return {
        "kind": "leaf-spine",
        "racks": tree.racks,
        "hosts": tree.hosts,
        "spines": tree.planes,
        "uplinks": tree.tiers[1].bundle,
        "rate": _rate(rates[0]),
        "uplink_rate": _rate(rates[1]),
        "delay": _time(delays[1]),
        **({"host_delay": _time(more)} if more else {}),
    }


def _delays(tree: Tree) -> list[int]:
    """What a packet takes on a link of each tier, its share of the switches' latencies included."""
    latencies = [tier.switch_latency for tier in tree.tiers]
    below = [0, *latencies]
    shares = [lower + own for lower, own in zip(below, latencies, strict=False)]
    if any(share % 2 for share in shares):
        raise InputError("switch latencies: expected whole nanoseconds")
    return [tier.latency + share // 2 for tier, share in zip(tree.tiers, shares, strict=True)]


def _as_links(delays: list[int]) -> str:
    shown = ", ".join(_time(delay) for delay in delays)
    return f"with their share of the switches' latencies they are, from the hosts up, {shown}"


def failures(tree: Tree, number: int) -> list[dict[str, object]]:
    """The links that `-failed` degrades.

    In two tiers these are all links of the first spines, both ways. In three they are the first
    links from cores down to the first switches below them, that way only.
    """
    if not tree.cores:
        spines = range(min(number, tree.planes))
        links = [f"1.{spine} - 0.{rack}" for spine in spines for rack in range(tree.racks)]
    else:
        links = [
            f"2.{switch % tree.planes * tree.cores + core} > 1.{switch}"
            for switch in range(tree.pods * tree.planes)
            for core in range(tree.cores)
            if core + switch * tree.planes < number
        ]
    return [{"link": link, "capacity": FAILED_CAPACITY} for link in links]


FAILED_CAPACITY = 0.25
"""The share of its speed that a failed link has in htsim_uec."""


def _rate(bits: int) -> str:
    for unit, size in (("Gbps", BPS_PER_GBPS), ("Mbps", BPS_PER_MBPS)):
        if bits % size == 0:
            return f"{bits // size}{unit}"
    return f"{bits}bps"


def _time(ps: int) -> str:
    for unit, size in (("us", PS_PER_US), ("ns", PS_PER_NS)):
        if ps % size == 0:
            return f"{ps // size}{unit}"
    return f"{ps}ps"
