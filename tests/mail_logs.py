"""Logs made of known numbers, for tests of the tools that read them."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count

DAY = datetime(1997, 2, 22)  # noqa: DTZ001 - of a clock without a zone

# Figures 3 and 4 of the paper: hour, messages at hosts and recipients that failed, and delivered.
Hour = tuple[int, tuple[int, int], tuple[int, int]]
FIGURE_3: Sequence[Hour] = (
    (2, (433, 612), (1111, 1111)),
    (3, (495, 696), (1298, 1298)),
    (4, (431, 615), (1137, 1137)),
    (5, (421, 610), (810, 810)),
    (6, (422, 606), (717, 717)),
    (7, (411, 587), (931, 931)),
    (8, (427, 616), (1039, 1039)),
    (9, (22, 22), (105, 105)),
)
FIGURE_4: Sequence[Hour] = (
    (3, (18811, 18811), (522, 522)),
    (4, (27065, 27065), (574, 574)),
    (5, (29342, 29346), (1738, 1887)),
    (6, (29973, 29978), (8, 8)),
    (7, (26668, 26675), (1556, 1690)),
    (8, (11768, 11787), (1347, 1464)),
    (9, (1893, 1896), (566, 606)),
)
# Of figure 2 the deliveries; the dashes say how many failed only to the nearest ten.
FIGURE_2 = (
    "9:00:00 480/2",
    "9:00:15 960/4",
    "9:00:30 960/4 --",
    "9:00:45 2160/9 *--",
    "9:01:00 1920/8 *--",
    "9:01:15 720/3 --",
    "9:01:30 2400/10 *--",
    "9:01:45 720/3 --",
    "9:02:00 1440/6 *-",
    "9:02:15 960/4 --",
    "9:02:30 960/4 --",
    "9:02:45 1440/6 *--",
)


def sendmail_line(at: datetime, queue_id: str, recipients: Sequence[str], *, sent: bool) -> str:
    """A line of an attempt, with the fields of the one that the paper shows."""
    host = recipients[0].partition("@")[2]
    end = (
        f"relay=mail.{host}. [192.0.2.7], stat=Sent (Message received and queued)"
        if sent
        else f"relay=mail.{host}., stat=Deferred: Connection timed out with mail.{host}."
    )
    return (
        f"{at:%b} {at.day:2} {at:%H:%M:%S} ace sendmail[24338]: {queue_id}: "
        f"to={','.join(recipients)}, ctladdr=kolstad (101/0), delay=00:00:07, xdelay=00:00:06, "
        f"mailer=smtp, {end}\n"
    )


def mailstat_log(hours: Sequence[Hour]) -> Iterator[str]:
    """A log of February 22nd, 1997, that gives a table of mailstat.

    The paper shows no log beside its tables. What they say is kept: in each hour so many lines
    failed and so many delivered, one a message at a host, with so many recipients: one each, and
    the rest one by one in addition. What they do not say is made up: the lines of an hour are
    spread over it, each is of a message of its own, failures are deferrals, names are numbers.
    """
    numbers = count()
    for hour, failed, delivered in hours:
        lines = [
            (place / hosts, hosts, recipients, place, sent)
            for sent, (hosts, recipients) in ((False, failed), (True, delivered))
            for place in range(hosts)
        ]
        for share, hosts, recipients, place, sent in sorted(lines):
            many = recipients // hosts + (place < recipients % hosts)
            number = next(numbers)
            names = [f"u{nth}@site{number % 997}.net" for nth in range(many)]
            at = DAY + timedelta(hours=hour, seconds=int(share * 3600))
            yield sendmail_line(at, f"KAA{number:06}", names, sent=sent)


def realstat_log() -> Iterator[str]:
    """A log that gives figure 2: a dash is ten failures."""
    numbers = count()
    for line in FIGURE_2:
        clock, counts, *bar = line.split()
        hour, minute, second = map(int, clock.split(":"))
        end = DAY + timedelta(hours=hour, minutes=minute, seconds=second)
        delivered, failed = int(counts.partition("/")[2]), 10 * "".join(bar).count("-")
        for sent in [True] * delivered + [False] * failed:
            number = next(numbers)
            at = end - timedelta(seconds=1 + number % 15)
            yield sendmail_line(at, f"KAA{number:06}", [f"u@site{number}.net"], sent=sent)


POSTFIX = """\
Nov 21 23:59:58 mx postfix/cleanup[9]: 4F2A13C0D1: message-id=<1@lists.example>
Nov 21 23:59:58 mx postfix/qmgr[2]: 4F2A13C0D1: from=<o@lists.example>, size=900, nrcpt=3 (queue active)
Nov 21 23:59:59 mx postfix/smtp[7]: 4F2A13C0D1: to=<a@x.example>, relay=mx.x.example[192.0.2.1]:25, delay=1.2, delays=0.1/0.1/0.4/0.6, dsn=2.0.0, status=sent (250 2.0.0 Ok)
Nov 21 23:59:59 mx postfix/smtp[7]: 4F2A13C0D1: to=<b@x.example>, orig_to=<b@old.example>, relay=mx.x.example[192.0.2.1]:25, delay=1.2, delays=0.1/0.1/0.4/0.6, dsn=2.0.0, status=sent (250 2.0.0 Ok)
Nov 22 00:00:28 mx postfix/smtp[8]: 4F2A13C0D1: to=<c@y.example>, relay=none, delay=30, delays=0.1/0/30/0, dsn=4.4.1, status=deferred (connect to mx.y.example[192.0.2.2]:25: Connection timed out)
Nov 22 00:10:28 mx sshd[1]: hello
rubbish
Nov 22 01:10:28 mx postfix/smtp[8]: 4F2A13C0D1: to=<c@y.example>, relay=none, delay=4230, delays=4200/0/30/0, dsn=4.4.1, status=deferred (connect to mx.y.example[192.0.2.2]:25: Connection timed out)
"""  # noqa: E501 - lines of a log are long
