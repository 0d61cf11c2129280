"""Logs in the forms of public ones, counted by hand before a tool read them (counted/README.md)."""

import csv
from pathlib import Path

import pytest

from sojourn.mail.fit import fit
from sojourn.mail.tools import batch, late, trace, watch
from sojourn.maillog import Reading, stats

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "decisions" / "0019-what-logs-tell.md"
with (HERE / "counted" / "counts.csv").open() as file:
    BY_HAND = {row["log"]: row for row in csv.DictReader(file)}
# What the page shows: a count by hand and the same by `sojourn mail stats`.
SHOWN = ("lines", "attempts", "sent", "deferred", "bounced", "hops", "put_off")
# Different recipients that were tried. The page of an internet learns only of logs with all times.
TRIED = {
    "postfix-filter": 2,
    "postfix-expired": 3,
    "postfix-forwarded": 4,
    "postfix-refused": 7,
    "postfix-docker": 1,
}
HOUR = 3600


def reading(name, **range_us):
    return Reading([str(HERE / "counted" / f"{name}.log")], **range_us)


def ended(counts):
    """Sent, deferred and bounced."""
    return tuple(int(counts[name]) for name in ("sent", "deferred", "bounced"))


def by_stats(command, name):
    document = command("mail", "stats", *reading(name).names, "--json").document
    log, totals = document["log"], document["totals"]
    outcomes = [totals[f"{of}_recipients"] for of in ("delivered", "deferred", "bounced")]
    counts = [log["lines"], sum(outcomes), *outcomes, log["passed_on"], log["put_off"]]
    return dict(zip(SHOWN, counts, strict=True)), (log["malformed"], log["unread"])


@pytest.mark.parametrize("name", BY_HAND)
def test_every_tool_counts_as_by_hand(command, name):
    by_hand = BY_HAND[name]
    sent, deferred, bounced = ended(by_hand)
    assert int(by_hand["attempts"]) == sent + deferred + bounced
    counts, not_read = by_stats(command, name)
    assert counts == {of: int(by_hand[of]) for of in SHOWN}
    assert not_read == (0, 0)
    day = batch.batch(reading(name, since_us=0)).to_dict()
    assert (day["delivered"], day["failed"]) == (sent, deferred + bounced)
    _, ticks = watch.replay(reading(name), HOUR)
    assert sum(tick.delivered for tick in ticks) == sent
    assert sum(tick.failed for tick in ticks) == deferred + bounced
    assert late.late(reading(name)).waiting == int(by_hand["late"])
    domains = [group.name for group in stats.stats(reading(name)).domains]
    told = [
        attempt["outcome"]
        for domain in domains
        for copy in trace.trace(reading(name), "@" + domain.replace("(others)", "")).copies
        for attempt in copy.attempts
    ]
    assert tuple(told.count(outcome) for outcome in range(3)) == (sent, deferred, bounced)


@pytest.mark.parametrize(("name", "tried"), TRIED.items())
def test_an_internet_has_all_who_were_tried(name, tried):
    assert sum(peer.subscribers for peer in fit(reading(name)).peers) == tried


def test_late_tells_why():
    errors = {
        "postfix-forwarded": "connect to postbox.example.org[198.51.100.13]:25: Connection timed",
        "sendmail-cluster": "Deferred: Connection refused by [127.0.0.1]",
        "exim-proxy": "SMTP error from remote mail server after end of data: 421 Lost incoming",
        "exim-local": "mailbox is full (MTA-imposed quota exceeded",
        "opensmtpd-expired": '421 <ann@example.net> Service not available - "too busy"',
    }
    for name, error in errors.items():
        (straggler,) = late.late(reading(name)).late
        assert straggler.error.startswith(error), name
        assert straggler.attempts == 1, name


def test_the_page_has_the_table(command):
    lines = PAGE.read_text().splitlines()
    for name, by_hand in BY_HAND.items():
        counts, _ = by_stats(command, name)
        cells = [f"{by_hand[of]} / {counts[of]}" for of in SHOWN]
        row = f"| {name} | {' | '.join(cells)} |"
        assert row in lines, row
