"""When the last byte of a connection was acknowledged, by the kernel's own clock.

Source: Documentation/networking/timestamping.rst: a packet whose last byte is acknowledged leaves a
message in the socket's error queue, with the time (SOF_TIMESTAMPING_TX_ACK) and the number of that
byte (SOF_TIMESTAMPING_OPT_ID).
"""

import socket
import struct

from sojourn._internal.units import NS_PER_S

_TIMESTAMPING = 37  # SO_TIMESTAMPING and SCM_TIMESTAMPING of asm-generic/socket.h
_RECEIVE_ERRORS = 11  # IP_RECVERR of linux/in.h
_SOFTWARE, _NUMBERED, _WHEN_ACKED, _WITHOUT_PACKET = 1 << 4, 1 << 7, 1 << 9, 1 << 11
_ERROR = struct.Struct("=IBBBBII")  # struct sock_extended_err of linux/errqueue.h
_TIME = struct.Struct("=qq")
_ORIGIN, _ACKED = 4, 2  # SO_EE_ORIGIN_TIMESTAMPING, SCM_TSTAMP_ACK
_ROOM = 256


def watch(sender: socket.socket) -> None:
    """From now on the kernel notes when what is sent is acknowledged; bytes count from here."""
    flags = _SOFTWARE | _NUMBERED | _WHEN_ACKED | _WITHOUT_PACKET
    sender.setsockopt(socket.SOL_SOCKET, _TIMESTAMPING, flags)


def when(sender: socket.socket, size: int) -> float | None:
    """When `size` bytes were acknowledged, as `time.time` counts; None if that is not known yet.

    What the kernel has noted is taken from it: ask until there is an answer.
    """
    while True:
        try:
            _, notes, _, _ = sender.recvmsg(1, _ROOM, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            return None
        by_kind = {kind: data for _, kind, data in notes}
        error, at = by_kind.get(_RECEIVE_ERRORS), by_kind.get(_TIMESTAMPING)
        if error is None or at is None:
            continue
        _, origin, _, _, _, what, last = _ERROR.unpack_from(error)
        if (origin, what, last) == (_ORIGIN, _ACKED, size - 1):
            seconds, nanoseconds = _TIME.unpack_from(at)
            return float(seconds + nanoseconds / NS_PER_S)
