"""How a user wants cases to be run, and the place that this comes to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn._internal.errors import InputError
from sojourn.execution.execute import Threads, processors

if TYPE_CHECKING:
    from sojourn.execution.dask import Cluster

_MOST_JOBS = 1024
_MOST_THREADS = 64


@dataclass(frozen=True)
class Execution:
    """How cases are run. The rows are the same however that is.

    Attributes:
        jobs: cases at a time; as many as there are processors for where it is None. More than that
            take memory and end no sooner.
        threads: how many a case may have, where packets cross a fabric; other models take one. More
            than there are processors for wait for each other.
        scheduler: the address of a Dask scheduler, whose workers take the place of this machine.

    Raises:
        InputError: a number is out of range; several threads a case on a cluster.
    """

    jobs: int | None = None
    threads: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.threads, int) and 1 <= self.threads <= _MOST_THREADS):
            expected = f"expected 1 to {_MOST_THREADS} for a case"
            raise InputError(f"threads is {self.threads!r}, {expected}")
        if not (isinstance(self.at_a_time, int) and 1 <= self.at_a_time <= _MOST_JOBS):
            expected = f"expected 1 to {_MOST_JOBS:,} cases at a time"
            raise InputError(f"jobs is {self.jobs!r}, {expected}")
        if self.scheduler is not None and self.threads > 1:
            expected = "expected 1 on a cluster: a worker has its own"
            raise InputError(f"threads is {self.threads}, {expected}")

    @property
    def at_a_time(self) -> int:
        """How many cases run at a time on this machine."""
        return max(processors() // self.threads, 1) if self.jobs is None else self.jobs

    def place(self, study: str, *, apart: bool = False) -> "Threads | Cluster":
        """Where the cases of a resolved study run.

        That is on threads here, `apart` in processes, or on the workers of the cluster.

        Raises:
            InputError: there is no cluster.
        """
        if self.scheduler is not None:
            from sojourn.execution.dask import Cluster, reach

            reach(self.scheduler)
            return Cluster(self.scheduler, study)
        if apart:
            from sojourn.execution.processes import Processes

            return Processes(self.at_a_time)
        # A side of a fabric that waits for a processor has all others wait.
        each = max(min(self.threads, processors() // self.at_a_time), 1)
        return Threads(self.at_a_time, each)
