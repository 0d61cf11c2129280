"""The same array: RAID 01 and reads of a whole stripe, one block from each disk.

`simpy_array.py` needs SimPy, `ciw_array.py` Ciw. All draw their own arrivals and services, from the
laws of the paper's section 2, each by a way of its own: the programs draw whole cylinders.
"""

import json

import numpy as np

from peers.simulator import Outcome, Simulator, in_python
from sojourn._core import Progress, quantity
from sojourn.execution import inputs

# The benchmark that all of them can do, and as many of its requests as they do in a while.
CASE = "raid01-events"
REQUESTS = 10_000

_MS_PS = 10**9


def simulators() -> list[Simulator]:
    """All of them, those that lack something too."""
    return [in_python("SimPy", "simpy", "simpy_array"), in_python("Ciw", "ciw", "ciw_array")]


def task(study: str, requests: int = REQUESTS) -> tuple[str, Outcome]:
    """The array of `study`'s first case, as the others read it, in milliseconds.

    With it comes what this project's engine does with it, without its costs.
    """
    given = [("workload.requests", str(requests)), ("workload.warmup", "0")]
    case = inputs.study(study, CASE, given).cases()[0]
    about = case.parameters

    def ms(name: str) -> float:
        return quantity(str(about[f"disk.{name}"])) / _MS_PS

    reads = {
        "disks": about["layout.disks"],
        "requests": requests,
        "gap": 1000 / float(str(about["workload.arrivals.rate"]).removesuffix("/s")),
        "cylinders": about["disk.cylinders"],
        "rotation": ms("rotation"),
        "track_seek": ms("read_track_seek"),
        "full_seek": ms("read_full_seek"),
        "outer_sector": ms("outer_track"),
        "inner_sector": ms("inner_track"),
        "sectors": quantity(str(about["block"])) / quantity(str(about["disk.sector"])),
    }
    sojourn = np.asarray(case.run(0, Progress()).columns["sojourn_ps"])
    return json.dumps(reads), Outcome(requests, requests, float(sojourn.mean()), 0.0, 0.0)
