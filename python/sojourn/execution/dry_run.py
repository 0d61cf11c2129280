"""What a study would run, and how long it would take: `sojourn run --dry-run`."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from sojourn._core import Cancelled, Study
from sojourn._internal.parameter_labels import label_of
from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import clock, count
from sojourn.execution.execute import Task, unfinished
from sojourn.execution.schedule import Work, left_s
from sojourn.execution.studies import runs_plainly
from sojourn.store.ledger import Ledger, written

_PILOTS = 24
_EACH_S = 0.4
_HOOK_S = 0.5  # that a hook in plain Python may take to end


@dataclass(frozen=True)
class Plan:
    """The cases of a study that are not finished, in the order in which they would run.

    `left_s` is how long they will take, roughly; None where the pilots were too short to say.
    """

    title: str
    finished: int
    tasks: tuple[Task, ...]
    at_a_time: int
    left_s: float | None

    def to_dict(self) -> dict[str, object]:
        """What `--dry-run --json` prints."""
        cases = [
            {"case": task.case.index, "replication": task.replication, "jobs": task.case.jobs}
            | {"axes": task.case.axes}
            for task in self.tasks
        ]
        return {
            "title": self.title,
            "finished": self.finished,
            "at_a_time": self.at_a_time,
            "left_s": self.left_s,
            "cases": cases,
        }

    def show(self) -> None:
        """Print a line a case, its replications together, and the time."""
        replications: dict[int, list[Task]] = {}
        for task in self.tasks:
            replications.setdefault(task.case.index, []).append(task)
        names = list(dict.fromkeys(name for task in self.tasks for name in task.case.axes))
        lines = [
            [
                *(written(tasks[0].case.axes.get(name, "")) for name in names),
                str(index),
                str(len(tasks)),
                f"{tasks[0].case.jobs:,}",
            ]
            for index, tasks in sorted(replications.items())
        ]
        heads = [*map(label_of, names), "case", "replications", "jobs of each"]
        if lines:
            print_table([lines], heads, title=self.title, numbers=3)
        print_lines(self._said())

    def _said(self) -> list[str]:
        done = f", {count(self.finished, 'case')} finished before" if self.finished else ""
        said = [f"{count(len(self.tasks), 'case')} to run, replications counted{done}"]
        if self.left_s is not None and self.tasks:
            at_a_time = f"{self.at_a_time} at a time" if self.at_a_time > 1 else "one at a time"
            said.append(f"about {clock(self.left_s)}, {at_a_time} (rough, by pilots)")
        return said


def plan(study: Study, ledger: Ledger, *, at_a_time: int) -> Plan:
    """What is left of a study, with the time that pilots promise.

    A pilot is the beginning of a case, for `_EACH_S` seconds and on one thread; at most `_PILOTS`
    cases have one, and the others' times follow from what they have in common with those. The
    beginning of a case is quicker than the rest of it where queues still fill, so that the promise
    is rather too short.

    Raises:
        StudyError: a case turned out to be impossible.
    """
    tasks = unfinished(study, ledger)
    first = [task for task in tasks if task.replication == min(t.replication for t in tasks)]
    chosen = first[:: max(1, -(-len(first) // _PILOTS))]
    with ThreadPoolExecutor(max_workers=at_a_time) as pool:
        known = dict(zip(map(id, chosen), pool.map(_pilot, chosen), strict=True))
    earlier = [Work(r.axes, r.jobs, r.wall_s, r.wall_s) for r in ledger]
    work = [known.get(id(task)) or Work(task.case.axes, task.case.jobs) for task in tasks]
    left = left_s([*earlier, *work], at_a_time)
    return Plan(study.title, len(ledger), tuple(tasks), at_a_time, left)


def _pilot(task: Task) -> Work:
    """A case's time, extrapolated from its beginning; unknown where a hook of it does not end."""
    start = time.perf_counter()
    alone = ThreadPoolExecutor(max_workers=1)
    future = alone.submit(task.case.run, task.replication, task.progress, rows=False)
    alone.shutdown(wait=False)
    try:
        future.result(timeout=_EACH_S)
    except TimeoutError:
        share = task.progress.done / max(task.case.jobs, 1)
        task.progress.cancel()
        wait([future], _HOOK_S if runs_plainly(task.case) else None)
        spent = time.perf_counter() - start
        if not future.done():
            return Work(task.case.axes, task.case.jobs)
        if error := future.exception():
            if not isinstance(error, Cancelled):
                raise error from None
            return Work(task.case.axes, task.case.jobs, 0.0, spent / share if share else None)
    return Work(task.case.axes, task.case.jobs, 0.0, time.perf_counter() - start)
