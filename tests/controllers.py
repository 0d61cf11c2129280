"""Classes of congestion control that tests load, and what their hooks are called with."""

from pathlib import Path
from types import SimpleNamespace

from sojourn.control import examples

EXAMPLES = Path(examples.__file__).parent

STUDY = """
title = "mine"
topology = { kind = "single-switch", hosts = 4 }
workload = { kind = "poisson", sizes = "websearch", load = 0.6, flows = 30 }
[scheme]
name = "mine"
queue = "ecn"
[scheme.transport]
kind = "python"
file = "mine.py"
tcp = { ecn = true }
"""
"""A study of a class in `mine.py`, to be ended by a line of its transport."""

GENTLE = '''\
"""A controller."""
from sojourn.control import Ack, Control, Time, us

SLACK = 2 * us
COUNT = 3


class Gentle(Control):
    """Backs off by a fixed factor at a mark, at most once a round trip."""

    backoff: float = 0.7
    "What a mark leaves
    of the window."
    target: Time = 20 * us + SLACK
    most: int = COUNT
    bold: bool = False
    _calm: int = 0

    def acked(self, ack: Ack) -> None:
        if ack.marked and ack.snd_una >= self._calm:
            self.reduce()
            self._calm = ack.snd_nxt + COUNT
        elif not ack.marked:
            super().acked(ack)

    def reduce(self) -> None:
        self.cwnd = max(self.cwnd * self.backoff, 1)
'''.replace('leaves\n    of the window."', 'leaves of the window."')


def ack(**said):
    """An acknowledgement of one packet, unmarked, after a round trip of 10 us."""
    known = dict.fromkeys(("snd_una", "snd_nxt", "rtt", "delay", "now"), 0)
    return SimpleNamespace(
        **{**known, "cumulative": 1, "arrived": 1, "marked": False, "repairing": False, **said}
    )


ALLOWED = """\
from __future__ import annotations

import math
from typing import Final

from sojourn.control import Ack, Bytes, Control, Flow, Rate, Time, exp, log, ms, ns, power, ps, s

LIMIT: Final = 3 * ms
SHARE: float = 1 / 3
SIZE: Bytes = 1500
BITS = 8


def most(a: float, b: float) -> float:
    '''The greater of two.'''
    return a if a > b else b


class All(Control):
    '''All that may be written.'''

    rate: Rate = 10_000_000_000
    "A rate."
    size: Bytes = SIZE * 2
    wait: Time = LIMIT + 3 * ns - 1 * ps
    flag: bool = True
    _sum: int = -1
    _seen: bool = False
    _mean: float = math.inf

    def start(self, flow: Flow) -> None:
        self._sum, self._mean = flow.hops + flow.bytes, flow.rate / 8
        pass

    def acked(self, ack: Ack) -> None:
        total = 0
        for number in range(1, ack.cumulative + 3, 2):
            if number == 5:
                continue
            total += number << 1 | number & 3 ^ ~number
        while True:
            total -= 1
            if total <= 0 or not (0 < total < 9 and self.flag):
                break
        assert total < 100, "a total"
        if self._sum < -(2**0 if False else 1) and ack.marked:
            raise ValueError("never")
        self._mean = most(self._mean % 7, total // 2) + power(2, 0.5) + exp(0) + log(1)
        self._sum = int(self._mean) + round(self._mean) + math.floor(self._mean) + abs(-3)
        self._seen = ack.marked or bool(total) or math.isnan(self._mean)
        print("total", total, self._mean)
        self.cwnd = math.copysign(math.fabs(self.cwnd), 1) + SHARE + BITS * self.wait / s

    def gap(self, wire: int) -> int:
        if self.cwnd < 1.0:
            return int(wire / self.cwnd)
        elif self.cwnd > 1e9:
            raise OverflowError
        else:
            return min(wire, self.wait) * 2
""".replace("2**0 if False else 1", "2 if False else 1")
