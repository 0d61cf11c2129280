"""The queues, thresholds and timers that htsim_uec computes from its fabric."""

from dataclasses import dataclass
from math import ceil

from sojourn._internal.units import BPS_PER_GBPS, PS_PER_S, PS_PER_US, US_PER_S
from sojourn.htsim.arguments import PROGRAM, Arguments, refused
from sojourn.htsim.fabric import Tree

HEADER_BYTES = 64
"""Of a packet, of an acknowledgement, and what is left of a packet that is trimmed."""

_RTO_US = 15
_RTO_QUEUES = 6
_MARK_FROM, _MARK_ALL = 0.2, 0.8
_TARGET = 0.75
_PRODUCTS, _PRODUCTS_WITHOUT_TRIMS = 1, 5


@dataclass(frozen=True)
class Sizes:
    """Bytes of a port's queue and of its thresholds; times in picoseconds."""

    buffer: int
    mark_from: int
    mark_all: int
    target: int
    rto: int


def sizes(asked: Arguments, tree: Tree) -> Sizes:
    """What the fabric's ports and transport have.

    Raises:
        InputError: the queue is smaller than the threshold above which all is marked.
    """
    round_trip = base_round_trip(tree, asked.speed, asked.packet_bytes)
    # In the reference's order of operations, whose rounding decides about a packet more or less.
    product = ceil((round_trip / PS_PER_S) * (asked.speed // 8) / asked.packet_bytes)
    factor = asked.queue_products or (_PRODUCTS if asked.trims else _PRODUCTS_WITHOUT_TRIMS)
    queue = product * factor if asked.queue is None else asked.queue
    low, high = asked.ecn or (ceil(product * _MARK_FROM), ceil(product * _MARK_ALL))
    if high > queue:
        name = "-q" if asked.queue is not None else "-ecn"
        raise refused(
            name,
            f"a queue of {queue} packets, expected at least {high}, from which on all packets are"
            f" marked ({PROGRAM} stops there)",
        )
    target = round_trip * (_TARGET if asked.trims else 1)
    buffer = queue * asked.packet_bytes
    rto_us = _RTO_US + buffer * _RTO_QUEUES * 8 * US_PER_S / asked.speed
    return Sizes(
        buffer=buffer,
        mark_from=low * asked.packet_bytes,
        mark_all=high * asked.packet_bytes,
        target=asked.target or int(target),
        rto=int(rto_us * PS_PER_US),
    )


def base_round_trip(tree: Tree, speed: int, packet_bytes: int) -> int:
    """The longest round trip of an empty fabric in picoseconds, all links as fast as the hosts'."""
    gbps = speed / BPS_PER_GBPS
    packet = packet_bytes * 8 / gbps * tree.diameter * 1000
    answer = HEADER_BYTES * 8 / gbps * tree.diameter * 1000
    return int(2 * tree.latency + packet + answer)
