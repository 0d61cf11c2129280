"""An internet learnt from delivery logs: how each domain answers, and how often it is out.

A log does not tell a distance from a slow host. Of the times of connections and of transactions the
model makes a distance and a time of answers that give the same sums, for a server with PIPELINING.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn._internal.errors import InputError
from sojourn._internal.files import write_text
from sojourn.analysis.statistics import Values
from sojourn.maillog.reading import Reading, attempts

_S = 10**6  # microseconds
# Round trips and answers in the set-up of a session, and in a transaction with PIPELINING.
_SETUP, _SENDING = (2.5, 2), (2, 2)
# A session ends with QUIT: a round trip and an answer, this share of what its set-up takes.
_QUIT = 1 / _SETUP[0]
# Slots were scarce if sessions began while so steady a number was busy: the variance over the
# mean, by the quartiles of a normal law. Of sessions that do not wait for each other it is 1.
_STEADY, _QUARTILES = 0.3, 1.349
# Or if more than this share of the sessions began while as many were busy as ever,
_AT_THE_LIMIT = 0.25
# and of these sessions more than this share began so soon after another one ended.
_IN_ITS_PLACE, _RIGHT_AFTER_US = 0.9, 3000
# Where slots were scarce, a session did not wait for one if it began while fewer than this share of
# the most were busy.
_SLOTS_LEFT = 0.5
# By how much times may differ that are taken for one: a share, and microseconds.
_ALIKE, _ALIKE_US = 0.05, 3000
# Of the waits before sessions, in per cent, those that are longer than what names alone take.
_NEARLY_ALL = 5
_REFUSED = re.compile("refused", re.IGNORECASE)
_CONNECT = re.compile("connect|no route|unreachable|no answer in time \\(conn", re.IGNORECASE)
_GREYLIST = re.compile("greylist|try again later|come back", re.IGNORECASE)
_UNKNOWN = ("5.1.1", "5.1.6", "5.1.10")
_NO_NAMES = "4.4.3"
_NAMES_LATER = ("postfix",)  # asks for them while it connects
_UNREACHED = ("4.4.1", "4.4.2", _NO_NAMES)
_COLUMNS = (
    "domain", "subscribers", "round_trip", "reply", "spread", "names", "greylisting", "unknown",
    "down", "outage", "way",
)  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """What was learnt of a domain; times in microseconds, None where the log says nothing.

    Attributes:
        domain: its name.
        subscribers: how many recipients it has in the log.
        delivered: how many deliveries there were; with none, its times are those of all domains.
        round_trip_us: the distance, there and back.
        reply_us: the median time of an answer.
        spread: the standard deviation of that time's logarithm.
        names_us: the least time until a session began, where no wait for a slot is in it.
        greylisting_us: how long after a first try a recipient was accepted.
        unknown: the share of recipients that it does not know.
        down: the share of the time in which it did not answer.
        outage_us: how long that lasted on average.
        way: what it did then: `silent`, `hung` or `refused`.
    """

    domain: str
    subscribers: int
    delivered: int
    round_trip_us: float
    reply_us: float
    spread: float
    names_us: float
    greylisting_us: float | None
    unknown: float
    down: float
    outage_us: float | None
    way: str

    def cells(self) -> list[str]:
        """The domain as a line of an internet's file."""
        return [
            self.domain, str(self.subscribers),
            _span(max(self.round_trip_us, 1)), _span(self.reply_us),
            f"{self.spread:.3f}", _span(self.names_us),
            "" if self.greylisting_us is None else _span(max(self.greylisting_us, _S)),
            f"{self.unknown:.6f}", f"{self.down:.6f}",
            "" if self.outage_us is None else _span(max(self.outage_us, _S)), self.way,
        ]  # fmt: skip


