"""What the kernel counts at the queues of devices, asked by rtnetlink(7).

Sources: linux/rtnetlink.h, linux/gen_stats.h.
"""

import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn._internal.errors import MeasurementError, reason
from sojourn.measurement.netns import Namespace

_GET_QUEUES, _DUMP = 38, 0x301  # RTM_GETQDISC, NLM_F_REQUEST and NLM_F_DUMP
_ERROR, _DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_QUEUE = struct.Struct("=B3xiIII")  # struct tcmsg: family, device, handle, parent, info
_ATTRIBUTE = struct.Struct("=HH")
_ROOT = 0xFFFFFFFF
_STATISTICS, _SENT, _WAITING = 7, 1, 3  # TCA_STATS2, TCA_STATS_BASIC, TCA_STATS_QUEUE
_SENT_FIELDS, _WAITING_FIELDS = struct.Struct("=QI"), struct.Struct("=III")
_ROOM = 1 << 20


@dataclass(frozen=True)
class Counts:
    """What a device's outermost queue has sent and dropped, and the bytes that are in it now."""

    bytes: int
    packets: int
    drops: int
    held_bytes: int


class Counters:
    """The outermost queues of a namespace's devices; ask as often as you like.

    Raises:
        MeasurementError: there is no such device.
    """

    def __init__(self, namespace: Namespace, devices: Sequence[str]) -> None:
        try:
            with namespace.inside():
                self._devices = [socket.if_nametoindex(device) for device in devices]
                self._kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
        except OSError as error:
            raise MeasurementError(f"no queues of {', '.join(devices)}: {reason(error)}") from None

    def read(self) -> list[Counts]:
        """What the kernel counts now, a device each.

        Raises:
            MeasurementError: a device has no queue of which anything is counted.
        """
        length = _HEADER.size + _QUEUE.size
        self._kernel.send(_HEADER.pack(length, _GET_QUEUES, _DUMP, 0, 0) + bytes(_QUEUE.size))
        found = dict(self._answers())
        try:
            return [found[device] for device in self._devices]
        except KeyError as missing:
            raise MeasurementError(f"the kernel counts nothing at device {missing}") from None

    def _answers(self) -> Iterator[tuple[int, Counts]]:
        while True:
            said = memoryview(self._kernel.recv(_ROOM))
            while said:
                length, kind, *_ = _HEADER.unpack_from(said)
                if kind in (_DONE, _ERROR):
                    return
                message = said[_HEADER.size : length]
                _, device, _, parent, _ = _QUEUE.unpack_from(message)
                if parent == _ROOT:
                    yield device, _counts(message[_QUEUE.size :])
                said = said[_padded(length) :]

    def close(self) -> None:
        """Ask no more."""
        self._kernel.close()


def _counts(queue: memoryview) -> Counts:
    fields = dict(_attributes(dict(_attributes(queue))[_STATISTICS]))
    sent, packets = _SENT_FIELDS.unpack_from(fields[_SENT])
    _, held, drops = _WAITING_FIELDS.unpack_from(fields[_WAITING])
    return Counts(sent, packets, drops, held)


def _attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        yield kind, data[_ATTRIBUTE.size : length]
        data = data[_padded(length) :]


def _padded(length: int) -> int:
    """Everything starts at a multiple of four bytes."""
    return -(-length // 4) * 4
