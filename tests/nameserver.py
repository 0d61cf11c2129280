"""A name server for tests: every domain's mail goes to one host, which is at one address."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_A, _MX, _IN = 1, 15, 1
_TTL_S = 60


@contextmanager
def everybody_at(address: str) -> Iterator[str]:
    """Where it can be asked, as `host:port` (UDP; RFC 1035)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        wire.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_serve, args=(wire, address))
        thread.start()
        port = wire.getsockname()[1]
        try:
            yield f"127.0.0.1:{port}"
        finally:
            wire.sendto(b"", ("127.0.0.1", port))
            thread.join()


def _serve(wire: socket.socket, address: str) -> None:
    while question := wire.recvfrom(512):
        data, asker = question
        if not data:
            return
        wire.sendto(_answer(data, address), asker)


def _answer(question: bytes, address: str) -> bytes:
    end = question.index(b"\0", 12) + 1
    kind = struct.unpack_from(">H", question, end)[0]
    name = question[12:end]
    pointer = b"\xc0\x0c"  # the name that was asked for
    if kind == _MX:
        data = struct.pack(">H", 10) + b"\x02mx" + name[:-1] + b"\0"
    elif kind == _A:
        data = socket.inet_aton(address)
    else:
        data = b""
    answers = pointer + struct.pack(">HHIH", kind, _IN, _TTL_S, len(data)) + data if data else b""
    head = question[:2] + struct.pack(">HHHHH", 0x8580, 1, bool(answers), 0, 0)
    return head + question[12 : end + 4] + answers
