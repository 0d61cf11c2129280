"""Whether the machine had time for what was measured on it."""

import os
from dataclasses import dataclass
from pathlib import Path

from sojourn.store.ledger import PROCESSORS_BUSY, PROCESSORS_BUSY_ELSEWHERE, Value

_STAT = Path("/proc/stat")
_SOFTNET = Path("/proc/net/softnet_stat")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Load:
    """The processors from now on; see proc(5)."""

    def __init__(self) -> None:
        self._before = _Moment.now()

    def figures(self) -> dict[str, Value]:
        """Shares of the time that processors were busy, and packets that found them so.

        `processors_busy_elsewhere` is the share that other programs took: neither this process
        nor the kernel's work on packets, which is done in soft interrupts.
        """
        was, now = self._before, _Moment.now()
        passed = max(now.total - was.total, 1)
        own = now.own + now.interrupts - was.own - was.interrupts
        busy = passed - (now.idle - was.idle)
        return {
            PROCESSORS_BUSY: busy / passed,
            PROCESSORS_BUSY_ELSEWHERE: max(busy - own, 0.0) / passed,
            "packets_dropped_at_processors": now.lost - was.lost,
        }


@dataclass(frozen=True)
class _Moment:
    """Ticks of all processors so far, and packets dropped before any queue."""

    total: int
    idle: int
    interrupts: int
    own: float
    lost: int

    @staticmethod
    def now() -> "_Moment":
        line = _STAT.read_text(encoding="ascii").splitlines()[0]
        _, _, _, idle, waiting, hard, soft, *_ = ticks = [int(t) for t in line.split()[1:9]]
        softnet = _SOFTNET.read_text(encoding="ascii").splitlines()
        return _Moment(
            total=sum(ticks),
            idle=idle + waiting,
            interrupts=hard + soft,
            own=sum(os.times()[:4]) * _TICKS_PER_S,
            lost=sum(int(line.split()[1], 16) for line in softnet),
        )
