"""DCTCP (RFC 8257): the window shrinks by as much as the marks say. Wants a queue that marks."""

from sojourn.control import Ack, Control, Flow


class Dctcp(Control):
    """At most once a window of data, the window shrinks by half the smoothed share of marks."""

    gain: float = 0.0625
    "Weight of the newest window in alpha (RFC 8257 section 3.3: 1/16)."
    initial_alpha: float = 1.0
    "Alpha of a new flow (RFC 8257 section 3.3: 1)."

    _alpha: float = 1.0  # smoothed share of marked packets
    _arrived: int = 0
    _marked: int = 0
    _observed: int = 0  # the window under observation ends when this packet is acknowledged
    _reduced: int = 0  # no second reduction before this packet is acknowledged

    def start(self, flow: Flow) -> None:
        self._alpha = self.initial_alpha

    def acked(self, ack: Ack) -> None:
        self._arrived += ack.arrived
        if ack.marked:
            self._marked += ack.arrived
        if ack.snd_una > self._observed:
            share = self._marked / max(self._arrived, 1)
            self._alpha += self.gain * (share - self._alpha)
            self._arrived = 0
            self._marked = 0
            self._observed = ack.snd_nxt
        if not ack.marked:
            super().acked(ack)
        elif ack.snd_una >= self._reduced:
            self.cwnd = max(self.cwnd * (1.0 - self._alpha / 2.0), 1.0)
            self.ssthresh = max(self.cwnd, 2.0)
            self._reduced = ack.snd_nxt + 1
