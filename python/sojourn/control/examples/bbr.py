"""BBR, version 1, in short: the rate of arrivals decides, not losses. Wants pacing and `rack`."""

from math import ceil

from sojourn.control import Ack, Control, Flow, Time, ms, s

STARTUP = 0
DRAIN = 1
PROBE_BANDWIDTH = 2
PROBE_ROUND_TRIP = 3


class Bbr(Control):
    """Sends at the largest rate of the last rounds, and keeps twice what fills the path in it."""

    startup_gain: float = 2.885
    "By how much the rate grows in a round trip of the start."
    cwnd_gain: float = 2.0
    "How much of what fills the path may be in the network."

    _payload: float = 0.0  # bits of a packet
    _link: float = 0.0  # bits per second, as all rates
    _pace: float = 0.0
    _mode: int = STARTUP
    _best: int = 0  # the largest rate of these five rounds, and of the five before
    _older: int = 0
    _rounds: int = 0
    _round_ends: int = 0  # when a packet has arrived that left after so many bytes had
    _full: int = 0  # the rate that the start has to exceed, and rounds in which it did not
    _not_fuller: int = 0
    _min_rtt: int = 0
    _min_rtt_at: Time = 0
    _phase: int = 0
    _phase_at: Time = 0
    _prior: float = 0.0  # the window before it was made small
    _recovering: bool = False
    _conserving: bool = False

    def start(self, flow: Flow) -> None:
        self._payload, self._link = flow.payload * 8.0, float(flow.rate)
        self._pace = self.startup_gain * self.cwnd * self._payload * 1000.0

    def gap(self, wire: int) -> int:
        return int(wire * (self._link / self._pace))

    def rate(self) -> int:
        return max(self._best, self._older)

    def inside(self, gain: float) -> float:
        """Packets that fill the path, times `gain`, and a few for ACKs that are late."""
        return 3.0 + ceil(gain * self.rate() * (self._min_rtt / s) / self._payload)

    def probe_bandwidth(self, now: int) -> None:
        self._mode, self._phase, self._phase_at = PROBE_BANDWIDTH, 2, now

    def learn(self, ack: Ack) -> None:  # noqa: PLR0912 - the order of steps is Linux's
        begins = ack.delivered_before >= self._round_ends
        if begins:
            self._round_ends, self._conserving = ack.delivered, False
            self._rounds += 1
            if self._rounds % 5 == 0:
                self._older, self._best = self._best, 0
        if not (ack.limited and ack.delivery_rate < self.rate()):
            self._best = max(self._best, ack.delivery_rate)
        old = self._min_rtt > 0 and ack.now - self._min_rtt_at > 10 * s
        if ack.delay > 0 and (old or self._min_rtt == 0 or ack.delay < self._min_rtt):
            self._min_rtt, self._min_rtt_at = ack.delay, ack.now
        if begins and not ack.limited and self._not_fuller < 3:
            fuller = self.rate() >= self._full * 1.25
            self._full = self.rate() if fuller else self._full
            self._not_fuller = 0 if fuller else self._not_fuller + 1
        if self._mode == STARTUP and self._not_fuller == 3:
            self._mode = DRAIN
        if self._mode == DRAIN and ack.in_flight <= self.inside(1.0):
            self.probe_bandwidth(ack.now)
        if old and self._mode != PROBE_ROUND_TRIP:
            self._mode, self._prior = PROBE_ROUND_TRIP, self.cwnd
        if self._mode == PROBE_ROUND_TRIP and self.timer == 0 and ack.in_flight <= 4:
            self.timer = ack.now + 200 * ms
        if self._mode == PROBE_BANDWIDTH and ack.now - self._phase_at > self._min_rtt:
            self._phase, self._phase_at = (self._phase + 1) % 8, ack.now
        gain = 1.0
        if self._mode == STARTUP:
            gain = self.startup_gain
        elif self._mode == DRAIN:
            gain = 1.0 / self.startup_gain
        elif self._mode == PROBE_BANDWIDTH and self._phase < 2:
            gain = 0.75 if self._phase == 1 else 1.25
        pace = 0.99 * gain * self.rate()
        if self._not_fuller == 3 or pace > self._pace:
            self._pace = max(pace, 1.0)
        if self._conserving:
            self.cwnd = max(self.cwnd, float(ack.in_flight + ack.arrived))
        elif self._not_fuller == 3:
            self.cwnd = min(self.cwnd + ack.arrived, self.inside(self.cwnd_gain))
        else:
            self.cwnd += ack.arrived
        self.cwnd = 4.0 if self._mode == PROBE_ROUND_TRIP else max(self.cwnd, 4.0)

    def timer_ran_out(self, now: int) -> None:
        self._min_rtt_at, self.cwnd = now, max(self.cwnd, self._prior)
        self.probe_bandwidth(now)

    def acked(self, ack: Ack) -> None:
        if self._recovering:
            self._recovering, self.cwnd = False, max(self.cwnd, self._prior)
        self.learn(ack)

    def recovering(self, ack: Ack) -> None:
        if not self._recovering:
            self._recovering, self._conserving, self._round_ends = True, True, ack.delivered
            self.cwnd = float(ack.in_flight + ack.arrived)
        self.learn(ack)

    def lost(self, flight: int, now: int) -> None:
        self._prior = self.cwnd

    def timed_out(self, flight: int, now: int) -> None:
        self.cwnd, self._full = 1.0, 0
