"""Fabrics estimated from their links, each a task on threads here or on a cluster.

After Zhao, Goyal, Alizadeh and Anderson, *Scalable tail latency estimation for data center
networks*, NSDI 2023. A process that simulates links draws the flows of the whole case first, once a
process; only the delays travel.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock

from sojourn._core import Decomposition, Estimate, Progress
from sojourn._internal.vocabulary import jobs_of
from sojourn.execution import inputs
from sojourn.execution.execute import (
    Observer,
    Paced,
    Spread,
    Status,
    Task,
    execute,
    unfinished,
)
from sojourn.execution.place import Execution
from sojourn.execution.progress import reporter
from sojourn.execution.results import keep
from sojourn.execution.studies import meta_of
from sojourn.store.ledger import Ledger, Record
from sojourn.store.link_times import LinkTimes, LinkTimesFile
from sojourn.store.run_directory import RunDirectory

SAID = (
    "estimated from links that were simulated alone, not simulated as a whole: on 32 hosts at loads"
    " of 0.3 to 0.7 mean slowdowns were off by up to 17 %, 99th percentiles by up to 83 %, single"
    " sizes by more; on other fabrics means were off by 3 % to a factor of four"
    " (how-to/estimate-a-large-fabric)"
)


@dataclass(frozen=True)
class Part:
    """One replication of a case of an estimate, as a process that simulates links receives it.

    `source` is the file of the study, beside which the files lie that it names.
    """

    study: str
    case: int
    replication: int
    source: str = "study.toml"


def simulate(part: Part, links: Sequence[int]) -> list[LinkTimes]:
    """Simulate some of the links, each alone."""
    whole = decomposed(part)
    return [_one(whole, link) for link in links]


def _one(whole: Decomposition, link: int) -> LinkTimes:
    wall, cpu = time.perf_counter(), time.thread_time()
    progress = Progress()
    _under_way.add(progress)
    try:
        delays, events = whole.simulate(link, progress)
    finally:
        _under_way.remove(progress)
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    return LinkTimes(link, delays, events, wall, cpu)


_under_way: set[Progress] = set()


def stop() -> None:
    """Stop the links that are under way in this process."""
    for progress in tuple(_under_way):
        progress.cancel()


_drawing = Lock()


def decomposed(part: Part) -> Decomposition:
    """The same one for all threads of a process; the last one is kept."""
    with _drawing:
        return _draw(part)


@lru_cache(maxsize=1)
def _draw(part: Part) -> Decomposition:
    parsed = inputs.parse(Estimate, part.study, part.source, [])
    case = parsed.study.cases()[part.case]
    given = inputs.tables(case, part.replication, Path(part.source).parent)
    return parsed.decompose(case, part.replication, given)


def parse(
    text: str,
    source: str,
    overrides: Sequence[tuple[str, str]],
    *,
    seed: int | None,
    replications: int | None,
) -> Estimate:
    """Check a study that is to be estimated; arguments as of `studies.parse`.

    Raises:
        StudyError: it cannot be run as written, or not be estimated.
    """
    given = {"run.seed": seed, "run.replications": replications}
    more = [(path, str(value)) for path, value in given.items() if value is not None]
    estimate = inputs.parse(Estimate, text, source, [*overrides, *more])
    inputs.warn(estimate.hints)
    return estimate


def run(
    estimate: Estimate,
    directory: RunDirectory,
    *,
    command: str,
    execution: Execution,
) -> int:
    """Estimate what the directory does not hold of a study yet; arguments as of `simulate`.

    Returns:
        How many cases were estimated, replications counted.

    Raises:
        InputError: there is no cluster; the directory cannot be written or holds something else.
        StudyError: a case turned out to be impossible.
        Interrupted: Ctrl-C; finished cases are kept, and the finished links of the one under way.
    """
    study = estimate.resolved()
    where = execution.place(study)
    meta = meta_of(estimate.study, command) | {"estimated": SAID}
    with directory.writing(study):
        ledger = directory.finished()
        tasks = unfinished(estimate.study, ledger)
        directory.sign(meta, finished=not tasks)
        runs = ((task.case, task.replication) for task in tasks)
        inputs.provide(estimate.study, runs, directory.path)
        with reporter(jobs_of(estimate.study.model)) as observer:
            links = Links(estimate, study, where)
            execute(tasks, ledger, directory, place=links, observer=observer)
    return len(tasks)


@dataclass(frozen=True)
class Links:
    """The links of one case after the other, spread over threads or a cluster."""

    estimate: Estimate
    study: str
    where: Spread

    def run(
        self,
        tasks: Sequence[Task],
        ledger: Ledger,
        directory: RunDirectory,
        observer: Observer | None,
    ) -> None:
        """Estimate tasks in their order, and enter each into the ledger."""
        status = Status(len(ledger) + len(tasks), len(ledger))
        for task in tasks:
            kept = LinkTimesFile(directory.links(task.case.index, task.replication))
            ledger.add(self._one(task, directory, kept, status, observer))
            ledger.write(directory.cases)
            kept.drop()
            status.cases_done += 1

    def _one(
        self,
        task: Task,
        directory: RunDirectory,
        kept: LinkTimesFile,
        status: Status,
        observer: Observer | None,
    ) -> Record:
        case, replication = task.case, task.replication
        wall, cpu = time.perf_counter(), time.thread_time()
        part = Part(self.study, case.index, replication, str(directory.study))
        whole = decomposed(part)
        links = whole.links()
        found = kept.read(set(links))
        status.jobs += len(links)
        status.jobs_done += len(found)
        write = Paced(lambda: kept.write(found))
        try:
            left = [link for link in links if link not in found]
            for times in self.where.spread(partial(simulate, part), left, stop):
                found[times.link] = times
                status.jobs_done += 1
                write()
                if observer:
                    observer(status)
        finally:
            kept.write(found)
        every = found.values()
        outcome = whole.combine([(times.link, times.delays, times.events) for times in every])
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        record = keep(
            directory,
            case,
            replication,
            outcome.columns,
            outcome.figures,
            wall_s=wall,
            cpu_s=cpu + sum(times.cpu_s for times in every),
        )
        return replace(record, parameters={**record.parameters, **self.estimate.parameters})
