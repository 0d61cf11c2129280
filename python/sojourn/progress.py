"""The progress of a run on a terminal's standard error; nothing anywhere else."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sojourn.execute import Observer, Status
from sojourn.units import clock, duration


@contextmanager
def reporter(jobs: str) -> Iterator[Observer | None]:
    """An observer that draws a bar: cases and jobs done, simulated and wall time, time left.

    None where standard error is not a terminal. `jobs` is what the model calls several of them.
    """
    if not sys.stderr.isatty():  # whatever FORCE_COLOR makes rich believe
        yield None
        return
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
