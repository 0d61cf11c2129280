"""Marking above a threshold, as DCTCP wants it (RFC 8257, section 3.1)."""

from sojourn.control import KEEP, MARK, Bytes, Packet, Queue


class Threshold(Queue):
    """Marks a packet that comes when, with it, more than the threshold waits."""

    threshold: Bytes = 22_500
    "Waiting bytes above which a packet that comes is marked."

    def enqueue(self, packet: Packet) -> int:
        """Mark what can be marked: no acknowledgements."""
        return MARK if packet.ect and packet.backlog + packet.size > self.threshold else KEEP
