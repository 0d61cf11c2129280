"""NewReno, DCTCP, CUBIC and Swift as classes: what papers and RFCs say, by hand."""

import math
import random
from types import SimpleNamespace

import pytest

from controllers import EXAMPLES, ack
from sojourn.control import cbrt, exp, log, power
from sojourn.control.loading import load, new

US = 10**6
MS = 10**9


def flow_of(name, cwnd, ssthresh, abc_limit=0, hops=5, **values):
    """A flow of an example's class that has started, over five switches."""
    flow = new(load(str(EXAMPLES / f"{name}.py")), values)(cwnd, ssthresh, 0, abc_limit)
    flow.start(SimpleNamespace(hops=hops, bytes=10**6, payload=1460, rate=10**10))
    return flow


@pytest.mark.parametrize("name", ["new_reno", "dctcp", "cubic", "swift"])
def test_an_example_is_short(name):
    """At most 60 lines of code: fields' words, comments and empty lines do not count."""
    lines = [line.strip() for line in (EXAMPLES / f"{name}.py").read_text().split("\n")]
    assert sum(bool(line) and line[0] not in '#"' for line in lines) < 60


@pytest.mark.parametrize("name", ["new_reno", "dctcp", "cubic", "swift"])
def test_what_is_written_into_a_class_changes_no_number(name):
    """The file as it stands, and as it is loaded, on random ACKs, losses and time-outs."""
    file = EXAMPLES / f"{name}.py"
    found = load(str(file))
    as_it_stands = {"__name__": "as_it_stands"}
    exec(file.read_text(), as_it_stands)  # noqa: S102
    for limit in (0, 2):
        own = as_it_stands[found.name](cwnd=4.0, ssthresh=20.0, abc_limit=limit)
        flows = own, new(found, {})(4.0, 20.0, 0, limit)
        draw = random.Random(limit)
        for turn in range(2000):
            now, kind = turn * 3 * US, draw.random()
            said = ack(
                cumulative=draw.randrange(4),
                arrived=draw.randrange(3),
                marked=draw.random() < 0.1,
                repairing=draw.random() < 0.1,
                snd_una=turn,
                snd_nxt=turn + draw.randrange(30),
                rtt=draw.randrange(90 * US),
                delay=draw.randrange(90 * US),
                now=now,
            )
            for flow in flows:
                if kind < 0.01:
                    flow.timed_out(turn % 40, now)
                elif kind < 0.03:
                    flow.lost(turn % 40, now)
                else:
                    flow.acked(said)
            states = [[getattr(flow, each) for each in found.cls.__fields__] for flow in flows]
            assert states[0] == states[1]
            assert flows[0].gap(1200) == flows[1].gap(1200)


def test_new_reno_does_what_control_does():
    """RFC 5681 (3.1), with RFC 3465 and without."""
    from sojourn.control import Control

    for limit in (0, 2):
        both = Control(cwnd=10.0, ssthresh=12.5, abc_limit=limit), flow_of("new_reno", 10.0, 12.5)
        both[1].abc_limit = limit
        for number in range(40):
            said = ack(cumulative=number % 4, repairing=number % 7 == 0)
            for flow in both:
                flow.acked(said)
                if number % 13 == 12:
                    flow.lost(number, 0)
                if number % 17 == 16:
                    flow.timed_out(number, 0)
            assert both[0].cwnd == both[1].cwnd
            assert both[0].ssthresh == both[1].ssthresh


def test_the_window_of_new_reno_grows_by_what_is_acknowledged():
    flow = flow_of("new_reno", 10.0, 12.0, abc_limit=2)
    for cumulative, cwnd in ((2, 12.0), (2, 12.0 + 2.0 / 12.0), (0, 12.0 + 2.0 / 12.0)):
        flow.acked(ack(cumulative=cumulative))
        assert flow.cwnd == cwnd


