"""Records that compiled hooks read and write: C structs whose fields are eight bytes each."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Literal

Kind = Literal["float", "int", "bool"]
Value = float | int | bool

_CODES: Mapping[Kind, str] = {"float": "d", "int": "q", "bool": "?7x"}

WINDOW: tuple[tuple[str, Kind], ...] = (
    ("cwnd", "float"),
    ("ssthresh", "float"),
    ("abc_limit", "int"),
)
"""What the record of every flow begins with."""

_ACK = ("cumulative", "arrived", "marked", "snd_una", "snd_nxt", "repairing", "rtt", "delay", "now")
_TRUTHS = ("marked", "repairing")


@dataclass(frozen=True)
class Layout:
    """Names and kinds of a struct's fields, in order: float f8, int i8, bool one byte of eight."""

    fields: tuple[tuple[str, Kind], ...]
    _struct: struct.Struct = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        codes = "".join(_CODES[kind] for _, kind in self.fields)
        object.__setattr__(self, "_struct", struct.Struct(f"={codes}"))

    @property
    def size(self) -> int:
        """Bytes of one record."""
        return self._struct.size

    def pack(self, values: Mapping[str, Value]) -> bytes:
        """A record that holds `values`, and 0 in the fields that they leave out.

        Raises:
            struct.error: a whole number has more than 64 bits.
        """
        return self._struct.pack(*(values.get(name, 0) for name, _ in self.fields))

    def unpack(self, record: bytes) -> SimpleNamespace:
        """The fields of a record as attributes: numbers and truths of plain Python."""
        names = (name for name, _ in self.fields)
        return SimpleNamespace(**dict(zip(names, self._struct.unpack(record), strict=True)))


def of_flow(fields: Iterable[tuple[str, str]]) -> Layout:
    """What a flow keeps: the window, then a class's fields, pairs of a name and a declared type."""
    kinds: dict[str, Kind] = {"float": "float", "bool": "bool"}
    return Layout((*WINDOW, *((name, kinds.get(declared, "int")) for name, declared in fields)))


def _numbers(*names: str) -> Layout:
    return Layout(tuple((name, "bool" if name in _TRUTHS else "int") for name in names))


ARGUMENTS: Mapping[str, Layout] = {
    "start": _numbers("hops", "bytes", "rate"),
    "acked": _numbers(*_ACK),
    "lost": _numbers("flight", "now"),
    "timed_out": _numbers("flight", "now"),
    "sent": _numbers("sequence", "now"),
    "gap": _numbers("wire", "result"),
}
"""The struct of each hook's arguments. A truth value is 0 or 1 in eight bytes, the lowest first."""

OBJECTS = ("start", "acked")
"""Hooks whose arguments are one object, the flow or the ACK; the others take numbers."""
