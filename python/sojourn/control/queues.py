"""What a user's queue management begins from: a queue that keeps all packets."""

from sojourn._core import PacketFields, Random, StreamFields, draw_below, draw_uniform
from sojourn.control.fields import FieldsToSlots

KEEP: int = 0
MARK: int = 1
DROP: int = 2


class Packet(PacketFields):
    """A packet on which a queue decides, and the queue without it; valid during the call."""

    __slots__ = ()

    size: int
    "Its bytes on the wire."
    ect: bool
    "Whether it can be marked: its transport understands ECN (ECT of RFC 3168)."
    backlog: int
    "Bytes that wait, this packet not counted."
    qlen: int
    "Packets that wait, this one not counted."
    sojourn_time: int
    "How long it has waited, in picoseconds; 0 as it comes."
    now: int
    "The time in picoseconds."

    def __init__(
        self,
        *,
        size: int = 1500,
        ect: bool = False,
        backlog: int = 0,
        qlen: int = 0,
        sojourn_time: int = 0,
        now: int = 0,
    ) -> None:
        """A packet by hand, to try a class without a simulation."""
        self.size, self.ect, self.backlog, self.qlen = size, ect, backlog, qlen
        self.sojourn_time, self.now = sojourn_time, now


class Queue(StreamFields, metaclass=FieldsToSlots):
    """Active queue management of one port (RFC 7567): by default none, all packets are kept.

    Packets leave in the order in which they come. The hooks decide on each, on acknowledgements too
    and on packets that find the port idle: `KEEP`, `DROP`, or `MARK`, which drops a packet that
    cannot be marked. The buffer's limit is the engine's. Times are whole picoseconds.
    """

    def __init__(self, seed: int = 1, **values: float) -> None:
        """Give each field its value, or its default; `seed` is that of `uniform` and `below`.

        Raises:
            AttributeError: there is no field of a name.
        """
        self.__stream__ = Random(seed)
        for name, field in type(self).__fields__.items():
            setattr(self, name, values.pop(name, field.default))
        for name in values:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}", name=name)

    def start(self) -> None:
        """Start a port, at time 0."""

    def enqueue(self, packet: Packet) -> int:  # noqa: ARG002
        """Decide on a packet that comes, before it is known whether there is room for it."""
        return 0

    def dequeue(self, packet: Packet) -> int:  # noqa: ARG002
        """Decide on the packet that would leave; after one that is dropped, on the next."""
        return 0

    def uniform(self) -> float:
        """A random number above 0 and below 1, each as likely; the port has a stream for itself."""
        return draw_uniform(self.__stream__)

    def below(self, n: int) -> int:
        """A random whole number from 0 on below `n`, each as likely.

        Raises:
            ValueError: `n` is less than 1.
        """
        if n < 1:
            raise ValueError("expected a number of at least 1")
        return draw_below(self.__stream__, n)
