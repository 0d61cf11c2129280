"""CoDel (RFC 8289): drop packets once all have waited too long for an interval, ever more often."""

import math

from sojourn.control import DROP, KEEP, MARK, Packet, Queue, Time, ms


class CoDel(Queue):
    """Names are those of RFC 8289, section 5."""

    target: Time = 5 * ms
    "The longest time that packets may wait all the time."
    interval: Time = 100 * ms
    "How long packets may wait longer than that: about the longest round trip."
    ecn: bool = False
    "Whether a packet is marked where that is possible, instead of dropped."
    _maxpacket: int = 0
    _first_above_time: int = 0
    _drop_next: int = 0
    _count: int = 0
    _lastcount: int = 0
    _dropping: bool = False
    _has_dropped: bool = False

    def enqueue(self, packet: Packet) -> int:
        """Note the largest packet: CoDel never drops the last one."""
        self._maxpacket = max(self._maxpacket, packet.size)
        return KEEP

    def dequeue(self, packet: Packet) -> int:
        """Section 5.5, one packet at a call."""
        now, ok_to_drop = packet.now, self.ok_to_drop(packet)
        if self._dropping:
            self._dropping = ok_to_drop
            if self._has_dropped and ok_to_drop:
                self._drop_next = self.control_law(self._drop_next)
            self._has_dropped = False
            if not ok_to_drop or now < self._drop_next:
                return KEEP
            self._count += 1
            if self.ecn and packet.ect:
                self._drop_next = self.control_law(self._drop_next)
                return MARK
            self._has_dropped = True
            return DROP
        if not ok_to_drop:
            return KEEP
        delta = self._count - self._lastcount
        recent = now - self._drop_next < 16 * self.interval
        self._count = delta if delta > 1 and recent else 1
        self._lastcount = self._count
        self._drop_next = self.control_law(now)
        self._dropping = True
        return MARK if self.ecn else DROP

    def ok_to_drop(self, packet: Packet) -> bool:
        """Whether packets have waited too long for an interval (section 5.6)."""
        if packet.sojourn_time < self.target or packet.backlog <= self._maxpacket:
            self._first_above_time = 0
            return False
        if self._first_above_time == 0:
            self._first_above_time = packet.now + self.interval
        return packet.now >= self._first_above_time

    def control_law(self, t: int) -> int:
        """When the next packet is dropped (section 5.3), to the nearest picosecond."""
        return t + math.floor(self.interval / math.sqrt(self._count) + 0.5)
