"""What a change of a policy does, and what it may harm."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias


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


# What it does, and what it may harm.
_Effect: TypeAlias = tuple[str, str]

_SENDS_MORE = "a receiver may refuse or slow down a sender that opens more sessions at a time"
_SENDS_LESS = "its deliveries may wait for each other"
_GIVES_UP = "a slow host that would have answered later is tried again later instead"

# Where a value becomes higher.
_HIGHER: Mapping[str, _Effect] = {
    "limits.sessions": (
        "more deliveries run at a time, so that fewer wait for a free process",
        "each process takes memory and a connection; the line and the receivers get more at once",
    ),
    "limits.destination": ("one domain gets more deliveries at a time", _SENDS_MORE),
    "limits.initial": ("a domain gets more deliveries at a time from the start", _SENDS_MORE),
    "limits.network": ("one network gets more sessions at a time", _SENDS_MORE),
    "limits.probes": (
        "a host that is slow, or back after an outage, gets more mail",
        "hosts that do not answer hold more sessions",
    ),
    "limits.recipients": (
        "one transaction carries more recipients",
        "a host that takes fewer refuses the rest, which is tried again",
    ),
    "limits.idle": (
        "a session stays open for longer after its last message",
        "an idle session takes a place at the receiver",
    ),
    "timeouts": (
        "slow hosts get more time to answer",
        "hosts that do not answer hold a session for a longer time",
    ),
    "retry": (
        "fewer attempts are made at hosts that are still out",
        "a recipient that was refused for now waits longer",
    ),
    "lifetime": (
        "a message is tried for a longer time before it goes back",
        "its sender learns later that it could not be delivered",
    ),
}
# Where it becomes lower.
_LOWER: Mapping[str, _Effect] = {
    "limits.sessions": (
        "fewer deliveries run at a time, which takes less memory and fewer connections",
        "deliveries may wait for a free process",
    ),
    "limits.destination": ("one domain gets fewer deliveries at a time", _SENDS_LESS),
    "limits.initial": ("a domain gets fewer deliveries at a time at the start", _SENDS_LESS),
    "limits.network": ("one network gets fewer sessions at a time", _SENDS_LESS),
    "limits.probes": (
        "hosts that do not answer hold fewer sessions",
        "a slow host, or one that is back after an outage, gets little mail",
    ),
    "limits.recipients": (
        "one transaction carries fewer recipients",
        "a message crosses the line more often",
    ),
    "limits.idle": (
        "a session is closed earlier after its last message",
        "the next message to this host needs a new session",
    ),
    "timeouts": ("hosts that do not answer hold a session for a shorter time", _GIVES_UP),
    "retry": (
        "a deferred recipient is tried again earlier",
        "more attempts are made at hosts that are still out",
    ),
    "lifetime": (
        "a message is tried for a shorter time before it goes back",
        "a recipient whose host is out for longer does not get it",
    ),
}
# Where it is a kind and no number.
_KINDS: Mapping[str, _Effect] = {
    "split": (
        "recipients no longer wait for the others of their envelope",
        "a message crosses the line once for each envelope",
    ),
    "order": (
        "recipients whose domains were quick come first",
        "recipients of slow domains come later",
    ),
    "timeouts": ("hosts that do not answer hold a session for another time", _GIVES_UP),
    "retry": (
        "a recipient that was refused for now is tried again at a better time",
        "more attempts are made at hosts that are still out",
    ),
    "checkpoint": (
        "what is done is written to disk at another pace",
        "after a crash, messages that were not written are sent again",
    ),
    "domain": (
        "a domain's own limits are kept",
        "a large part of the list may wait for this domain's limit",
    ),
}


def advice(part: str, file: str, *lines: str, lower: bool | None = None) -> Advice:
    """A change with what it does and may harm; `lower` is None where the part is no number."""
    table = {True: _LOWER, False: _HIGHER, None: _KINDS}[lower]
    whole = part.partition(".")[0]
    does, harms = table.get(part) or table.get(whole) or _KINDS[whole]
    return Advice(part, file, lines, does, harms)
