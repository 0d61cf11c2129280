"""Packets that are lost by a script: a program in the kernel (eBPF) drops them where they arrive.

The program is at each receiving host's device (tcx, from Linux 6.6 on). It knows a packet by its
port and sequence number, and counts down how often that is still to be lost. Its instructions are
below, so no compiler is needed. Program and table are files of this process, and end with it.

Sources: linux/bpf.h, linux/tcp.h; Documentation/bpf/standardization/instruction-set.rst.
"""

import ctypes
import os
import platform
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from sojourn._internal.errors import MeasurementError
from sojourn.measurement.netns import Namespace
from sojourn.measurement.plan import Loss

_BPF = {"x86_64": 321, "aarch64": 280}  # the system call's number
_MAP_CREATE, _LOOKUP, _UPDATE, _LOAD, _LINK = 0, 1, 2, 5, 28
_HASH, _CLASSIFIER = 1, 3  # BPF_MAP_TYPE_HASH, BPF_PROG_TYPE_SCHED_CLS
_INGRESS = 46  # BPF_TCX_INGRESS
_KEY, _TIMES = struct.Struct("=II"), struct.Struct("=I")  # port and sequence number; how often
_LONGEST = 128  # bytes of the longest argument of a call
_REPAIR, _REPAIR_QUEUE, _QUEUE_SEQUENCE = 19, 20, 21  # TCP_REPAIR and its options
_SEND_QUEUE, _REPAIR_OFF = 2, -1
_PORT_AT, _SEQUENCE_AT = 34, 38  # behind headers of Ethernet, 14 bytes, and IP, 20
_DROP = 2  # TCX_DROP


def _instruction(code: int, to: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("=BBhi", code, source << 4 | to, offset, value)


def _program(table: int) -> bytes:
    """Drop a packet that the table says is to be lost, and count it there.

    Registers: 0 is what a call or a load returns, and the verdict; 1 and 2 are a call's arguments,
    6 is the packet, 10 the end of the stack, where the key is.
    """
    return b"".join(
        [
            _instruction(0xBF, to=6, source=1),  # r6 = the packet
            _instruction(0x28, value=_PORT_AT),  # r0 = its port
            _instruction(0x63, to=10, source=0, offset=-8),
            _instruction(0x20, value=_SEQUENCE_AT),  # r0 = its sequence number
            _instruction(0x63, to=10, source=0, offset=-4),
            _instruction(0xBF, to=2, source=10),
            _instruction(0x07, to=2, value=-8),  # r2 = where the key is
            _instruction(0x18, to=1, source=1, value=table),  # r1 = the table, in two
            _instruction(0x00),
            _instruction(0x85, value=1),  # r0 = where bpf_map_lookup_elem finds its entry
            _instruction(0x15, to=0, offset=6),  # none: pass
            _instruction(0x61, to=1, source=0),  # r1 = how often it is still lost
            _instruction(0x15, to=1, offset=4),  # no more: pass
            _instruction(0x07, to=1, value=-1),
            _instruction(0x63, to=0, source=1),
            _instruction(0xB7, to=0, value=_DROP),
            _instruction(0x95),
            _instruction(0xB7, to=0, value=0),  # pass
            _instruction(0x95),
        ]
    )


class Script:
    """The losses that are still to come, and those that have come."""

    def __init__(self, table: int, keys: Sequence[bytes], times: int) -> None:
        self._table, self._keys, self._times = table, keys, times

    def lost(self) -> int:
        """How many packets were lost so far."""
        return sum(self._times - self._left(key) for key in self._keys)

    def _left(self, key: bytes) -> int:
        value = ctypes.create_string_buffer(_TIMES.size)
        _call(_LOOKUP, "=I4xQQQ", self._table, _address(key), ctypes.addressof(value), 0)
        return int(_TIMES.unpack(value.raw)[0])


@contextmanager
def losing(
    loss: Loss,
    senders: Sequence[socket.socket],
    sizes: Sequence[int | None],
    payload: int,
    receivers: Sequence[Namespace],
) -> Iterator[Script]:
    """Flows lose a packet each, for as long as the context lasts.

    Args:
        loss: which packet, and how often.
        senders: of open connections that have sent nothing.
        sizes: bytes of each flow.
        payload: bytes of a full packet.
        receivers: the hosts that flows go to.

    Raises:
        MeasurementError: this kernel cannot do it.
    """
    keys = []
    for sender, size in zip(senders, sizes, strict=True):
        place = loss.place(size, payload)
        if place is not None:
            sequence = (_first_sequence(sender) + place * payload) % (1 << 32)
            keys.append(_KEY.pack(sender.getsockname()[1], sequence))
    with ExitStack() as stack:

        def opened(command: int, layout: str, *values: object) -> int:
            descriptor = _call(command, layout, *values)
            stack.callback(os.close, descriptor)
            return descriptor

        entries = max(len(keys), 1)
        table = opened(_MAP_CREATE, "=IIII", _HASH, _KEY.size, _TIMES.size, entries)
        times = _TIMES.pack(loss.times)
        for key in keys:
            _call(_UPDATE, "=I4xQQQ", table, _address(key), _address(times), 0)
        code, licence = _program(table), b"\0"
        program = opened(
            _LOAD,
            "=IIQQ44xI",
            _CLASSIFIER,
            len(code) // 8,
            _address(code),
            _address(licence),
            _INGRESS,
        )
        for receiver in receivers:
            with receiver.inside():
                device = socket.if_nametoindex("eth0")
                opened(_LINK, "=IIII", program, device, _INGRESS, 0)
        yield Script(table, keys, loss.times)


def _first_sequence(sender: socket.socket) -> int:
    """The sequence number of the first byte that a connection will send."""
    sender.setsockopt(socket.IPPROTO_TCP, _REPAIR, 1)
    try:
        sender.setsockopt(socket.IPPROTO_TCP, _REPAIR_QUEUE, _SEND_QUEUE)
        return sender.getsockopt(socket.IPPROTO_TCP, _QUEUE_SEQUENCE) % (1 << 32)
    finally:
        sender.setsockopt(socket.IPPROTO_TCP, _REPAIR, _REPAIR_OFF)


def _address(data: bytes) -> int:
    """Where its bytes are: they have to live as long as that is used."""
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def _call(command: int, layout: str, *values: object) -> int:
    """Call bpf(2).

    Raises:
        MeasurementError: the kernel refuses.
    """
    number = _BPF.get(platform.machine())
    if number is None:
        raise MeasurementError(f"hosts.loss: no program for the kernel on {platform.machine()}")
    argument = ctypes.create_string_buffer(struct.pack(layout, *values), _LONGEST)
    library = ctypes.CDLL(None, use_errno=True)
    found = library.syscall(number, command, argument, _LONGEST)
    if found < 0:
        why = os.strerror(ctypes.get_errno())
        raise MeasurementError(
            f"hosts.loss: losses by script need Linux 6.6 with CONFIG_BPF_SYSCALL: {why}"
        )
    return int(found)
