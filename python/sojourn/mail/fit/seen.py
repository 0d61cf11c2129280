"""What a log says of a domain, attempt by attempt."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn._core import mail_provider
from sojourn.mail.fit.refusals import Refusals

# Round trips and answers in the set-up of a session.
SETUP = (2.5, 2)
# A session ends with QUIT: a round trip and an answer, this share of what its set-up takes.
_QUIT = 1 / SETUP[0]
_REFUSED = re.compile("refused", re.IGNORECASE)
_CONNECT = re.compile("connect|no route|unreachable|no answer in time \\(conn", re.IGNORECASE)
_UNKNOWN = ("5.1.1", "5.1.6", "5.1.10")
_NO_NAMES = "4.4.3"
_NAMES_LATER = ("postfix",)  # asks for them while it connects
_UNREACHED = ("4.4.1", "4.4.2", _NO_NAMES)
# What lines of deliveries tell of times: the parts of an attempt, its whole, or neither.
PARTS, WHOLE, NOTHING = "parts", "whole", "nothing"


@dataclass
class Seen:
    """What the log says of a domain, or of all domains of a provider."""

    recipients: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    setups: list[float] = field(default_factory=list)
    sendings: list[float] = field(default_factory=list)
    # Set-up and transaction together, of mailers that do not tell the two apart.
    wholes: list[float] = field(default_factory=list)
    # Each mailer that delivered, and what its lines tell of times.
    tells: set[tuple[str, str]] = field(default_factory=set)
    # When sessions began, and how long before their messages were ready.
    queued: list[tuple[int, float]] = field(default_factory=list)
    # From when to when sessions were busy, and when their QUIT was answered.
    busy: list[tuple[int, int, int]] = field(default_factory=list)
    # When it was tried, and whether it answered.
    tries: list[tuple[int, bool]] = field(default_factory=list)
    ways: list[str] = field(default_factory=list)
    refusals: Refusals = field(default_factory=Refusals)
    # How often each host was reached.
    relays: Counter[str] = field(default_factory=Counter)

    def take(self, row: Mapping[str, Any]) -> None:
        """Note an attempt for a recipient, as `attempts` has it."""
        recipient, text, dsn = row["recipient"], row["text"], row["dsn"]
        self.recipients.add(recipient)
        if row["relay"]:
            self.relays[row["relay"]] += 1
        if row["leads"] and row["took_us"]:
            end = row["at_us"]
            quitting = round(_QUIT * (row["connecting_us"] or 0))
            self.busy.append((end - row["took_us"], end, end + quitting))
        was_refused = (row["queue_id"], recipient) in self.refusals.of_copies
        is_refused = self.refusals.take(row)
        delivered = row["outcome"] == 0
        unreached = row["outcome"] == 1 and dsn in _UNREACHED and not is_refused
        if delivered or unreached:
            self.tries.append((row["at_us"], delivered))
        if unreached:
            # Name servers that fail are like hosts that refuse: neither keeps a session waiting.
            at_once = dsn == _NO_NAMES or _REFUSED.search(text)
            hung = "silent" if _CONNECT.search(text) else "hung"
            self.ways.append("refused" if at_once else hung)
        elif row["outcome"] == 2 and dsn in _UNKNOWN:
            self.unknown.add(recipient)
        if delivered:
            self._take_times(row, is_first=not was_refused)

    def _take_times(self, row: Mapping[str, Any], *, is_first: bool) -> None:
        """Note the times of a delivery; `is_first` where nothing of it was refused before."""
        sending_us, took_us = row["sending_us"], row["took_us"]
        whole = NOTHING if took_us is None else WHOLE
        self.tells.add((row["mailer"], whole if sending_us is None else PARTS))
        if not row["leads"]:
            return
        if sending_us is not None:
            self.sendings.append(sending_us)
        elif took_us is not None:
            self.wholes.append(took_us)
        if sending_us is not None and row["connecting_us"]:
            self.setups.append(row["connecting_us"])
            waited = 0 if row["mailer"] in _NAMES_LATER else row["queued_us"]
            self.queued += [(row["at_us"] - took_us, waited)] if is_first else []

    @staticmethod
    def together(parts: Iterable["Seen"]) -> "Seen":
        """Several domains as one."""
        whole, parts = Seen(), list(parts)
        for part in parts:
            whole.recipients |= part.recipients
            whole.unknown |= part.unknown
            whole.setups += part.setups
            whole.sendings += part.sendings
            whole.wholes += part.wholes
            whole.tells |= part.tells
            whole.queued += part.queued
            whole.busy += part.busy
            whole.tries += part.tries
            whole.ways += part.ways
        whole.refusals = Refusals.together(part.refusals for part in parts)
        return whole

    def provider(self) -> str | None:
        """The registered domain of the hosts that its mail went to most often.

        The delivery engine limits by that too. None where no host has a name.
        """
        named = Counter[str]()
        for relay, times in self.relays.items():
            if found := mail_provider(relay):
                named[found] += times
        return max(sorted(named), key=lambda name: named[name], default=None)
