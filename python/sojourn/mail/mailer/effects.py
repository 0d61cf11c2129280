"""What a change of a policy does, and what it may harm."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """One change of a mailer's settings.

    Attributes:
        part: the part of the policy that changes.
        file: the file that has it.
        lines: what the file says then.
        does: what that does.
        harms: what it may harm.
    """

    part: str
    file: str
    lines: tuple[str, ...]
    does: str
    harms: str


_SENDS_MORE = "a receiver may refuse or slow down a sender that opens more sessions at a time"
_GIVES_UP = "a slow host that would have answered later is tried again later instead"

_EFFECTS: Mapping[str, tuple[str, str]] = {
    "limits.sessions": (
        "more deliveries run at a time, so that fewer wait for a free process",
        "each process takes memory and a connection; the line and the receivers get more at once",
    ),
    "limits.destination": ("one domain gets more deliveries at a time", _SENDS_MORE),
    "limits.initial": ("a domain gets as many deliveries at a time from the start", _SENDS_MORE),
    "limits.network": ("one network gets more sessions at a time", _SENDS_MORE),
    "limits.probes": (
        "hosts that do not answer hold fewer sessions",
        "a slow host, or one that is back after an outage, gets little mail",
    ),
    "limits.recipients": (
        "one transaction carries a different number of recipients",
        "a host that takes fewer refuses the rest, which is tried again",
    ),
    "limits.idle": (
        "a session stays open for a different time after its last message",
        "an idle session takes a place at the receiver",
    ),
    "split": (
        "recipients no longer wait for the others of their envelope",
        "a message crosses the line once for each envelope",
    ),
    "order": (
        "recipients whose domains were quick come first",
        "recipients of slow domains come later",
    ),
    "timeouts": ("hosts that do not answer hold a session for a shorter time", _GIVES_UP),
    "retry": (
        "a recipient that was refused for now is tried again at a better time",
        "more attempts are made at hosts that are still out",
    ),
    "checkpoint": (
        "what is done is written to disk at another pace",
        "after a crash, messages that were not written are sent again",
    ),
    "lifetime": (
        "a message is tried for a different time before it goes back",
        "a recipient whose host is out for longer does not get it",
    ),
    "domain": (
        "a domain's own limits are kept",
        "a large part of the list may wait for this domain's limit",
    ),
}


def advice(part: str, file: str, *lines: str) -> Advice:
    """A change with what it does and may harm."""
    does, harms = _EFFECTS.get(part) or _EFFECTS[part.partition(".")[0]]
    return Advice(part, file, lines, does, harms)
