"""Records that compiled hooks read and write: C structs whose fields are eight bytes each."""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Literal

Kind = Literal["float", "int", "bool"]
Value = float | int | bool

_CODES: Mapping[Kind, str] = {"float": "d", "int": "q", "bool": "?7x"}

_BEGINS: Mapping[str, tuple[tuple[str, Kind], ...]] = {
    "Control": (
        *(("cwnd", "float"), ("ssthresh", "float")),
        *(("timer", "int"), ("abc_limit", "int")),
    ),
    "Queue": (("__stream__", "int"),),
}
"""What a record begins with, by what its class is derived from: the window and timer of a flow;
where the random numbers of a port are."""

_ACK = (
    *("cumulative", "arrived", "marked", "snd_una", "snd_nxt", "repairing", "rtt", "delay", "now"),
    *("in_flight", "delivered", "delivered_before", "delivery_rate", "limited"),
)
_PACKET = ("size", "ect", "backlog", "qlen", "sojourn_time", "now")
_TRUTHS = ("marked", "repairing", "limited", "ect")
_RESULT = "result"


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


def of_class(base: str, fields: Iterable[tuple[str, str]]) -> Layout:
    """What an object of a class keeps, after what it has from the engine.

    Args:
        base: what the class is derived from: `Control` or `Queue`.
        fields: its fields, pairs of a name and a declared type.
    """
    kinds: dict[str, Kind] = {"float": "float", "bool": "bool"}
    own = ((name, kinds.get(declared, "int")) for name, declared in fields)
    return Layout((*_BEGINS[base], *own))


@dataclass(frozen=True)
class Hook:
    """How compiled code of a hook is called.

    Attributes:
        names: of its arguments.
        as_object: whether the method takes them as one object: the flow, the ACK or the packet.
        gives: whether it returns a whole number.
    """

    names: tuple[str, ...]
    as_object: bool = False
    gives: bool = False

    @property
    def arguments(self) -> Layout:
        """The struct of the arguments and the result, whole numbers of eight bytes each.

        A truth value is 0 or 1, the lowest byte first.
        """
        names = (*self.names, _RESULT)
        return Layout(tuple((name, "bool" if name in _TRUTHS else "int") for name in names))


HOOKS: Mapping[str, Mapping[str, Hook]] = {
    "Control": {
        "start": Hook(("hops", "bytes", "payload", "rate"), as_object=True),
        "acked": Hook(_ACK, as_object=True),
        "recovering": Hook(_ACK, as_object=True),
        "lost": Hook(("flight", "now")),
        "timed_out": Hook(("flight", "now")),
        "sent": Hook(("sequence", "now")),
        "gap": Hook(("wire",), gives=True),
        "timer_ran_out": Hook(("now",)),
    },
    "Queue": {
        "start": Hook(()),
        "enqueue": Hook(_PACKET, as_object=True, gives=True),
        "dequeue": Hook(_PACKET, as_object=True, gives=True),
    },
}
"""The hooks of classes, by what these are derived from."""
