"""Whether the machine had time for what was measured on it."""

from pathlib import Path

from sojourn.store.ledger import PROCESSORS_BUSY, Value

_STAT = Path("/proc/stat")
_SOFTNET = Path("/proc/net/softnet_stat")


class Load:
    """The processors from now on; see proc(5)."""

    def __init__(self) -> None:
        self._total, self._idle, self._lost = _now()

    def figures(self) -> dict[str, Value]:
        """Share of the time that processors were busy, and packets that found them so."""
        total, idle, lost = _now()
        passed = max(total - self._total, 1)
        return {
            PROCESSORS_BUSY: 1 - (idle - self._idle) / passed,
            "packets_dropped_at_processors": lost - self._lost,
        }


def _now() -> tuple[int, int, int]:
    """Ticks of all processors, idle ones of them, packets dropped before any queue."""
    ticks = [int(tick) for tick in _STAT.read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    softnet = _SOFTNET.read_text(encoding="ascii").splitlines()
    return sum(ticks), ticks[3] + ticks[4], sum(int(line.split()[1], 16) for line in softnet)
