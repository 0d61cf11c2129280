"""Samples: the jobs of a group of cases, read from its rows and ready for statistics."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sojourn._internal.errors import InputError
from sojourn._internal.units import count, picoseconds
from sojourn._internal.vocabulary import GOODPUT, MISSED, RECEIVED
from sojourn.analysis.observed import Observed, Series
from sojourn.analysis.run_length import WARM_UP, Queue, instants
from sojourn.analysis.run_length import warmup as start_of
from sojourn.analysis.statistics import Values
from sojourn.store import rows
from sojourn.store.columns import Column, groups
from sojourn.store.ledger import Ledger, Record, Value
from sojourn.store.run_directory import RunDirectory
from sojourn.store.service_list import fewest_services

Mask: TypeAlias = npt.NDArray[np.bool_]
Warmup: TypeAlias = bool | str
"""What is left out at the start: a fixed share of the jobs, nothing, or a time as text."""

TIMES = ("slowdown", "sojourn_ps")
OF_RANKS = (
    "bus_bps",
    "exposed_ps",
    "path_network_ps",
    "path_on_server_ps",
    "path_computing_ps",
)


@dataclass(frozen=True)
class Jobs:
    """The jobs of one case and replication, in order of arrival.

    `metrics` hold NaN where a job has none: of `TIMES` where it did not finish, of `MISSED` where
    it has no deadline, and otherwise 1 if it was not done by then and 0 if it was; of `GOODPUT`
    where it was not measured over a window; of `RECEIVED` where it is not known. `early` marks the
    warm-up, in which no job is that has a separate window; `late` jobs with an end that were not
    done when the last one arrived. `jobs` are all of the case, of other kinds too, but those that
    are left out beyond 5 %; `instants` are their different times of arrival. `window_ps` is the
    time from the first arrival after the warm-up to the last one, of any of them.
    """

    record: Record
    jobs: int
    instants: int
    window_ps: tuple[int, int]
    size_bytes: npt.NDArray[np.int64]
    arrived_ps: npt.NDArray[np.int64]
    early: Mask
    late: Mask
    metrics: dict[str, Values]

    def where(self, chosen: Mask | npt.NDArray[np.int64]) -> "Jobs":
        """Only some of the jobs, or all in another order."""
        return Jobs(
            record=self.record,
            jobs=self.jobs,
            instants=self.instants,
            window_ps=self.window_ps,
            size_bytes=self.size_bytes[chosen],
            arrived_ps=self.arrived_ps[chosen],
            early=self.early[chosen],
            late=self.late[chosen],
            metrics={name: values[chosen] for name, values in self.metrics.items()},
        )

    @property
    def case(self) -> int:
        """Which case they are of."""
        return self.record.case

    @property
    def replication(self) -> int:
        """Which of its replications."""
        return self.record.replication

    def unfinished(self) -> Mask:
        """Which of them did not finish, though they have an end."""
        return np.isnan(self.metrics["sojourn_ps"]) & np.isnan(self.metrics[GOODPUT])

    def kept(self, metric: str | None = None) -> Mask:
        """Which of them numbers are about: they have the metric, and are not of the warm-up."""
        return ~self.early & ~(np.isnan(self.metrics[metric]) if metric else self.unfinished())


@dataclass(frozen=True)
class Sample:
    """Jobs of several cases and replications together."""

    parts: tuple[Jobs, ...]

    def between(self, above: float, upto: float) -> "Sample":
        """The jobs of a size bin `(above, upto]`, in bytes."""
        return Sample(
            tuple(
                part.where((part.size_bytes > above) & (part.size_bytes <= upto))
                for part in self.parts
            )
        )

    def only(self, replications: Container[int]) -> "Sample":
        """The jobs of some replications."""
        return Sample(tuple(part for part in self.parts if part.replication in replications))

    def metrics(self) -> tuple[str, ...]:
        """What there are numbers of: `MISSED` only where any job has a deadline.

        Jobs without an end have a goodput and nothing else.
        """
        if any(not np.isnan(part.metrics[GOODPUT]).all() for part in self.parts):
            return (GOODPUT,)
        others = [MISSED, *OF_RANKS]
        return (*TIMES, *filter(self._has, others))

    def _has(self, metric: str) -> bool:
        parts = (part.metrics.get(metric, np.empty(0)) for part in self.parts)
        return any(not np.isnan(values).all() for values in parts)

    def due(self) -> "Sample":
        """The jobs with a deadline."""
        return Sample(tuple(p.where(~np.isnan(p.metrics[MISSED])) for p in self.parts))

    def counts(self) -> tuple[int, int, int]:
        """How many jobs are kept, unfinished, and finished but left out as warm-up."""
        kept = sum(int(part.kept().sum()) for part in self.parts)
        unfinished = sum(int(part.unfinished().sum()) for part in self.parts)
        total = sum(part.size_bytes.size for part in self.parts)
        return kept, unfinished, total - kept - unfinished

    def values(self, metric: str) -> Values:
        """The kept jobs' values in rising order; infinite for the times of unfinished jobs."""
        kept = [part.metrics[metric][part.kept(metric)] for part in self.parts]
        unfinished = self.counts()[1] if metric in TIMES else 0
        return np.sort(np.concatenate([*kept, np.full(unfinished, np.inf)]))

    def with_unfinished(self, metric: str) -> "Sample":
        """The same jobs, where those that did not finish have infinite times, and so are kept."""
        if metric not in TIMES:
            return self
        parts = []
        for part in self.parts:
            times = np.where(part.unfinished(), np.inf, part.metrics[metric])
            parts.append(replace(part, metrics={**part.metrics, metric: times}))
        return Sample(tuple(parts))

    def observed(self, metric: str) -> Observed:
        """The kept jobs' values of a metric, with what is known of their runs.

        Goodputs of one replication hang together: they are of flows that share links.
        """
        by_case: dict[int, list[Jobs]] = {}
        for part in sorted(self.parts, key=lambda part: part.replication):
            by_case.setdefault(part.case, []).append(part)
        numbers = [{part.replication for part in own} for own in by_case.values()]
        common = set.intersection(*numbers) if numbers else set()
        return Observed([_series(own, metric, common) for own in by_case.values()])


