"""Every number on the page about priority queues, computed from the paper's inputs."""

import re
from math import ceil, log2
from pathlib import Path

import pytest

from sojourn._internal import registry
from sojourn._internal.units import number

PAGE = (Path(__file__).parents[2] / "docs/priority-queue.md").read_text(encoding="utf-8")
WORDS = " ".join(PAGE.split())
SMALLEST, FULL = 64, 1500
ROUND_TRIP_NS = 12_000
GAP = 20  # bytes of preamble and inter-packet gap (IEEE 802.3)


def per_link(gbps, size):
    """Time of a packet in ns, bytes of buffer, packets in it, steps of a binary tree over them."""
    delay_product = gbps * ROUND_TRIP_NS / 8
    buffer = 1.5 * delay_product
    packets = int(buffer / size)
    return size * 8 / gbps, buffer, packets, ceil(log2(packets))


def digits(value):
    return number(value, 3)


def row(gbps, size, *, buffer):
    time_ns, room, packets, steps = per_link(gbps, size)
    cells = [f"{gbps} Gb/s", f"{digits(time_ns)} ns"]
    cells += [f"{digits(room / 1000)} KB"] if buffer else []
    cells += [f"{packets:,}", str(steps), f"{digits(time_ns / steps)} ns"]
    return "| " + " | ".join([*cells, f"{digits(steps / time_ns)} GHz"]) + " |"


def rows(columns):
    """The lines of the page's table with that many columns that begin with a speed."""
    lines = [line.strip() for line in PAGE.splitlines()]
    return [x for x in lines if re.match(r"\| \d+ Gb/s", x) and x.count("|") == columns + 1]


def test_the_papers_numbers():
    """Section 2.2: 22.5 KB, 64 B, 51.2 ns, at most ~350 numbers, 9 clock cycles."""
    time_ns, buffer, packets, steps = per_link(10, SMALLEST)
    assert (time_ns, buffer, packets, steps) == (51.2, 22_500, 351, 9)
    assert steps == ceil(log2(350))
    port = registry.entry("queues", "pfabric")
    (default,) = [p["default"] for p in port["parameters"] if p["name"] == "buffer"]
    assert default == '"22.5KB"'
    for said in ("holds 22.5 KB", "about 350 packets of 64 bytes", "51.2 ns", "in 9 steps"):
        assert said in WORDS
    assert f"{number(time_ns / steps, 2)} ns a step" in WORDS
    assert f"A clock of {steps / time_ns * 1000:.0f} MHz" in WORDS


@pytest.mark.parametrize(
    ("columns", "size", "speeds"),
    [
        (7, SMALLEST, [10, 25, 40, 100, 200, 400, 800]),
        (6, FULL, [10, 100, 400, 800]),
    ],
)
def test_the_tables(columns, size, speeds):
    assert rows(columns) == [row(gbps, size, buffer=columns == 7) for gbps in speeds]


def test_what_the_text_says_of_them():
    clocks = {
        gbps: steps / time for gbps in (40, 100) for time, _, _, steps in [per_link(gbps, 64)]
    }
    assert clocks[40] < 1
    assert clocks[100] > 2
    time_ns, *_ = per_link(400, SMALLEST)
    assert f"{digits(time_ns)} ns at 400 Gb/s, a clock of {digits(1 / time_ns)} GHz" in WORDS
    assert f"{digits((SMALLEST + GAP) * 8 / 10)} ns at 10 Gb/s, not 51.2 ns" in WORDS
    assert f"{digits((SMALLEST + GAP) / SMALLEST)} times what is needed" in WORDS
    full = per_link(10, FULL)
    assert f"some {full[2]} packets" in WORDS