@dataclass
class _Seen:
    """What the log says of a domain."""

    recipients: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    setups: list[float] = field(default_factory=list)
    sendings: list[float] = field(default_factory=list)
    # When sessions began, and how long before their messages were ready.
    queued: list[tuple[int, float]] = field(default_factory=list)
    # From when to when sessions were busy, and when their QUIT was answered.
    busy: list[tuple[int, int, int]] = field(default_factory=list)
    # When it was tried, and whether it answered.
    tries: list[tuple[int, bool]] = field(default_factory=list)
    ways: list[str] = field(default_factory=list)
    refused_us: dict[tuple[str, str], int] = field(default_factory=dict)
    waits: list[int] = field(default_factory=list)
    # The longest after a first try that a recipient was still refused.
    still_us: int = 0

    def take(self, row: Mapping[str, Any]) -> None:
        recipient, text, dsn = row["recipient"], row["text"], row["dsn"]
        self.recipients.add(recipient)
        copy = (row["queue_id"], recipient)
        if row["leads"] and row["took_us"]:
            end = row["at_us"]
            quitting = round(_QUIT * (row["connecting_us"] or 0))
            self.busy.append((end - row["took_us"], end, end + quitting))
        delivered, unreached = row["outcome"] == 0, row["outcome"] == 1 and dsn in _UNREACHED
        if delivered or unreached:
            self.tries.append((row["at_us"], delivered))
        if unreached:
            # Name servers that fail are like hosts that refuse: neither keeps a session waiting.
            at_once = dsn == _NO_NAMES or _REFUSED.search(text)
            hung = "silent" if _CONNECT.search(text) else "hung"
            self.ways.append("refused" if at_once else hung)
        elif row["outcome"] == 1 and (dsn.startswith("4.7") or _GREYLIST.search(text)):
            first = self.refused_us.setdefault(copy, row["at_us"])
            self.still_us = max(self.still_us, row["at_us"] - first)
        elif row["outcome"] == 2 and dsn in _UNKNOWN:
            self.unknown.add(recipient)
        if delivered and copy in self.refused_us:
            self.waits.append(row["at_us"] - self.refused_us.pop(copy))
        elif delivered and row["leads"] and row["sending_us"] is not None:
            self.sendings.append(row["sending_us"])
            if row["connecting_us"]:
                self.setups.append(row["connecting_us"])
                waited = 0 if row["mailer"] in _NAMES_LATER else row["queued_us"]
                self.queued.append((row["at_us"] - row["took_us"], waited))


@dataclass(frozen=True)
class Fitted:
    """An internet learnt from logs."""

    peers: Sequence[Peer]

    def write(self, path: Path) -> None:
        """Write it as a study with `internet = { kind = "listed" }` reads it."""
        lines = [",".join(_COLUMNS), *(",".join(peer.cells()) for peer in self.peers)]
        write_text(path, "# sojourn mail fit\n" + "\n".join(lines) + "\n")

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {"domains": [vars(peer) for peer in self.peers]}


def fit(reading: Reading) -> Fitted:
    """Learn an internet from logs.

    Raises:
        InputError: a log cannot be read, or nothing was delivered in it.
    """
    return learn(attempts(reading), reading.names)


def learn(tables: Iterable[pa.Table], names: Sequence[str]) -> Fitted:
    """The same, from the attempts of logs with these names."""
    seen: dict[str, _Seen] = {}
    for part in tables:
        for row in part.to_pylist():
            domain = row["recipient"].rpartition("@")[2].lower()
            if domain:
                seen.setdefault(domain, _Seen()).take(row)
    all_seen = _Seen()
    for one in seen.values():
        all_seen.sendings += one.sendings
        all_seen.setups += one.setups
        all_seen.queued += one.queued
        all_seen.busy += one.busy
    if not all_seen.sendings:
        raise InputError(f"{', '.join(names)}: nothing delivered whose time is known")
    until_us = max(at for one in seen.values() for at, _ in one.tries)
    asked = _names(seen, all_seen)
    peers = (_peer(name, one, all_seen, until_us, asked[name]) for name, one in seen.items())
    return Fitted(sorted(peers, key=lambda peer: peer.domain))


def _peer(name: str, seen: _Seen, all_seen: _Seen, until_us: int, names_us: float) -> Peer:
    round_trip, reply, spread = _times(
        np.array(seen.setups or all_seen.setups, dtype=np.float64),
        np.array(seen.sendings or all_seen.sendings, dtype=np.float64),
    )
    down, outage = _outages(seen.tries, until_us)
    return Peer(
        domain=name,
        subscribers=len(seen.recipients),
        delivered=len(seen.sendings),
        round_trip_us=round_trip,
        reply_us=reply,
        spread=spread,
        names_us=names_us,
        greylisting_us=_greylisting(seen),
        unknown=len(seen.unknown) / len(seen.recipients),
        down=down,
        outage_us=outage,
        way=max(sorted(set(seen.ways)), key=seen.ways.count, default="silent"),
    )


def _times(setups: Values, sendings: Values) -> tuple[float, float, float]:
    """The round trip, the median answer and the spread of answers, of log-normal ones.

    Two means are two equations with two unknowns. No session is set up and nothing sent in less
    than the round trips that it takes. Answers of a transaction are independent, so that their
    variances add up.
    """
    trips, answers = _SENDING
    sending = float(sendings.mean())
    setup = float(setups.mean()) if setups.size else sending
    round_trip, _ = np.linalg.solve([_SETUP, _SENDING], [setup, sending])
    least = min(sendings.min() / trips, setups.min(initial=np.inf) / _SETUP[0])
    round_trip = float(np.clip(round_trip, 0, least))
    mean = (setup + sending - (_SETUP[0] + trips) * round_trip) / (_SETUP[1] + answers)
    several = sendings.size > 1  # one alone says nothing of how they vary
    deviation = float(sendings.std(ddof=1)) / np.sqrt(answers) if several else 0.0
    if mean <= 0:
        return round_trip, 0.0, 0.0
    spread = float(np.sqrt(np.log1p((deviation / mean) ** 2)))
    return round_trip, mean / float(np.exp(spread**2 / 2)), spread