_REPLAYED = "workload.file"


def _series(own: Sequence[Jobs], metric: str, common: Container[int]) -> Series:
    """A metric of one case, whose intervals come from the replications that all cases have.

    What a model knows of its queues is about sojourn times; of other metrics it says no more than
    that a run is too short. Replications that replay a file have the same arrivals: they are one.
    """
    queue = Queue.of([part.record.figures for part in own])
    if queue is not None and metric != "sojourn_ps":
        queue = replace(queue, decides=False)
    used = tuple(place for place, part in enumerate(own) if part.replication in common)
    if _REPLAYED in own[0].record.parameters:
        used = used[:1]
    return Series(
        runs=tuple(part.metrics[metric][part.kept(metric)] for part in own),
        jobs=max(part.jobs for part in own),
        instants=min(part.instants for part in own),
        unordered=metric == GOODPUT,
        queue=queue,
        services=fewest_services([part.record.figures for part in own]),
        used=used,
    )


@dataclass(frozen=True)
class Group:
    """The jobs of one kind from the cases that agree in the columns of a grouping."""

    case: dict[str, Value | None]
    kind: str
    sample: Sample


def groups_of(
    directory: RunDirectory, ledger: Ledger, columns: Sequence[Column], *, warmup: Warmup
) -> Iterator[Group]:
    """The jobs of a run by the values of columns and by kind, one group of cases at a time.

    Args:
        directory: where the rows are.
        ledger: which cases and replications.
        columns: what to group by.
        warmup: what to mark as warm-up, so that it is left out.

    Raises:
        InputError: rows are missing or cannot be read; `warmup` is no time.
    """
    given_ps = picoseconds(warmup, "warm-up") if isinstance(warmup, str) else None
    of_rows = [column for column in columns if column.in_rows]
    names = ["kind", *(column.name for column in of_rows)]
    for key, records in groups(ledger, columns).items():
        parts: dict[tuple[str, ...], list[Jobs]] = {}
        for record in records:
            for label, jobs in _read(directory, record, names, warmup, given_ps):
                parts.setdefault(label, []).append(jobs)
        for (kind, *values), found in parts.items():
            case = {column.label: value for column, value in zip(columns, key, strict=True)}
            case |= {column.label: value for column, value in zip(of_rows, values, strict=True)}
            yield Group(case, kind, Sample(tuple(found)))


