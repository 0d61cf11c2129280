"""The progress of a run on a terminal's standard error; nothing anywhere else."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from sojourn.execute import Observer, Status
from sojourn.units import duration


@contextmanager
def reporter() -> Iterator[Observer | None]:
    """An observer that draws a bar: cases done, simulated and wall time, time left.

    None where standard error is not a terminal.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("simulated {task.fields[simulated]}, wall"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bar:
        task = bar.add_task("cases", total=None, simulated="0 s")

        def observe(status: Status) -> None:
            bar.update(
                task,
                description=f"{status.cases_done}/{status.cases} cases",
                total=status.jobs,
                completed=status.jobs_done,
                simulated=duration(status.simulated_ps),
            )

        yield observe
