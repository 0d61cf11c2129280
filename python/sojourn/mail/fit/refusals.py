"""Greylists and limits told apart, by what a host says and by what it does.

A greylist refuses the first try of a sender and recipient at RCPT, and takes a later one for good.
A limit depends on how much a provider was sent, and refuses again. Most hosts say which of the two
they mean (`pushback`, from the list of words that the delivery engine has too). What a host does
decides where its words do not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_S = 10**6  # microseconds
_MINUTE = 60 * _S
# What `pushback` and `step` of an attempt mean.
_GREYLIST, _RATE, _SESSIONS = 1, 2, 3
_AT_RCPT, _AT_DATA = 2, 3
# Statuses of a limit that names no reason. Words that ask for nothing but a later try may greylist,
_POLICY = ("4.7.0", "4.7.1")
_LATER = re.compile("try again|come back|later", re.IGNORECASE)
# but not for a mailbox that is full or busy or a transaction that is too large, nor with a reason
# that a later try does not change.
_OTHER = ("4.2.1", "4.2.2", "4.3.1", "4.5.3")
_REASON = re.compile(
    r"host ?name|reverse|dns|spf|dkim|dmarc|block|blacklist|spam|\b(start)?tls\b|lookup|write error"
    "|resource|storage",
    re.IGNORECASE,
)
# The minute before a refusal may be parts of two minutes of a host, each with its limit.
_TWO_MINUTES = 2
# A greylist refuses nearly every first try: so large a share of them.
_NEARLY_EVERY = 0.8

Copy = tuple[str, str]
"""A message's name in the queue, and a recipient."""


@dataclass(frozen=True)
class Refusal:
    """A refusal of one recipient for now; `pushback` and `step` as an attempt has them.

    Attributes:
        is_later: whether its words ask for a later try.
        may_limit: whether its status may be that of a limit, though its words do not say so.
    """

    at_us: int
    pushback: int
    step: int | None
    is_later: bool
    may_limit: bool


@dataclass(frozen=True)
class Limits:
    """What a provider allows, as far as a log tells.

    Attributes:
        sessions: the most at a time; None where it refused none, or the log does not tell.
        per_minute: the most recipients in a minute; None where it refused none.
        notes: what the log does not tell, a sentence each.
    """

    sessions: int | None
    per_minute: int | None
    notes: tuple[str, ...] = ()


