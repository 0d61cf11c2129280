"""An internet learnt from delivery logs: how each domain answers, and how often it is out.

Domains whose mail hosts one provider runs share one host, as they share its limits: `seen` has what
a log says of them, `times` what its times tell, `refusals` greylists and limits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sojourn._internal.errors import InputError
from sojourn._internal.files import write_text
from sojourn.mail.fit.seen import NOTHING, WHOLE, Seen
from sojourn.mail.fit.times import distances, lookups, outages
from sojourn.maillog.reading import Reading, attempts

_S = 10**6  # microseconds
# How a mailer's lines come to tell how long an attempt took.
_HOW = {"exim": " (Exim logs DT= with log_selector = +deliver_time)"}
_COLUMNS = (
    "domain", "subscribers", "provider", "round_trip", "reply", "spread", "names", "sessions",
    "per_minute", "greylisting", "unknown", "down", "outage", "way",
)  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """What was learnt of a domain; times in microseconds, None where the log says nothing.

    Attributes:
        domain: its name.
        subscribers: how many recipients it has in the log.
        provider: the registered domain of its mail hosts; all domains of one have the same times,
            limits and outages. None where the log names no host.
        delivered: how many deliveries there were to its provider; with none, its times are those of
            all domains.
        round_trip_us: the distance, there and back.
        reply_us: the median time of an answer.
        spread: the standard deviation of that time's logarithm.
        names_us: the least time until a session began, where no wait for a slot is in it.
        sessions: the most sessions that its provider has at a time.
        per_minute: the most recipients that its provider takes in a minute.
        greylisting_us: how long after a first try a recipient was accepted.
        unknown: the share of recipients that it does not know.
        down: the share of the time in which it did not answer.
        outage_us: how long that lasted on average.
        way: what it did then: `silent`, `hung` or `refused`.
    """

    domain: str
    subscribers: int
    provider: str | None
    delivered: int
    round_trip_us: float
    reply_us: float
    spread: float
    names_us: float
    sessions: int | None
    per_minute: int | None
    greylisting_us: float | None
    unknown: float
    down: float
    outage_us: float | None
    way: str

    def cells(self) -> list[str]:
        """The domain as a line of an internet's file."""
        return [
            self.domain, str(self.subscribers), self.provider or "",
            _span(max(self.round_trip_us, 1)), _span(self.reply_us),
            f"{self.spread:.3f}", _span(self.names_us),
            *("" if most is None else str(most) for most in (self.sessions, self.per_minute)),
            "" if self.greylisting_us is None else _span(max(self.greylisting_us, _S)),
            f"{self.unknown:.6f}", f"{self.down:.6f}",
            "" if self.outage_us is None else _span(max(self.outage_us, _S)), self.way,
        ]  # fmt: skip


@dataclass(frozen=True)
class Fitted:
    """An internet learnt from logs.

    Attributes:
        peers: its domains.
        notes: what the log does not tell of limits, a sentence each.
    """

    peers: Sequence[Peer]
    notes: Sequence[str] = ()

    def write(self, path: Path) -> None:
        """Write it as a study with `internet = { kind = "listed" }` reads it."""
        lines = [",".join(_COLUMNS), *(",".join(peer.cells()) for peer in self.peers)]
        write_text(path, "# sojourn mail fit\n" + "\n".join(lines) + "\n")

    def refusals(self) -> list[str]:
        """What hosts refuse for now, as far as the log tells: a line each."""
        limits = {
            (peer.provider or peer.domain, most, of)
            for peer in self.peers
            for most, of in (
                (peer.per_minute, "recipients a minute"),
                (peer.sessions, "sessions at a time"),
            )
            if most is not None
        }
        said = [f"{name} takes at most {most:,} {of}" for name, most, of in sorted(limits)]
        greylists = sum(peer.greylisting_us is not None for peer in self.peers)
        if greylists:
            said.append(f"{greylists:,} of {len(self.peers):,} domains greylist")
        return [*said, *self.notes]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {"domains": [vars(peer) for peer in self.peers], "notes": list(self.notes)}


