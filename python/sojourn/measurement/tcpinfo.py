"""What the kernel tells of a TCP connection: the fields used here of its `struct tcp_info`."""

import socket
import struct
from dataclasses import dataclass

_RTO, _RETRANSMITS, _ACKED, _MIN_RTT, _TIMEOUTS = 8, 100, 120, 148, 240
_LONGEST = 512


@dataclass(frozen=True)
class TcpInfo:
    """A connection so far: bytes acknowledged, segments sent again, time-outs, times.

    `timeouts` is None where the kernel does not count them (before Linux 6.7).
    Source: linux/tcp.h, to which fields are only ever added at the end.
    """

    acked_bytes: int
    retransmits: int
    timeouts: int | None
    rto_us: int
    min_rtt_us: int

    @staticmethod
    def of(connection: socket.socket) -> "TcpInfo":
        """Ask the kernel."""
        raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LONGEST)

        def field(code: str, place: int) -> int:
            return int(struct.unpack_from(code, raw, place)[0])

        return TcpInfo(
            acked_bytes=field("=Q", _ACKED),
            retransmits=field("=I", _RETRANSMITS),
            timeouts=field("=H", _TIMEOUTS) if len(raw) > _TIMEOUTS else None,
            rto_us=field("=I", _RTO),
            min_rtt_us=field("=I", _MIN_RTT),
        )
