"""CUBIC (RFC 9438): between losses the window follows a cube of time."""

from sojourn.control import Ack, Control, cbrt, s


class Cubic(Control):
    """The window grows back quickly to where a loss was, lingers, and then looks for more."""

    c: float = 0.4
    "How fast the window grows, in packets per second cubed (RFC 9438 section 5)."
    beta: float = 0.7
    "What a loss leaves of the window (RFC 9438 section 4.6)."
    fast_convergence: bool = True
    "Whether a flow that lost earlier than before leaves capacity to others (section 4.7)."

    _began: int = -1  # when congestion avoidance began
    _flat: float = 0.0  # where the cube is flat (W_max)
    _flat_after: float = 0.0  # and when, in seconds from the beginning (K)
    _reno: float = 0.0  # what Reno's window would be
    _prior: float = 0.0  # the window when ssthresh was last set
    _timed_out: bool = False

    def cube(self, after: float) -> float:
        distance = after - self._flat_after
        return self.c * (distance * distance * distance) + self._flat

    def acked(self, ack: Ack) -> None:
        if ack.cumulative == 0 or self.cwnd < self.ssthresh:
            super().acked(ack)
            return
        if self._began < 0:
            if self._timed_out:
                self._flat = self.cwnd
            self._flat_after = cbrt((self._flat - self.cwnd) / self.c)
            self._reno, self._began = self.cwnd, ack.now
        alpha = 3.0 * (1.0 - self.beta) / (1.0 + self.beta) if self._reno < self._prior else 1.0
        self._reno += alpha * ack.cumulative / self.cwnd
        after = (ack.now - self._began) / s
        if self.cube(after) < self._reno:
            self.cwnd = self._reno
        else:
            target = self.cube(after + ack.rtt / s)
            growth = min(max(target, self.cwnd), 1.5 * self.cwnd) - self.cwnd
            self.cwnd += (ack.cumulative if self.abc_limit > 0 else 1) * growth / self.cwnd

    def reduce(self, flight: int, prior: float) -> None:
        converge = self.fast_convergence and self.cwnd < self._flat
        self._flat = self.cwnd * ((1.0 + self.beta) / 2.0 if converge else 1.0)
        self._prior, self._began = prior, -1
        self.ssthresh = max(flight * self.beta, 2.0)

    def lost(self, flight: int, now: int) -> None:
        self.reduce(flight, self.cwnd)
        self._timed_out, self.cwnd = False, self.ssthresh

    def timed_out(self, flight: int, now: int) -> None:
        # The same packet again: ssthresh is held, and with it the window that it was set from.
        self.reduce(flight, self.cwnd if self.cwnd > 1.0 else self._prior)
        self._timed_out, self.cwnd = True, 1.0
