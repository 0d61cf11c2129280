"""Time series of the switch's ports, in the columns of a simulation's."""

from collections.abc import Sequence

import numpy as np

from sojourn._internal.units import PS_PER_S
from sojourn.measurement.plan import Plan
from sojourn.measurement.star import Star
from sojourn.store.rows import Column


class Samples:
    """Looks at all ports, from now on.

    A port where nothing waits, and which has sent nothing since the look before, has no row.
    """

    def __init__(self, star: Star, plan: Plan) -> None:
        self._star, self._rates = star, plan.rates
        # A bucket holds the packet that it has no tokens for yet, which a link would be sending;
        # a class lets it go and is in debt.
        self._on_the_wire = 0 if plan.queue.quantum else plan.mtu
        self._before, self._before_s = star.ports(), 0.0
        self._rows: list[tuple[int, int, int, float]] = []

    def look(self, at_s: float) -> None:
        """Look at every port, so many seconds after the start."""
        now, since = self._star.ports(), at_s - self._before_s
        for host, (was, port) in enumerate(zip(self._before, now, strict=True)):
            sent = port.bytes - was.bytes
            waiting = max(port.held_bytes - self._on_the_wire, 0)
            if sent or waiting:
                busy = min(sent * 8 / self._rates[host] / since, 1.0)
                self._rows.append((round(at_s * PS_PER_S), host, waiting, busy))
        self._before, self._before_s = now, at_s

    def columns(self) -> dict[str, Column]:
        """All rows, by time."""
        at, host, waiting, busy = zip(*self._rows, strict=True) if self._rows else ((),) * 4

        def ints(values: Sequence[int]) -> Column:
            return np.array(values, dtype=np.int64)

        return {
            "at_ps": ints(at),
            "switch": ints([0] * len(at)),
            "towards": (np.zeros(len(at), dtype=np.uint8), ["host", "switch"]),
            "next": ints(host),
            "port": ints(host),
            "waiting_bytes": ints(waiting),
            "busy": np.array(busy, dtype=np.float64),
        }
