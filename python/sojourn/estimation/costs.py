"""What an estimate of fabrics takes, and what simulating them whole would."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sojourn import estimation as estimating
from sojourn._core import Cancelled, Estimate
from sojourn._internal.units import number
from sojourn.execution import inputs
from sojourn.execution.execute import Task
from sojourn.store.run_directory import RunDirectory

_PILOTS = 4
_EACH_S = 0.5
_LOOK_S = 0.02


@dataclass(frozen=True)
class Costs:
    """Seconds of processor time, both roughly."""

    exact_s: float
    estimate_s: float

    @property
    def exact_is_cheaper(self) -> bool:
        """Whether there is nothing to be gained by an estimate."""
        return self.exact_s <= self.estimate_s

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints."""
        return {
            "exact_cpu_s": self.exact_s,
            "estimate_cpu_s": self.estimate_s,
            "ran": "exact" if self.exact_is_cheaper else "estimate",
        }

    def line(self) -> str:
        """Both, and what follows, in a line."""
        both = (
            f"the exact run takes about {number(self.exact_s, 2)} s of processor time,"
            f" the estimate {number(self.estimate_s, 2)} s"
        )
        said = ": so it is run, and nothing estimated; --force estimates"
        return both + (said if self.exact_is_cheaper else "")


def predict(estimate: Estimate, tasks: Sequence[Task]) -> Costs:
    """What tasks would take, by pilots of at most `_PILOTS` of them.

    A pilot is the beginning of an exact run. Its links are not tried: a packet's way over a link
    takes what it takes in the whole fabric, and how many such ways there are is known.

    Raises:
        StudyError: a case turned out to be impossible.
    """
    chosen = tasks[:: max(1, -(-len(tasks) // _PILOTS))]
    study = estimate.resolved()
    exact, links, jobs = 0.0, 0.0, 0
    with TemporaryDirectory(prefix="sojourn-") as folder:
        directory = RunDirectory(Path(folder))
        runs = ((task.case, task.replication) for task in chosen)
        inputs.provide(estimate.study, runs, directory.path)
        for task in chosen:
            index, replication = task.case.index, task.replication
            part = estimating.Part(study, index, replication, str(directory.study))
            whole_s = _exact_s(Task(task.case, replication))
            before = time.thread_time()
            whole, alone = estimating.decomposed(part).crossings()
            exact += whole_s
            links += time.thread_time() - before + whole_s * alone / max(whole, 1)
            jobs += task.case.jobs
    all_of_them = sum(task.case.jobs for task in tasks) / max(jobs, 1)
    return Costs(exact * all_of_them, links * all_of_them)


def _exact_s(task: Task) -> float:
    """The processor time of a task, from its beginning; of what is drawn first, all."""
    begins = time.process_time()
    first: tuple[float, int] | None = None
    with ThreadPoolExecutor(max_workers=1) as alone:
        future = alone.submit(_run, task)
        try:
            while True:
                try:
                    return future.result(timeout=_LOOK_S)
                except TimeoutError:
                    spent, done = time.process_time() - begins, task.progress.done
                if first is None:
                    first = (spent, done) if done else None
                elif spent - first[0] >= _EACH_S and done > first[1]:
                    break
        finally:
            task.progress.cancel()
        wait([future])
    if (error := future.exception()) and not isinstance(error, Cancelled):
        raise error
    a_job = (spent - first[0]) / (done - first[1])
    return first[0] + a_job * (task.case.jobs - first[1])


def _run(task: Task) -> float:
    task.case.run(task.replication, task.progress)
    return time.thread_time()