def _outages(tries: Iterable[tuple[int, bool]], until_us: int) -> tuple[float, float | None]:
    """The share of the time out, and the mean length of that; nothing where it always answered.

    An outage lasts from the first try without an answer to the first with one. What has not ended
    counts as the rest does, which is what an exponential law makes likeliest.
    """
    began_us: int | None = None
    first_us: int | None = None
    out_us, ended, begun = 0, 0, 0
    for at_us, answered in sorted(tries):
        first_us = at_us if first_us is None else first_us
        if answered and began_us is not None:
            out_us += at_us - began_us
            ended += 1
            began_us = None
        elif not answered and began_us is None:
            began_us = at_us
            begun += 1
    if first_us is None or not begun:
        return 0.0, None
    out_us += until_us - began_us if began_us is not None else 0
    if began_us is not None and ended == 0 and began_us == first_us:
        return 1.0, None
    observed = max(until_us - first_us, 1)
    return min(out_us / observed, 0.99), out_us / max(ended, 1)


def _greylisting(seen: _Seen) -> float | None:
    """How long a greylist lasts that had ended when a recipient was accepted, and not before.

    A log tells when was asked, not when it would have been granted: of the times in between, whole
    minutes are what greylists are set to, or else whole seconds. Of one that was not seen to end,
    the next whole minute is taken.
    """
    if not seen.waits:
        return 60.0 * _S * (seen.still_us // (60 * _S) + 1) if seen.refused_us else None
    within = min(seen.waits)
    units = (unit for unit in (60 * _S, _S) if within - within % unit > seen.still_us)
    return float(within - within % next(units, 1))


def _names(seen: Mapping[str, _Seen], all_seen: _Seen) -> dict[str, float]:
    """How long each domain's name servers take.

    The log gives one time before a session begins: the lookup and the wait for a slot together.
    Where slots were scarce, sessions began as others ended, with about as many busy as ever; then
    only a session that began while far fewer were busy tells its lookup alone. A domain without
    such a session gets a lookup as short as nearly all others': the simulation adds the wait.
    """
    starts, ends, quits = (np.sort(np.array(side)) for side in zip(*all_seen.busy, strict=True))

    def beside(at_us: int, until: npt.NDArray[np.int64] = ends) -> int:
        began, ended = np.searchsorted(starts, at_us), np.searchsorted(until, at_us)
        return int(began - ended)

    def in_its_place(at_us: int) -> bool:
        place = int(np.searchsorted(ends, at_us, side="right"))
        return place > 0 and at_us - int(ends[place - 1]) < _RIGHT_AFTER_US

    busy = [(beside(at_us), at_us) for at_us, _ in all_seen.queued]
    most = max((number for number, _ in busy), default=0)
    at_the_limit = [in_its_place(at_us) for number, at_us in busy if number >= most - 1]
    many = len(at_the_limit) > _AT_THE_LIMIT * len(busy)
    in_places = many and sum(at_the_limit) > _IN_ITS_PLACE * len(at_the_limit)
    steady = _steady([beside(at_us, quits) for _, at_us in busy])
    few = _SLOTS_LEFT * most if in_places or steady else inf
    waits = [wait for _, wait in all_seen.queued]
    short = float(np.percentile(waits, _NEARLY_ALL)) if waits else 0.0

    def least(one: _Seen) -> float:
        at_once = [wait for at_us, wait in one.queued if beside(at_us) < few]
        return min(at_once, default=short)

    return _alike({name: least(one) for name, one in seen.items()})


def _steady(busy: Sequence[int]) -> bool:
    """Whether sessions began while about as many were busy, as it is where one waits for another.

    Those of a burst without a limit begin while 0, 1, 2, ... are busy, those of a steady stream of
    messages while a number is that varies as a Poisson one.
    """
    if len(busy) < _FEWEST_STEADY:
        return False
    low, middle, high = np.percentile(busy, (25, 50, 75))
    return bool(middle >= 2 and ((high - low) / _QUARTILES) ** 2 < _STEADY * middle)


_FEWEST_STEADY = 20  # so few sessions say nothing of a limit


def _alike(times_us: Mapping[str, float]) -> dict[str, float]:
    """The same, where those that differ by 3 ms or 5 % are one time, the least of them.

    The answers of one server differ by as much. A slot goes to the domain whose lookup ends first;
    lookups that take the same time end in the order in which they began, which is the list's. A
    measured difference of a tenth of a millisecond would put them into another order.
    """
    found: dict[str, float] = {}
    first = -inf
    for name, time_us in sorted(times_us.items(), key=lambda item: item[1]):
        if time_us - first > max(_ALIKE * first, _ALIKE_US):
            first = time_us
        found[name] = first
    return found


def _span(time_us: float) -> str:
    return f"{round(time_us)}us"