def fit(reading: Reading) -> Fitted:
    """Learn an internet from logs.

    Raises:
        InputError: a log cannot be read, or nothing was delivered in it.
    """
    return learn(attempts(reading), reading.names)


def learn(tables: Iterable[pa.Table], names: Sequence[str]) -> Fitted:
    """The same, from the attempts of logs with these names.

    Raises:
        InputError: nothing was delivered in them, or they do not tell how long that took.
    """
    seen: dict[str, Seen] = {}
    for part in tables:
        for row in part.to_pylist():
            domain = row["recipient"].rpartition("@")[2].lower()
            if domain:
                seen.setdefault(domain, Seen()).take(row)
    all_seen = Seen.together(seen.values())
    if not (all_seen.sendings or all_seen.wholes):
        raise InputError(f"{', '.join(names)}: {_no_times(all_seen)}")
    until_us = max(at for at, _ in all_seen.tries)
    names_us = lookups(seen, all_seen)
    peers, notes = list[Peer](), _parts_not_told(all_seen)
    for provider, domains in _by_provider(seen):
        whole = Seen.together(seen[domain] for domain in domains)
        host = _host(provider or domains[0], whole, all_seen, until_us)
        notes += host.notes
        peers += [
            Peer(
                domain=domain,
                subscribers=len(seen[domain].recipients),
                provider=provider,
                names_us=names_us[domain],
                **host.parts,
            )
            for domain in domains
        ]
    return Fitted(sorted(peers, key=lambda peer: peer.domain), notes)


def _no_times(seen: Seen) -> str:
    silent = sorted(mailer for mailer, what in seen.tells if what == NOTHING)
    if not silent:
        return "nothing delivered in it"
    how = "".join(_HOW.get(mailer, "") for mailer in silent)
    return f"lines of {', '.join(silent)} in it do not tell how long an attempt took{how}"


def _parts_not_told(seen: Seen) -> list[str]:
    return [
        f"lines of {mailer} tell how long an attempt took, not its parts: distances are learnt as"
        " if replies took no time"
        for mailer, what in sorted(seen.tells)
        if what == WHOLE
    ]


def _by_provider(seen: Mapping[str, Seen]) -> list[tuple[str | None, list[str]]]:
    """The domains of each provider; a domain whose provider is not known stands alone."""
    alone, shared = [], dict[str, list[str]]()
    for domain in sorted(seen):
        provider = seen[domain].provider()
        if provider is None:
            alone.append((None, [domain]))
        else:
            shared.setdefault(provider, []).append(domain)
    return [*alone, *shared.items()]


@dataclass(frozen=True)
class _Host:
    """What was learnt of a provider's host: parts of a `Peer`, and what is not told."""

    parts: Mapping[str, Any]
    notes: Sequence[str]


def _host(name: str, seen: Seen, all_seen: Seen, until_us: int) -> _Host:
    timed = seen if seen.sendings or seen.wholes else all_seen
    times_us = (seen.setups or all_seen.setups, timed.sendings, timed.wholes)
    round_trip, reply, spread = distances(*(np.array(it, dtype=np.float64) for it in times_us))
    down, outage = outages(seen.tries, until_us)
    limits = seen.refusals.limits(name)
    parts = {
        "delivered": len(seen.sendings) + len(seen.wholes),
        "round_trip_us": round_trip,
        "reply_us": reply,
        "spread": spread,
        "sessions": limits.sessions,
        "per_minute": limits.per_minute,
        "greylisting_us": seen.refusals.greylisting_us(),
        "unknown": len(seen.unknown) / len(seen.recipients),
        "down": down,
        "outage_us": outage,
        "way": max(sorted(set(seen.ways)), key=seen.ways.count, default="silent"),
    }
    return _Host(parts, limits.notes)


def _span(time_us: float) -> str:
    return f"{round(time_us)}us"
