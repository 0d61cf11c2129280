"""htsim's topology files, `*.topo`: a head, then a block for each tier."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.units import BPS_PER_GBPS, PS_PER_NS
from sojourn.htsim.fabric import Tier, Tree
from sojourn.htsim.lines import Line, lines_of

_LONGEST_NS = 1_000_000_000
_HEAD = {"nodes": (2, 1 << 16), "tiers": (2, 3), "podsize": (1, 1 << 16)}
_OF_TIER = {
    "downlink_speed_gbps": (1, 100_000),
    "radix_up": (1, 1 << 12),
    "radix_down": (1, 1 << 12),
    "queue_up": (0, 1 << 40),
    "queue_down": (0, 1 << 40),
    "oversubscribed": (1, 1 << 12),
    "bundle": (1, 1 << 12),
    "switch_latency_ns": (0, _LONGEST_NS),
    "downlink_latency_ns": (1, _LONGEST_NS),
}
_LEFT_OUT = {"oversubscribed": 1, "bundle": 1, "switch_latency_ns": 0}
_NEEDED = ("downlink_speed_gbps", "radix_down", "downlink_latency_ns")
_MOST_LINES = 1000


@dataclass
class _Blocks:
    """What a file says: its head, and each tier by its number."""

    file: str
    head: dict[str, int] = field(default_factory=dict)
    tiers: dict[int, dict[str, int]] = field(default_factory=dict)

    def refused(self, what: str) -> InputError:
        return InputError(f"{self.file}: {what}")


def read(path: Path) -> Tree:
    """The tree that a file describes.

    Raises:
        InputError: it cannot be read, or is no topology, or contradicts itself.
    """
    blocks = _Blocks(str(path))
    known: Mapping[str, tuple[int, int]] = _HEAD
    block = blocks.head
    for count, line in enumerate(lines_of(path, "topology")):
        key = line.words[0].lower()
        if count >= _MOST_LINES:
            raise line.refused(f"expected a topology of at most {_MOST_LINES:,} lines")
        if key == "tier":
            number = line.whole(1, 0, 2)
            if number in blocks.tiers:
                raise line.refused(f"tier {number} again, expected one block for it")
            block, known = blocks.tiers.setdefault(number, {}), _OF_TIER
            continue
        _enter(block, known, key, line)
    return _tree(blocks)


def _enter(
    block: dict[str, int], known: Mapping[str, tuple[int, int]], key: str, line: Line
) -> None:
    if key not in known:
        raise line.refused(f"unknown {line.words[0]!r}{did_you_mean(key, [*known, 'tier'])}")
    if key in block:
        raise line.refused(f"{line.words[0]} again, expected it once")
    least, most = known[key]
    block[key] = line.whole(1, least, most)
    if len(line.words) > 2:
        raise line.refused(f"{line.words[2]!r}, expected one number behind {line.words[0]}")


def _tree(blocks: _Blocks) -> Tree:
    for key in _HEAD:
        if key not in blocks.head:
            raise blocks.refused(f"no {key} in its head, expected one")
    count = blocks.head["tiers"]
    tiers = [_tier(blocks, number, count) for number in range(count)]
    if 2 in blocks.tiers and count == 2:
        raise blocks.refused("a block of tier 2, expected two tiers, 0 and 1, as its head says")
    hosts, pod = blocks.head["nodes"], blocks.head["podsize"]
    rack, up = tiers[0]["radix_down"], tiers[0]["radix_up"]
    bundles = [tier["bundle"] for tier in tiers]
    speeds = [tier["downlink_speed_gbps"] for tier in tiers]
    _divides(blocks, pod, hosts, "Podsize", "Nodes")
    _divides(blocks, rack, pod, "Radix_Down of tier 0", "Podsize")
    if count == 2 and pod != hosts:
        raise blocks.refused(f"Podsize {pod}, expected {hosts}, one pod, in two tiers")
    if bundles[0] != 1:
        raise blocks.refused(f"Bundle {bundles[0]} of tier 0, expected 1: a host has one link")
    for number in range(count - 1):
        share = tiers[number]["oversubscribed"]
        radix = tiers[number]["radix_down"], tiers[number]["radix_up"]
        if number == 0 and radix[0] // radix[1] != share:
            raise blocks.refused(
                f"Oversubscribed {share} of tier 0, expected {radix[0] // radix[1]}:"
                f" Radix_Down is {radix[0]}, Radix_Up {radix[1]}"
            )
        _divides(blocks, bundles[number + 1], radix[1], f"Bundle of tier {number + 1}", "Radix_Up")
    pods, racks = hosts // pod, pod // rack
    # Each step up has the bandwidth below it, less what is oversubscribed.
    uplinks = _links(blocks, hosts * speeds[0], speeds[1] * tiers[0]["oversubscribed"], 0)
    planes = _switches(blocks, uplinks, pods * tiers[1]["radix_down"], 1)
    if planes * bundles[1] != up:
        raise blocks.refused(
            f"Radix_Up {up} of tier 0, expected {planes * bundles[1]}: {planes} switches of tier 1"
            f" per pod, with {bundles[1]} links to each"
        )
    cores = 0
    if count == 3:
        below = speeds[2] * tiers[1]["oversubscribed"]
        uplinks = _links(blocks, uplinks * speeds[1], below, 1)
        cores, left = divmod(_switches(blocks, uplinks, tiers[2]["radix_down"], 2), planes)
        if left or cores * bundles[2] != tiers[1]["radix_up"]:
            raise blocks.refused(
                f"Radix_Up {tiers[1]['radix_up']} of tier 1, expected {cores * bundles[2]}:"
                f" {cores} switches of tier 2 for each of {planes}"
            )
    ratio = tiers[0]["oversubscribed"]
    return Tree(
        pods=pods,
        racks=racks,
        hosts=rack,
        planes=planes,
        cores=cores,
        tiers=tuple(
            Tier(
                rate=tier["downlink_speed_gbps"] * BPS_PER_GBPS,
                latency=tier["downlink_latency_ns"] * PS_PER_NS,
                switch_latency=tier["switch_latency_ns"] * PS_PER_NS,
                bundle=tier["bundle"],
            )
            for tier in tiers
        ),
        oversubscription=ratio * (tiers[1]["oversubscribed"] if count == 3 else 1),
    )


def _tier(blocks: _Blocks, number: int, count: int) -> dict[str, int]:
    if number not in blocks.tiers:
        raise blocks.refused(f"no block of tier {number}, expected one, as it has {count} tiers")
    tier = {**_LEFT_OUT, **blocks.tiers[number]}
    is_top = number == count - 1
    if number == 2 and not {"radix_up", "queue_up"}.isdisjoint(tier):
        raise blocks.refused("radix_up or queue_up of tier 2, expected none: nothing is above it")
    for key in (*_NEEDED, *(() if is_top else ("radix_up",))):
        if key not in tier:
            raise blocks.refused(f"no {key} of tier {number}, expected one")
    return tier


def _divides(blocks: _Blocks, part: int, whole: int, name: str, of: str) -> None:
    if whole % part:
        raise blocks.refused(f"{name} {part}, expected a divisor of {of}, {whole}")


def _links(blocks: _Blocks, below: int, above: int, number: int) -> int:
    links, left = divmod(below, above)
    if left or not links:
        raise blocks.refused(
            f"the speeds of tiers {number} and {number + 1} and Oversubscribed make no whole number"
            f" of links up from tier {number}"
        )
    return links


def _switches(blocks: _Blocks, links: int, ports: int, number: int) -> int:
    switches, left = divmod(links, ports)
    if left or not switches:
        raise blocks.refused(
            f"Radix_Down of tier {number}: {links} links up to it, expected a multiple of {ports}"
        )
    return switches
