"""What a user's congestion controller begins from: NewReno, hook by hook."""

from math import inf
from typing import Protocol

from sojourn._core import AckFields, WindowFields
from sojourn.control.fields import FieldsToSlots


class Ack(AckFields):
    """What one acknowledgement says, and the sender's state after it; valid during the call."""

    __slots__ = ()

    cumulative: int
    "Packets newly covered by the cumulative acknowledgement; 0 for a duplicate."
    arrived: int
    "Packets known to have arrived since the ACK before: with SACK also those out of order."
    marked: bool
    "Whether it echoes a congestion mark (ECN)."
    snd_una: int
    "First packet not yet acknowledged."
    snd_nxt: int
    "Next packet to be sent."
    repairing: bool
    "Whether losses of a time-out are being repaired."
    rtt: int
    "The smoothed round trip in picoseconds; 0 before the first measurement."
    delay: int
    "Round trip of the packet that caused the ACK, in picoseconds; 0 where it is not known."
    now: int
    "The time in picoseconds."
    in_flight: int
    "Packets in the network after the ACK, as far as is known."
    delivered: int
    "Bytes of the flow known to have arrived."
    delivered_before: int
    "The same when the packet left that arrived last: a round trip ago."
    delivery_rate: int
    "Bits per second that arrived since then; 0 where no rate could be taken."
    limited: bool
    "Whether the flow had no more to send in that time: the path may have more than this rate."

    def __init__(
        self,
        *,
        cumulative: int = 1,
        arrived: int = 1,
        marked: bool = False,
        snd_una: int = 1,
        snd_nxt: int = 2,
        repairing: bool = False,
        rtt: int = 0,
        delay: int = 0,
        now: int = 0,
        in_flight: int = 0,
        delivered: int = 0,
        delivered_before: int = 0,
        delivery_rate: int = 0,
        limited: bool = False,
    ) -> None:
        """An ACK by hand, to try a class without a simulation."""
        self.cumulative, self.arrived, self.marked = cumulative, arrived, marked
        self.snd_una, self.snd_nxt, self.repairing = snd_una, snd_nxt, repairing
        self.rtt, self.delay, self.now, self.in_flight = rtt, delay, now, in_flight
        self.delivered, self.delivered_before = delivered, delivered_before
        self.delivery_rate, self.limited = delivery_rate, limited


class Flow(Protocol):
    """What is known of a flow when it starts."""

    hops: int
    "Switches on its path."
    bytes: int
    "Its size."
    payload: int
    "Bytes that a full packet carries."
    rate: int
    "Rate of the sending host's link, in bits per second."


class Control(WindowFields, metaclass=FieldsToSlots):
    """Congestion control of one flow: by default that of NewReno (RFC 5681, 6582).

    A hook that a class does not write does what stands here. Times are whole picoseconds. The
    engine keeps the window within the limits of the study. While losses are repaired it calls
    `recovering` in place of `acked`.
    """

    cwnd: float = 1.0
    "Packets that may be unacknowledged (RFC 5681, section 2)."
    ssthresh: float = inf
    "Slow start up to this window in packets, congestion avoidance from it on."
    timer: int = 0
    "The time at which `timer_ran_out` is called, in picoseconds: after now, or 0 for never."
    abc_limit: int = 0
    "L of RFC 3465 (section 2.3) in packets, as the study has it; 0 for none. Read only."

    def __init__(self, **values: float) -> None:
        """Give each field its value, or its default.

        Raises:
            AttributeError: there is no field of a name.
        """
        for name, field in type(self).__fields__.items():
            setattr(self, name, values.pop(name, field.default))
        for name in values:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}", name=name)

    def start(self, flow: Flow) -> None:
        """Start a flow."""

    def acked(self, ack: Ack) -> None:
        """React to an ACK outside of a recovery."""
        if ack.cumulative > 0:
            self.grow(ack)

    def recovering(self, ack: Ack) -> None:
        """React to an ACK while losses are repaired, after `lost` and before the next `acked`.

        A class that has this hook decides the window in a recovery too. Without it that shrinks as
        the study has it: by `lost` at once, or with `tcp.prr` as packets arrive.
        """

    def lost(self, flight: int, now: int) -> None:  # noqa: ARG002
        """React to a loss found by duplicate ACKs while `flight` packets were unacknowledged."""
        self.halve(flight)
        self.cwnd = self.ssthresh

    def timed_out(self, flight: int, now: int) -> None:  # noqa: ARG002
        """React to a time-out while `flight` packets were unacknowledged."""
        self.halve(flight)
        self.cwnd = 1.0

    def sent(self, sequence: int, now: int) -> None:
        """Note that packet `sequence` leaves."""

    def timer_ran_out(self, now: int) -> None:
        """React to `timer`, which is 0 again; set it here to be called once more."""

    def gap(self, wire: int) -> int:
        """Time from a packet to the next of a paced flow, in picoseconds.

        Args:
            wire: the packet's transmission time on the host's link, in picoseconds.
        """
        return wire

    def grow(self, ack: Ack) -> None:
        """Grow by one packet an ACK in slow start, then by one a round trip (RFC 5681, 3.1).

        With `abc_limit`, by what the ACK covers (RFC 3465): in slow start at most so many packets,
        and one while losses are repaired after a time-out.
        """
        if self.abc_limit == 0:
            self.cwnd += 1.0 if self.cwnd < self.ssthresh else 1.0 / self.cwnd
        elif self.cwnd < self.ssthresh:
            self.cwnd += 1.0 if ack.repairing else float(min(ack.cumulative, self.abc_limit))
        else:
            self.cwnd += float(ack.cumulative) / self.cwnd

    def halve(self, flight: int) -> None:
        """Set `ssthresh` to half of the flight, at least two (RFC 5681, 3.1, equation 4)."""
        self.ssthresh = max(float(flight) / 2.0, 2.0)
