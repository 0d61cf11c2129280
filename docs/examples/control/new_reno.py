"""TCP NewReno (RFC 5681, 6582), all of it written out: Control does the same by itself."""

from sojourn.control import Ack, Control


class NewReno(Control):
    """Slow start, congestion avoidance, and half the window after a loss."""

    def acked(self, ack: Ack) -> None:
        if ack.cumulative == 0:
            return
        if self.abc_limit == 0:
            self.cwnd += 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd
        elif self.cwnd >= self.ssthresh:
            self.cwnd += ack.cumulative / self.cwnd
        elif ack.repairing:
            self.cwnd += 1.0
        else:
            self.cwnd += min(ack.cumulative, self.abc_limit)

    def lost(self, flight: int, now: int) -> None:
        self.ssthresh = max(flight / 2, 2.0)
        self.cwnd = self.ssthresh

    def timed_out(self, flight: int, now: int) -> None:
        self.ssthresh = max(flight / 2, 2.0)
        self.cwnd = 1.0
