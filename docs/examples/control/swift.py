"""Swift: a delay target, reached from both sides (Kumar et al., SIGCOMM 2020). Wants pacing."""

from math import sqrt

from sojourn.control import Ack, Control, Flow, Time, us


class Swift(Control):
    """Grows while the round trip is below a target; shrinks by the excess, once a round trip."""

    min_cwnd: float = 0.001
    "The window never falls below this part of a packet."
    base_target: Time = 20 * us
    "The target without hops and scaling (section 3.5)."
    hop_scale: Time = 3 * us
    "What each switch of the path adds to the target (section 3.5)."
    fs_range: Time = 100 * us
    "The most that a small window adds to the target (section 3.5)."
    fs_min_cwnd: float = 0.1
    "The window, in packets, at which it adds all of that."
    fs_max_cwnd: float = 100.0
    "The window, in packets, from which on it adds nothing."
    ai: float = 1.0
    "By how many packets the window grows in a round trip."
    beta: float = 0.8
    "How much of the excess over the target the window loses."
    max_mdf: float = 0.5
    "The most that the window loses at once."
    retx_reset_threshold: int = 5
    "At the time-out of this number in a row the window falls to its minimum."

    _hops: int = 0
    _rtt: int = 0  # the latest round trip
    _decreased: int = -1  # when the window last shrank
    _timeouts: int = 0  # in a row

    def start(self, flow: Flow) -> None:
        self._hops = flow.hops

    def target(self) -> float:
        most = float(self.fs_range)
        alpha = most / (1.0 / sqrt(self.fs_min_cwnd) - 1.0 / sqrt(self.fs_max_cwnd))
        beta = -alpha / sqrt(self.fs_max_cwnd)
        flows = min(max(alpha / sqrt(self.cwnd) + beta, 0.0), most)
        return self.base_target + self._hops * self.hop_scale + flows

    def shrink(self, factor: float, now: int) -> None:
        if self._decreased < 0 or now - self._decreased >= self._rtt:
            self.cwnd = max(self.cwnd * factor, self.min_cwnd)
            self._decreased = now

    def gap(self, wire: int) -> int:
        return int(self._rtt / self.cwnd) if self.cwnd < 1.0 else 0

    def acked(self, ack: Ack) -> None:
        if ack.delay == 0:
            return
        self._rtt, self._timeouts = ack.delay, 0
        target = self.target()
        if ack.delay < target:
            self.cwnd += self.ai * ack.arrived / max(self.cwnd, 1.0)
        else:
            factor = 1.0 - self.beta * (ack.delay - target) / ack.delay
            self.shrink(max(factor, 1.0 - self.max_mdf), ack.now)

    def lost(self, flight: int, now: int) -> None:
        self._timeouts = 0
        self.shrink(1.0 - self.max_mdf, now)
        self.ssthresh = self.cwnd

    def timed_out(self, flight: int, now: int) -> None:
        self._timeouts += 1
        if self._timeouts >= self.retx_reset_threshold:
            self.cwnd, self._decreased = self.min_cwnd, now
        else:
            self.shrink(1.0 - self.max_mdf, now)
