"""The packets of a traced flow as pcapng, which Wireshark and tshark read.

Each packet is RoCE v2: Ethernet, IPv4, UDP to port 4791, and InfiniBand's base transport header.
Two interfaces, one per end of the flow, have its packets with the times at which they leave or
come. The payload is left out, as with a short snapshot length.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sojourn._internal.files import whole
from sojourn.store.rows import Column

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_ORDER, _ETHERNET = 0x1A2B3C4D, 1
_NAME, _RESOLUTION, _END = 2, 9, 0
_PICOSECONDS = 12
"""Times count in units of ten to the power of minus this, in seconds."""

_ENDS = ("sender", "receiver")
_PORT = 4791
_SEND_ONLY, _ACKNOWLEDGE = 0x04, 0x11
_HEADERS = 14 + 20 + 8 + 12
_CE, _ECT = 3, 2


def write(columns: Mapping[str, Column], path: Path) -> None:
    """Write the packets of a trace, the columns of the table `trace`, into a file.

    Raises:
        OSError: it cannot be written.
    """
    codes, names = columns["event"]
    events = np.array(names)[np.asarray(codes)]
    chosen = {
        name: np.asarray(columns[name]) for name in ("at_ps", "sequence", "size_bytes", "marked")
    }
    with whole(path) as partial, partial.open("wb") as out:
        out.write(_block(_SECTION, struct.pack("<IHHq", _ORDER, 1, 0, -1)))
        for name in _ENDS:
            options = _option(_NAME, name.encode()) + _option(_RESOLUTION, bytes([_PICOSECONDS]))
            head = struct.pack("<HHI", _ETHERNET, 0, _HEADERS)
            out.write(_block(_INTERFACE, head + options + _option(_END, b"")))
        for place in np.flatnonzero(events != "paused"):
            at, sequence, size, marked = (int(values[place]) for values in chosen.values())
            out.write(_packet(str(events[place]), at, sequence, size, marked=marked > 0))


def _packet(event: str, at: int, sequence: int, size: int, *, marked: bool) -> bytes:
    is_data = event in ("sent", "arrived")
    end = _ENDS[event in ("arrived", "answered")]
    octets = _frame(sequence, size, is_data=is_data, marked=marked)
    head = struct.pack("<IIIII", _ENDS.index(end), at >> 32, at & 0xFFFFFFFF, len(octets), size)
    return _block(_PACKET, head + octets + b"\0" * (-len(octets) % 4))


def _frame(sequence: int, size: int, *, is_data: bool, marked: bool) -> bytes:
    """The headers of a packet, cut at its size on the wire."""
    macs = [bytes([2, 0, 0, 0, 0, number]) for number in (1, 2)]
    hosts = [bytes([10, 0, 0, number]) for number in (1, 2)]
    if not is_data:
        macs, hosts = macs[::-1], hosts[::-1]
    length = max(size - 14, _HEADERS - 14)
    ecn = (_CE if marked else _ECT) if is_data else 0
    ip = struct.pack("!BBHHHBBH", 0x45, ecn, length, 0, 0x4000, 64, 17, 0) + hosts[0] + hosts[1]
    ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
    udp = struct.pack("!HHHH", 49152, _PORT, length - 20, 0)
    code = _SEND_ONLY if is_data else _ACKNOWLEDGE
    bth = struct.pack("!BBHII", code, 0x40, 0xFFFF, 1, sequence & 0xFFFFFF)
    return (macs[1] + macs[0] + b"\x08\x00" + ip + udp + bth)[: max(size, 14)]


def _checksum(header: bytes) -> int:
    total: int = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)
