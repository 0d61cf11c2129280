"""The cases of a study measured one after the other, into its run directory."""

from collections.abc import Callable

from sojourn._core import Study
from sojourn._internal.errors import Interrupted
from sojourn._internal.terminal import doing
from sojourn._internal.units import clock, count
from sojourn.execution import inputs
from sojourn.execution.execute import Task, unfinished
from sojourn.execution.studies import meta_of
from sojourn.store.ledger import Record
from sojourn.store.run_directory import RunDirectory


def measure_cases(
    study: Study,
    directory: RunDirectory,
    *,
    command: str,
    measured: str,
    one: Callable[[Task], Record],
    lasts_s: Callable[[Task], float | None] | None = None,
) -> int:
    """Measure the cases that a run directory lacks.

    Args:
        study: what is measured.
        directory: where to.
        command: for `meta.json`.
        measured: what is measured, for `meta.json`.
        one: measures a case and replication, and keeps its rows.
        lasts_s: for how long work arrives in one, where that is known.

    Returns:
        How many cases were measured, replications counted.

    Raises:
        MeasurementError: a case could not be measured; the directory holds something else.
        Interrupted: Ctrl-C; finished cases are kept.
    """
    meta = {**meta_of(study, command), "measured": measured}
    with directory.writing(study.resolved()):
        ledger = directory.finished()
        tasks = unfinished(study, ledger)
        directory.sign(meta, finished=not tasks)
        runs = ((task.case, task.replication) for task in tasks)
        inputs.provide(study, runs, directory.path)
        try:
            with doing() as say:
                for task in sorted(tasks, key=lambda task: (task.case.index, task.replication)):
                    known_s = lasts_s(task) if lasts_s else None
                    length = "" if known_s is None else f", {clock(known_s)} of arrivals"
                    which = f"case {task.case.index}, replication {task.replication}"
                    say(f"measuring {which}{length}")
                    ledger.add(one(task))
                    ledger.write(directory.cases)
        except KeyboardInterrupt:
            total = count(len(study.cases()) * study.replications, "case")
            raise Interrupted(
                f"interrupted: {len(ledger)} of {total} measured and kept in {directory.path};"
                " the same command resumes"
            ) from None
    return len(tasks)