def test_alpha_and_window_of_dctcp_follow_the_rfc():
    """g = 1/16 from alpha = 1: a window of ten with two marks (RFC 8257, 3.3)."""
    flow = flow_of("dctcp", 10.0, 5.0)
    flow.acked(ack(snd_una=1, snd_nxt=10, marked=True))
    assert (flow._alpha, flow.cwnd, flow.ssthresh) == (1.0, 5.0, 5.0)
    for upto in range(2, 11):
        flow.acked(ack(snd_una=upto, snd_nxt=15, marked=upto == 4))
    # One reduction a window: the mark at 4 came before packet 10 was acknowledged.
    assert flow.cwnd > 5.0
    flow.acked(ack(snd_una=11, snd_nxt=16))
    assert flow._alpha == 1.0 + (1.0 / 10.0 - 1.0) / 16.0


def test_the_window_of_cubic_is_a_cube_of_time():
    """RFC 9438 (4.6, figures 1 and 2): 1000 falls to 700, and is back after (300 / 0.4)^(1/3) s."""
    flow = flow_of("cubic", 1000.0, 2.0)
    flow.lost(1000, 0)
    assert (flow.cwnd, flow.ssthresh) == (700.0, 700.0)
    # The first ACK begins; at that moment Reno is ahead by its first step.
    flow.acked(ack(now=5000 * MS, rtt=100 * MS))
    assert flow._flat_after == pytest.approx(750 ** (1 / 3), rel=1e-12)
    assert flow.cwnd == pytest.approx(700.0 + 0.9 / 1.7 / 700.0, rel=1e-12)
    flow.cwnd = 700.0
    flow.acked(ack(now=5100 * MS, rtt=100 * MS))
    cube = 1000.0 + 0.4 * (0.2 - 750 ** (1 / 3)) ** 3
    assert flow.cwnd == pytest.approx(700.0 + (cube - 700.0) / 700.0, rel=1e-12)


def test_cubic_after_a_time_out_begins_where_the_cube_is_flat():
    flow = flow_of("cubic", 100.0, 2.0)
    flow.timed_out(100, 0)
    assert (flow.cwnd, flow.ssthresh, flow._prior) == (1.0, 70.0, 100.0)
    flow.timed_out(1, 0)  # the same packet again
    assert flow._prior == 100.0
    flow.cwnd = 80.0
    flow.acked(ack(now=MS))
    assert (flow._flat, flow._flat_after) == (80.0, 0.0)


def test_swift_grows_below_its_target_and_shrinks_above_once_a_round_trip():
    """Section 3.5: over five switches the target of a large window is 20 us and 5 x 3 us."""
    flow = flow_of("swift", 100.0, math.inf)
    flow.acked(ack(delay=34 * US, now=50 * US))
    assert flow.cwnd == 100.0 + 1.0 / 100.0
    flow.acked(ack(delay=70 * US, now=100 * US))
    assert flow.cwnd == pytest.approx((100.0 + 0.01) * (1.0 - 0.8 * 0.5))
    before = flow.cwnd
    flow.acked(ack(delay=70 * US, now=169 * US))
    assert flow.cwnd == before
    flow.acked(ack(delay=0, now=200 * US))
    assert flow.cwnd == before


def test_swift_paces_a_window_below_one_packet():
    flow = flow_of("swift", 2.0, math.inf)
    flow.acked(ack(delay=10 * US, now=0))
    assert flow.gap(1) == 0
    flow.cwnd = 0.5
    assert flow.gap(1) == 20 * US
    for number in range(5):
        flow.timed_out(1, number * US)
    assert flow.cwnd == 0.001


@pytest.mark.parametrize("root", [1e-9, 0.3, 0.5, 1.0, 4.217, 5.0, 1000.0, 1e6])
def test_cube_roots_are_exact_to_the_last_digits(root):
    assert cbrt(root * root * root) == pytest.approx(root, rel=1e-15)
    assert cbrt(-root * root * root) == pytest.approx(-root, rel=1e-15)


def test_the_other_functions():
    assert cbrt(0.0) == 0.0
    assert power(2.0, 10.0) == 1024.0
    assert exp(0.0) == 1.0
    assert log(1.0) == 0.0
