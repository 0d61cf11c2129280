"""A log, and the model of it: the log's own messages, delivered with the mailer's settings.

A plan is worth something if the model, set as the mailer is, takes as long as the log says.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import numpy as np
import pyarrow as pa

from sojourn._internal.errors import InputError
from sojourn._internal.files import write_text
from sojourn._internal.units import number
from sojourn.analysis.statistics import Values
from sojourn.mail.fit import Fitted
from sojourn.mail.mailer import Server
from sojourn.mail.plan.predict import PERCENTILES, Predicted, percentiles
from sojourn.maillog.copies import DELIVERED, Copy, copies
from sojourn.maillog.reading import Log, Reading, attempts

# By how much the model may differ from the log, and at which percentiles.
_ALLOWED, _ASKED = 0.15, (50, 95)
_FILE = "messages.csv"
_US = 10**6
# In a log of deliveries alone, a message that was accepted so long before it has earlier ones too.
_EARLIER_US = 60 * _US
# Of a message whose size is not in the log.
_SIZE = 4000
# So much longer than the log the model runs, as it may be a little slower, and at least a second,
# because stamps may have whole seconds.
_LATER = 0.25


@dataclass(frozen=True)
class Logged:
    """A log that was read.

    Attributes:
        names: its files.
        tables: its attempts.
        log: what it was like.
        first_us: when it begins, or what was asked for of it.
        last_us: when that ends.
        earlier_us: how long before that a message may have been accepted whose deliveries are all
            in it.
    """

    names: Sequence[str]
    tables: Sequence[pa.Table]
    log: Log
    first_us: int
    last_us: int
    earlier_us: int

    @staticmethod
    def read(reading: Reading) -> "Logged":
        """Read logs.

        Raises:
            InputError: one cannot be read, or nothing was delivered in it.
        """
        reader = reading.rows()
        tables = [*attempts(reading, log=reader)]
        log = Log.of(reading, reader)
        first, last = log.counts["first_us"], log.counts["last_us"]
        if first is None or last is None:
            raise InputError(f"{', '.join(reading.names)}: nothing delivered in it")
        since, until = reading.since_us, reading.until_us
        is_cut = since is not None and since > first
        tells = any(table["accepted_us"].null_count < table.num_rows for table in tables)
        return Logged(
            names=tuple(reading.names),
            tables=tables,
            log=log,
            first_us=first if since is None else max(first, since),
            last_us=last if until is None else min(last, until),
            earlier_us=0 if is_cut or tells else _EARLIER_US,
        )

    @cached_property
    def _copies(self) -> list[Copy]:
        return [copy for copy in copies(self.tables) if copy.domain]

    @cached_property
    def copies(self) -> list[Copy]:
        """The copies of messages that were accepted in the log's time."""
        return [it for it in self._copies if it.accepted >= self.first_us - self.earlier_us]

    @property
    def left_out(self) -> str:
        """Which copies are of messages that were accepted before; nothing where none is."""
        number = len(self._copies) - len(self.copies)
        before = "accepted before the log or --since, so earlier deliveries may be missing"
        return f"{number:,} recipients are left out: {before}" if number else ""

    @cached_property
    def delays_s(self) -> Values:
        """How long what was delivered took."""
        delivered = [copy.delay for copy in self.copies if copy.outcome == DELIVERED]
        return np.array(delivered, dtype=np.float64) / _US

    def mailers(self) -> list[str]:
        """The mailers that wrote it, the one with most deliveries first."""
        counted = Counter[str]()
        for table in self.tables:
            lines = zip(table["mailer"].to_pylist(), table["outcome"].to_pylist(), strict=True)
            counted.update(mailer for mailer, outcome in lines if outcome == 0)
        return [name for name, _ in counted.most_common()]

    def size(self) -> int:
        """The median size of its messages, in bytes."""
        sizes = {copy.message: copy.size for copy in self.copies if copy.size}
        return int(np.median([*sizes.values()])) if sizes else _SIZE

    def burst(self, folder: Path) -> dict[str, object]:
        """A study's `[list]` with the log's own messages, in a file in this folder.

        Each has the recipients in the order in which their first attempts began.

        Raises:
            InputError: no message was accepted in the log's time.
        """
        if not self.delays_s.size:
            why = ", ".join(filter(None, ("no message was accepted and delivered", self.left_out)))
            raise InputError(f"{', '.join(self.names)}: {why}")
        began = min(copy.accepted for copy in self.copies)
        subscribers: dict[str, dict[str, int]] = {}
        lines, messages = ["message,at,size,domain,subscriber"], 0
        for _, of_message in groupby(self.copies, attrgetter("message")):
            for copy in sorted(of_message, key=attrgetter("began")):
                known = subscribers.setdefault(copy.domain, {})
                place = known.setdefault(copy.recipient, len(known))
                at = f"{copy.accepted - began}us"
                lines.append(f"{messages},{at},{copy.size or _SIZE}B,{copy.domain},{place}")
            messages += 1
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / _FILE, "\n".join(lines) + "\n")
        left = self.last_us - self.copies[-1].accepted
        drain = left + max(round(_LATER * left), _US)
        return {
            "messages": messages,
            "arrivals": {"kind": "listed", "file": _FILE},
            "drain": f"{drain}us",
        }


