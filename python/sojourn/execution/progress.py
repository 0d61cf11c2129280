"""The progress of a run on standard error, or below a notebook's cell."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sojourn._internal.terminal import LOGGED_EVERY_S
from sojourn._internal.units import clock, duration
from sojourn.execution.execute import Observer, Status


@contextmanager
def reporter(jobs: str) -> Iterator[Observer]:
    """An observer that shows cases and jobs done, simulated time, and the time left.

    A bar on a terminal, a line that changes below a notebook's cell, and elsewhere, as in a log,
    a line every ten seconds. `jobs` is what the model calls several of them.
    """
    if sys.stderr.isatty():  # whatever FORCE_COLOR makes rich believe
        with _bar(jobs) as observer:
            yield observer
    elif (shown := _below_the_cell()) is not None:
        yield lambda status: shown(_line(status, jobs))
        shown("")
    else:
        yield _log(jobs)


@contextmanager
def _bar(jobs: str) -> Iterator[Observer]:
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.completed:,}} {jobs}, simulated {{task.fields[simulated]}}, wall"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("cases", total=None, simulated="0 s", left="")

        def observe(status: Status) -> None:
            bar.update(
                task,
                description=f"{status.cases_done}/{status.cases} cases",
                total=status.jobs,
                completed=status.jobs_done,
                simulated=duration(status.simulated_ps),
                left="" if status.left_s is None else f"left {clock(status.left_s)}",
            )

        yield observe


def _below_the_cell() -> Callable[[str], None] | None:
    """What replaces a line below the cell that runs; None outside of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    display = import_module("IPython.display").display
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda line: handle.update({"text/plain": line}, raw=True)


def _log(jobs: str) -> Observer:
    last = time.monotonic()

    def observe(status: Status) -> None:
        nonlocal last
        if time.monotonic() >= last + LOGGED_EVERY_S:
            last = time.monotonic()
            sys.stderr.write(f"{_line(status, jobs)}\n")
            sys.stderr.flush()

    return observe


def _line(status: Status, jobs: str) -> str:
    left = "" if status.left_s is None else f", left {clock(status.left_s)}"
    return (
        f"{status.cases_done}/{status.cases} cases, {status.jobs_done:,} {jobs},"
        f" simulated {duration(status.simulated_ps)}{left}"
    )
