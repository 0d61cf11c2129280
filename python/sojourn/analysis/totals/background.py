"""How far work beside the jobs got: a rebuild's share, its rate, and the time that is left."""

from collections.abc import Iterable, Iterator

import numpy as np

from sojourn._internal import vocabulary
from sojourn._internal.units import BYTES_PER_MB, PS_PER_S, count, duration, number, rough_duration
from sojourn._internal.vocabulary import BackgroundWork
from sojourn.store.ledger import Ledger, Record

_RUN_PS = "simulated_ps"


def lines(ledger: Ledger, kinds: Iterable[str]) -> Iterator[str]:
    """What is said of each case: when its work was done, or how much of it is left.

    Replications in which the work ended and those in which it did not have separate lines, each
    with the mean of their numbers.
    """
    for work in vocabulary.of_kinds(kinds).background:
        for records in ledger.by_case().values():
            ended = [record for record in records if work.ended in record.figures]
            going = [r for r in records if work.of in r.figures and work.ended not in r.figures]
            where = vocabulary.worded(records[0].axes.items())
            head = f"{where}: the {work.name}" if where else f"the {work.name}"
            if ended:
                yield f"{head} {_ended(ended, work)}{_of(ended)}"
            if going:
                yield f"{head} {_going(going, work)}{_of(going)}"


def _ended(records: list[Record], work: BackgroundWork) -> str:
    after_ps = _mean(records, work.ended)
    said = f"was over after {duration(after_ps)}"
    if all(work.of in record.figures for record in records):
        said += f", at {_rate(_mean(records, work.of), after_ps)}"
    return said


def _going(records: list[Record], work: BackgroundWork) -> str:
    """A rate is that since the start of the run, and so is the forecast that is made of it."""
    done, of, run_ps = (_mean(records, name) for name in (work.done, work.of, _RUN_PS))
    said = f"was not over by the end of the run, after {duration(run_ps)}: {done / of:.2%} done"
    if not done:
        return said
    left = rough_duration((of - done) / done * run_ps / PS_PER_S)
    return f"{said}, {_rate(done, run_ps)}, about {left} left at this rate"


def _rate(size_bytes: float, picoseconds: float) -> str:
    rate = size_bytes / BYTES_PER_MB / (picoseconds / PS_PER_S)
    return f"{number(rate)} MB/s for each failed disk"


def _mean(records: list[Record], name: str) -> float:
    return float(np.mean([float(record.figures[name]) for record in records]))


def _of(records: list[Record]) -> str:
    return f" (mean of {count(len(records), 'replication')})" if len(records) > 1 else ""