@dataclass(frozen=True)
class Explained:
    """A log next to the model of it.

    Attributes:
        logged: the log.
        fitted: the internet that was learnt from it.
        server: the mailer whose settings the model has.
        predicted: what the model does.
    """

    logged: Logged
    fitted: Fitted
    server: Server
    predicted: Predicted

    @cached_property
    def times_s(self) -> dict[int, float]:
        """The percentiles of the log's delays."""
        found = percentiles(self.logged.delays_s)
        return {it: float(time) for it, time in zip(PERCENTILES, found, strict=True)}

    @property
    def delivered(self) -> float:
        """The share of the log's recipients that were delivered to."""
        return self.logged.delays_s.size / len(self.logged.copies)

    @cached_property
    def unexplained(self) -> list[int]:
        """The percentiles at which the model differs from the log by more than is allowed."""
        return [it for it in _ASKED if self._off_s(it) > self._allowed_s(it)]

    @property
    def holds(self) -> bool:
        """Whether the model explains the log."""
        return not self.unexplained

    def _off_s(self, percentile: int) -> float:
        return abs(self.predicted.within_s(percentile) - self.times_s[percentile])

    def _allowed_s(self, percentile: int) -> float:
        """A share of the log's time; a second at least where its delays are whole seconds."""
        delays_s = self.logged.delays_s
        grain_s = float(np.array_equal(delays_s, np.floor(delays_s)))
        return max(_ALLOWED * self.times_s[percentile], grain_s)

    def reasons(self) -> list[str]:
        """Why the model may not explain the log, a line each; nothing where it does."""
        if self.holds:
            return []
        logged = self.logged
        all_us = sum(max(copy.delay, 0) for copy in logged.copies) or 1
        refused = [copy for copy in logged.copies if copy.deferred]
        refused_us = sum(max(copy.delay, 0) for copy in refused)
        waited_us = sum(copy.began for copy in logged.copies if copy.outcome == DELIVERED)
        said = [
            f"the {it}th percentile is {number(self.predicted.within_s(it))} s in the model and"
            f" {number(self.times_s[it])} s in the log; they may be at most"
            f" {_per_cent(_ALLOWED)} apart"
            for it in self.unexplained
        ]
        if refused:
            said.append(
                f"{_per_cent(len(refused) / len(logged.copies))} of the recipients were refused or"
                f" not reached at first: they have {_per_cent(refused_us / all_us)} of all delay"
            )
        said += self.fitted.refusals()
        if (waited := _per_cent(min(waited_us / all_us, 1))) != _per_cent(0):
            said.append(f"{waited} of all delay passed before first attempts")
        said.append(f"the settings of the model: {self.server.source}")
        said += [f"the model does not have {it}" for it in self.server.not_modelled]
        if logged.left_out:
            said.append(logged.left_out)
        return said + [line.strip() for line in logged.log.notes()]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        log = {f"p{it}_s": time for it, time in self.times_s.items()}
        return {
            "settings": self.server.source,
            "log": {"deliveries": self.logged.delays_s.size, "delivered": self.delivered, **log},
            "model": self.predicted.to_dict(),
            "explained": self.holds,
            "reasons": self.reasons(),
        }


def _per_cent(share: float) -> str:
    return f"{share * 100:.0f} %"
