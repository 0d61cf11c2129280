"""mailstat: what was delivered and what was not, by hour, by the message's age, by domain.

Source: the paper's section "mailstat", figures 3 and 4.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import pairwise

import pyarrow as pa

from sojourn.maillog import histograms, reading
from sojourn.maillog.histograms import DELAY, NONE, TOOK, TOOK_IN_VAIN, Histogram
from sojourn.maillog.reading import Log, Reading
from sojourn.maillog.times import span

HOUR_US = 3600 * 10**6


@dataclass(frozen=True)
class Ended:
    """Attempts by what came of them, once a recipient and once a host.

    `hosts` counts messages at hosts, as the paper does: one message tried at one host once, for
    however many recipients.
    """

    delivered_hosts: int
    delivered_recipients: int
    deferred_hosts: int
    deferred_recipients: int
    bounced_hosts: int
    bounced_recipients: int

    @property
    def failed_hosts(self) -> int:
        """Deferred or bounced."""
        return self.deferred_hosts + self.bounced_hosts

    @property
    def failed_recipients(self) -> int:
        """Deferred or bounced."""
        return self.deferred_recipients + self.bounced_recipients

    @property
    def recipients(self) -> int:
        """All attempts for recipients."""
        return self.failed_recipients + self.delivered_recipients

    def to_dict(self) -> dict[str, int]:
        """For `--json`."""
        failed = {
            "failed_hosts": self.failed_hosts,
            "failed_recipients": self.failed_recipients,
        }
        return {**failed, **asdict(self)}

    @staticmethod
    def sum(parts: "Sequence[Ended]") -> "Ended":
        """All of them together."""
        rows = map(astuple, [_NOTHING, *parts])
        return Ended(*(sum(counts) for counts in zip(*rows, strict=True)))

    @staticmethod
    def of(table: pa.Table) -> "list[Ended]":
        """Of each row of a table."""
        names = [
            f"{outcome}{what}"
            for outcome in ("delivered", "deferred", "bounced")
            for what in ("_hosts", "")
        ]
        columns = [table[name].to_pylist() for name in names]
        return [Ended(*row) for row in zip(*columns, strict=True)]


_NOTHING = Ended(0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Group:
    """Attempts that have something in common.

    Attributes:
        name: what that is.
        ended: how many they are.
        delay: how old messages were when they were delivered.
        took: how long attempts took that delivered.
        in_vain: how long those took that did not.
    """

    name: str
    ended: Ended
    delay: Histogram
    took: Histogram
    in_vain: Histogram

    def to_dict(self, wanted: Sequence[float]) -> dict[str, object]:
        """For `--json`."""
        return {
            "name": self.name,
            **self.ended.to_dict(),
            "delay": self.delay.to_dict(wanted),
            "attempt": self.took.to_dict(wanted),
            "attempt_in_vain": self.in_vain.to_dict(wanted),
        }


@dataclass(frozen=True)
class Stats:
    """What a log tells in numbers.

    Attributes:
        log: what the log was like.
        hours: the beginning of each hour with any, in microseconds, its arrivals, its attempts.
        all: all attempts.
        ages: attempts by the age of the message.
        domains: attempts by the recipient's domain, most attempts first.
    """

    log: Log
    hours: Sequence[tuple[int, int, Ended]]
    all: Group
    ages: Sequence[Group]
    domains: Sequence[Group]

    def to_dict(self, wanted: Sequence[float], top: int | None) -> dict[str, object]:
        """For `--json`; of the domains only the `top` ones, all where it is None."""
        hours = [
            {"hour": reading.stamp(start), "arrived": arrived, **ended.to_dict()}
            for start, arrived, ended in self.hours
        ]
        return {
            "log": self.log.to_dict(),
            "hours": hours,
            "totals": self.all.to_dict(wanted),
            "ages": [group.to_dict(wanted) for group in self.ages],
            "domains": [group.to_dict(wanted) for group in self.domains[:top]],
            "domains_in_all": len(self.domains),
        }


def stats(of: Reading) -> Stats:
    """Count what logs tell.

    Raises:
        InputError: one cannot be read.
    """
    log = of.tally(HOUR_US)
    read = of.feed(log)
    bins = reading.table(log, "bins")
    starts, arrived = bins["start_us"].to_pylist(), bins["arrived"].to_pylist()
    ages, domains = reading.table(log, "ages"), reading.table(log, "domains")
    # the first row is all of them, and of that the beginning is not known
    edges = [int(edge) for edge in ages["from_us"].to_pylist()[1:]]
    names = [f"{span(low)} to {span(high)}" for low, high in pairwise(edges)]
    names = ["all", f"below {span(edges[1])}", *names[1:], f"over {span(edges[-1])}"]
    everything, *by_age = _groups(names, ages, histograms.by_row(log, "times_of_ages"))
    hosts = [domain or "(others)" for domain in domains["domain"].to_pylist()]
    by_domain = _groups(hosts, domains, histograms.by_row(log, "times_of_domains"))
    by_domain.sort(key=lambda group: (-group.ended.recipients, group.name))
    return Stats(
        log=read,
        hours=list(zip(starts, arrived, Ended.of(bins), strict=True)),
        all=everything,
        ages=[group for group in by_age if group.ended.recipients],
        domains=[group for group in by_domain if group.ended.recipients],
    )


def _groups(
    names: Sequence[str], table: pa.Table, times: Mapping[tuple[int, int], Histogram]
) -> list[Group]:
    return [
        Group(
            name,
            ended,
            *(times.get((row, what), NONE) for what in (DELAY, TOOK, TOOK_IN_VAIN)),
        )
        for row, (name, ended) in enumerate(zip(names, Ended.of(table), strict=True))
    ]