@dataclass
class Refusals:
    """Refusals of a domain or provider for now, and what it took."""

    of_copies: dict[Copy, list[Refusal]] = field(default_factory=dict)
    # The sender and recipient of each copy that was refused, and when such were taken first.
    pairs: dict[Copy, tuple[str, str]] = field(default_factory=dict)
    taken_first: dict[tuple[str, str], int] = field(default_factory=dict)
    # When copies that had been refused were taken.
    taken_us: dict[Copy, int] = field(default_factory=dict)
    # When transactions began and ended in which recipients were taken, once for each recipient.
    taken: list[tuple[int, int]] = field(default_factory=list)
    # From when to when transactions took, and what the lines of the last one had in common.
    transactions: list[tuple[int, int]] = field(default_factory=list)
    last: tuple[object, ...] = ()

    def take(self, row: Mapping[str, Any]) -> bool:
        """Note an attempt that was delivered or refused for now; whether it was a refusal."""
        copy, at_us = (row["queue_id"], row["recipient"]), row["at_us"]
        pair = (row["sender"], row["recipient"])
        if row["outcome"] == 0:
            self.taken_first.setdefault(pair, at_us)
            if copy in self.of_copies:
                self.taken_us.setdefault(copy, at_us)
            self.taken.append((at_us - (row["sending_us"] or 0), at_us))
            # Lines that are close together may be of several transactions of one message.
            common = tuple(row[name] for name in ("queue_id", "delay_us", "sending_us", "text"))
            if row["leads"] or common != self.last:
                self.transactions.append((at_us - (row["took_us"] or 0), at_us))
            self.last = common
            return False
        if row["pushback"] is None or not (row["pushback"] or _says_nothing(row)):
            return False
        self.pairs[copy] = pair
        is_later = bool(_LATER.search(row["text"]))
        may_limit = row["dsn"] in _POLICY
        refusal = Refusal(at_us, row["pushback"], row["step"], is_later, may_limit)
        self.of_copies.setdefault(copy, []).append(refusal)
        return True

    @staticmethod
    def together(parts: Iterable["Refusals"]) -> "Refusals":
        """Those of all domains of a provider."""
        whole = Refusals()
        for part in parts:
            whole.of_copies |= part.of_copies
            whole.pairs |= part.pairs
            whole.taken_first |= part.taken_first
            whole.taken_us |= part.taken_us
            whole.taken += part.taken
            whole.transactions += part.transactions
        return whole

    def greylisting_us(self) -> float | None:
        """How long a greylist lasts that had ended when a recipient was taken, and not before.

        A log tells when was asked, not when it would have been granted. Whole minutes are what
        greylists are set to, or else whole seconds. Of a greylist that was not seen to end, the
        next whole minute is taken.
        """
        waits, still_us, any_refused = [], 0, False
        unsaid = self._unsaid()
        for copy, refusals in self.of_copies.items():
            meanings = [self._meaning(copy, it, unsaid) for it in refusals]
            if _GREYLIST not in meanings:
                continue
            any_refused = True
            first_us = refusals[meanings.index(_GREYLIST)].at_us
            last_us = max(
                it.at_us for it, meaning in zip(refusals, meanings, strict=True)
                if meaning == _GREYLIST
            )  # fmt: skip
            still_us = max(still_us, last_us - first_us)
            # Who is refused after the text has passed the greylist.
            ends = [it.at_us for it in refusals if it.step == _AT_DATA and it.at_us > last_us]
            ends += [self.taken_us[copy]] if copy in self.taken_us else []
            waits += [min(ends) - first_us] if ends else []
        if not waits:
            return float(_MINUTE * (still_us // _MINUTE + 1)) if any_refused else None
        within = min(waits)
        units = (unit for unit in (_MINUTE, _S) if within - within % unit > still_us)
        return float(within - within % next(units, 1))

    def limits(self, name: str) -> Limits:
        """What the provider of this name allows.

        It takes as many recipients in a minute as it took at most in the minute before a refusal,
        or in one without a refusal. If the second is more than twice the first, there is no limit.
        It has as many sessions as it had at most at a time, where it refused others.
        """
        unsaid = self._unsaid()
        meant = [
            (self._meaning(copy, it, unsaid), it)
            for copy, refusals in self.of_copies.items()
            for it in refusals
        ]
        rates = [it for meaning, it in meant if meaning == _RATE]
        notes = []
        per_minute = sessions = None
        if rates:
            before, free = self._in_a_minute(rates)
            most = max(1, *before)
            if free > _TWO_MINUTES * most:
                notes.append(
                    f"{name} refused mail after {most:,} recipients in a minute, but took {free:,}"
                    " in another minute: no per_minute is learnt"
                )
            else:
                per_minute = max(most, free)
                notes += _idle(name, before)
        if any(meaning == _SESSIONS for meaning, _ in meant):
            sessions = self._most_at_once() or None
            if sessions is None:
                notes.append(
                    f"{name} refused sessions; the log does not tell how many it had at a time"
                )
        return Limits(sessions, per_minute, tuple(notes))

    def _in_a_minute(self, refused: Sequence[Refusal]) -> tuple[list[int], int]:
        """How many recipients were taken in the minute before each refusal; the most without one.

        A host that refuses at RCPT counts there, and its mailer notes only after the text who was
        taken. So a recipient counts from when its transaction began.
        """
        found, free = [], 0
        ends = np.sort([it.at_us for it in refused] + [np.iinfo(np.int64).max])
        for at_rcpt in (True, False):
            times_us = np.array([it.at_us for it in refused if (it.step == _AT_RCPT) == at_rcpt])
            if not times_us.size:
                continue
            edges = np.sort(np.array([it[not at_rcpt] for it in self.taken], dtype=np.int64))
            until = np.searchsorted(edges, times_us, side="right")
            since = np.searchsorted(edges, times_us - _MINUTE, side="right")
            found += [int(number) for number in until - since]
            stop = np.minimum(edges + _MINUTE, ends[np.searchsorted(ends, edges)])
            taken = np.searchsorted(edges, stop) - np.arange(edges.size)
            free = max(free, int(taken.max(initial=0)))
        return found, free

    def _most_at_once(self) -> int:
        """The most transactions that were under way at a time for sure.

        In a log of whole seconds, whose times may be off by one, only the rest counts.
        """
        is_whole = all(end % _S == 0 for _, end in self.transactions)
        sure = [(start + _S * is_whole, end) for start, end in self.transactions]
        edges = [(start, 1) for start, end in sure if start < end]
        edges += [(end, -1) for start, end in sure if start < end]
        most = now = 0
        for _, change in sorted(edges):
            now += change
            most = max(most, now)
        return most

    def _unsaid(self) -> int | None:
        """What first refusals mean that do not say it: a greylist, or a limit.

        Nothing where the host never took a recipient, and its words do not ask for a later try.
        """
        unsaid = [
            (self.pairs[copy], refusals[0])
            for copy, refusals in self.of_copies.items()
            if not refusals[0].pushback
        ]
        if not self.taken_first:
            return _GREYLIST if any(refusal.is_later for _, refusal in unsaid) else None
        tried = self.taken_first.keys() | self.pairs.values()
        first = {pair for pair, refusal in unsaid if self._is_first(pair, refusal)}
        return _GREYLIST if len(first) >= _NEARLY_EVERY * len(tried) else _RATE

    def _is_first(self, pair: tuple[str, str], refusal: Refusal) -> bool:
        return refusal.at_us < self.taken_first.get(pair, refusal.at_us + 1)

    def _meaning(self, copy: Copy, refusal: Refusal, unsaid: int | None) -> int | None:
        """Whether a refusal is of a greylist, of a rate or of sessions."""
        if refusal.pushback:
            return refusal.pushback
        is_first = self._is_first(self.pairs[copy], refusal)
        if unsaid == _GREYLIST and is_first and refusal.step in (_AT_RCPT, None):
            return _GREYLIST
        return _RATE if unsaid is not None and refusal.may_limit else None


def _idle(name: str, before: Sequence[int]) -> list[str]:
    """What it says of a limit that a provider refused though it had taken nothing."""
    idle = before.count(0)
    said = (
        f"{name} refused {idle} of {len(before)} times though it had taken nothing in"
        " the minute before: its limit counts over a longer time, or for another"
        " reason, which per_minute does not say"
    )
    return [said] if idle else []


def _says_nothing(row: Mapping[str, Any]) -> bool:
    """Whether a refusal names no reason, and may be of a greylist or of a limit."""
    dsn, text = row["dsn"], row["text"]
    may_be = dsn in _POLICY or (_LATER.search(text) and dsn not in _OTHER)
    return bool(may_be) and not _REASON.search(text)
