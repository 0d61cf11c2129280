"""PIE (RFC 8033): drop packets at random, so that the queueing delay is as it should be."""

from sojourn.control import DROP, KEEP, MARK, Packet, Queue, Time, ms, s


class Pie(Queue):
    """Names are those of RFC 8033, section 4; the delay is that of the last packet that left."""

    target: Time = 15 * ms
    "The queueing delay that it aims at (QDELAY_REF)."
    update: Time = 15 * ms
    "Interval between adjustments of the probability (T_UPDATE)."
    alpha: float = 0.125
    "Change of the probability for a second that the delay is above the target."
    beta: float = 1.25
    "Change of the probability for a second by which the delay has grown."
    max_burst: Time = 150 * ms
    "How long a burst may last before packets are dropped."
    ecn: bool = False
    "Whether a packet is marked where that is possible, up to a probability of 0.1."
    _drop_prob: float = 0.0
    _accu_prob: float = 0.0
    _burst_allowance: int = 0
    _qdelay: int = 0
    _qdelay_old: int = 0
    _next_update: int = 0

    def start(self) -> None:
        """Begin to adjust at a random time."""
        self._burst_allowance = self.max_burst
        self._next_update = 1 + self.below(self.update)

    def enqueue(self, packet: Packet) -> int:
        """Section 4.1, derandomized as in section 5.4."""
        self.adjust_until(packet.now, packet.backlog)
        half = self.target // 2
        if self._drop_prob == 0.0 and self._qdelay < half and self._qdelay_old < half:
            self._burst_allowance = self.max_burst
        calm = self._qdelay_old < half and self._drop_prob < 0.2
        if self._burst_allowance > 0 or calm or packet.backlog <= 3000:
            return KEEP
        self._accu_prob = self._accu_prob + self._drop_prob if self._drop_prob > 0.0 else 0.0
        if self._accu_prob < 0.85:
            return KEEP
        if self._accu_prob < 8.5 and self.uniform() >= self._drop_prob:
            return KEEP
        self._accu_prob = 0.0
        return MARK if self.ecn and self._drop_prob <= 0.1 else DROP

    def dequeue(self, packet: Packet) -> int:
        """Note the delay; there is none where nothing waits."""
        self.adjust_until(packet.now, packet.backlog + packet.size)
        self._qdelay = packet.sojourn_time if packet.qlen > 0 else 0
        return KEEP

    def adjust_until(self, now: int, backlog: int) -> None:
        """Adjust the probability at all times for it up to now."""
        while self._next_update <= now:
            times = 1
            if backlog == 0 and self._drop_prob == 0.0 and self._qdelay == self._qdelay_old == 0:
                times += (now - self._next_update) // self.update  # nothing else changes
            else:
                self.adjust()
            self._burst_allowance = max(self._burst_allowance - times * self.update, 0)
            self._next_update += times * self.update

    def adjust(self) -> None:
        """Section 4.2, with the cap of section 5.5."""
        qdelay, qdelay_old = self._qdelay / s, self._qdelay_old / s
        change = self.alpha * (qdelay - self.target / s) + self.beta * (qdelay - qdelay_old)
        change /= self.damping()
        self._drop_prob += min(change, 0.02) if self._drop_prob >= 0.1 else change
        if self._qdelay == 0 and self._qdelay_old == 0:
            self._drop_prob *= 0.98
        if self._drop_prob < 1e-100:
            self._drop_prob = 0.0
        self._drop_prob = min(self._drop_prob, 1.0)
        self._qdelay_old = self._qdelay

    def damping(self) -> float:
        """By how much the changes of a small probability are divided."""
        p = self._drop_prob
        if p < 1e-3:
            return 2048.0 if p < 1e-6 else 512.0 if p < 1e-5 else 128.0 if p < 1e-4 else 32.0
        return 8.0 if p < 1e-2 else 2.0 if p < 1e-1 else 1.0