def _read(
    directory: RunDirectory,
    record: Record,
    names: Sequence[str],
    warmup: Warmup,
    given_ps: int | None,
) -> Iterator[tuple[tuple[str, ...], Jobs]]:
    """The jobs of one case and replication, split by dictionary columns of the rows."""
    path = directory.rows(*record.key)
    due = ["deadline_ps", "finished_ps"] if rows.holds(path, "deadline_ps") else []
    measured = [name for name in (GOODPUT, RECEIVED, *OF_RANKS) if rows.holds(path, name)]
    wanted = dict.fromkeys([*names, "size_bytes", "arrived_ps", *TIMES, *due, *measured])
    table = rows.read(path, list(wanted))
    if table.num_rows != record.jobs:
        given = count(table.num_rows, "row")
        raise InputError(f"{path}: {given}, expected {record.jobs:,}, one a job of this case")
    arrived = rows.numbers(table["arrived_ps"])
    metrics = {name: rows.numbers(table[name]).astype(np.float64) for name in TIMES}
    nothing = np.full(arrived.size, np.nan)
    metrics[MISSED] = _missed(table) if due else nothing
    for name in (GOODPUT, RECEIVED):
        own = rows.numbers(table[name]) if name in measured else nothing
        metrics[name] = own.astype(np.float64)
    of_ranks = [name for name in OF_RANKS if name in measured]
    metrics |= {name: rows.numbers(table[name]).astype(np.float64) for name in of_ranks}
    # An iteration is whole: none of it is warm-up.
    warmup = warmup and not of_ranks
    ends = np.isnan(metrics[GOODPUT])
    if given_ps is None:
        given_ps = start_of(arrived)[1] if warmup else 0
    kept = np.count_nonzero(arrived[ends] >= given_ps) / (1 - WARM_UP)
    jobs = Jobs(
        record=record,
        jobs=min(record.jobs, ceil(kept)) if ends.any() else record.jobs,
        instants=instants(arrived[ends]),
        window_ps=_window(arrived, given_ps),
        size_bytes=rows.numbers(table["size_bytes"]),
        arrived_ps=arrived,
        early=(arrived < given_ps) & ends,
        late=~(arrived + metrics["sojourn_ps"] <= arrived.max()) & ends,
        metrics=metrics,
    )
    labels, codes = _labels([table[name] for name in names])
    if np.any(arrived[1:] < arrived[:-1]):
        order = np.argsort(arrived, kind="stable")
        jobs, codes = jobs.where(order), codes[order]
    for code, label in enumerate(labels):
        yield label, jobs if len(labels) == 1 else jobs.where(codes == code)


def _window(arrived: npt.NDArray[np.int64], warm_ps: int) -> tuple[int, int]:
    """The first arrival after the warm-up and the last one; both the same of none."""
    kept = arrived[arrived >= warm_ps]
    return (int(kept.min()), int(kept.max())) if kept.size else (warm_ps, warm_ps)


def _missed(table: pa.Table) -> Values:
    """1 for a job that was not done by its deadline, or not at all; NaN without a deadline."""
    import pyarrow.compute as pc  # 30 ms that few runs need

    deadline, finished = table["deadline_ps"], table["finished_ps"]
    in_time = pc.fill_null(pc.less_equal(finished, deadline), False)
    missed: Values = 1 - in_time.to_numpy().astype(np.float64)
    missed[deadline.is_null().to_numpy()] = np.nan
    return missed


def _labels(
    columns: Sequence[pa.ChunkedArray],
) -> tuple[list[tuple[str, ...]], npt.NDArray[np.int64]]:
    """The combinations of values that occur in dictionary columns, and each row's place there."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    names: list[tuple[str, ...]] = [()]
    for column in columns:
        own = column.unify_dictionaries().combine_chunks()
        values = own.dictionary.to_pylist()
        codes = codes * len(values) + rows.numbers(own.indices)
        names = [(*label, value) for label in names for value in values]
    occurring, codes = np.unique(codes, return_inverse=True)
    return [names[code] for code in occurring], codes
