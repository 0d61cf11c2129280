"""Your own congestion control or queue management: a class of Python, run as it is or compiled.

    from sojourn.control import Ack, Control

    class Gentle(Control):
        backoff: float = 0.7
        "What a mark leaves of the window."

        def acked(self, ack: Ack) -> None:
            if ack.marked:
                self.cwnd = max(self.cwnd * self.backoff, 1.0)
            else:
                super().acked(ack)

A class of Queue decides on the packets of a port instead: `enqueue` and `dequeue` return KEEP, MARK
or DROP. Annotated fields are parameters, which a study may set; with an underscore first they are
kept for each flow, or for each port. Of Python there is what gives the same numbers plain and
compiled; the rest is refused with its line.
"""

from sojourn._core import cbrt, exp, log, power
from sojourn.control.congestion import Ack, Control, Flow
from sojourn.control.fields import Bytes, Rate, Time, ms, ns, ps, s, us
from sojourn.control.queues import DROP, KEEP, MARK, Packet, Queue

__all__ = [
    "DROP",
    "KEEP",
    "MARK",
    "Ack",
    "Bytes",
    "Control",
    "Flow",
    "Packet",
    "Queue",
    "Rate",
    "Time",
    "cbrt",
    "exp",
    "log",
    "ms",
    "ns",
    "power",
    "ps",
    "s",
    "us",
]
