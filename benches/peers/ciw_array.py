"""An array of disks in Ciw, as its users write it: a network of nodes that nobody moves between.

Ciw does not fork. So every disk is given the same arrivals, and the accesses of a request are put
together afterwards, from the records. Reads and prints what `simpy_array.py` does.
"""

import json
import random
import sys
import time
from typing import Any

import ciw

from peers.zoned_disk import ZonedDisk
from sojourn.benchmarks.child import peak_bytes


class Access(ciw.dists.Distribution):  # type: ignore[misc]
    """The law of a disk's services."""

    def __init__(self, law: ZonedDisk) -> None:
        self.law = law

    def sample(self, t: float | None = None, ind: Any = None) -> float:  # noqa: ARG002
        """The next service."""
        return self.law.access()


def main() -> None:
    """Simulate what standard input says."""
    about = json.load(sys.stdin)
    ciw.seed(1)
    disks, requests = about["disks"], about["requests"]
    arrivals = random.Random(1)
    # a law a disk: Ciw copies what it is given, its random numbers too
    laws = [ZonedDisk(about, random.Random(2 + disk)) for disk in range(disks)]
    gaps = [arrivals.expovariate(1 / about["gap"]) for _ in range(requests)]
    # what follows the last of them never comes
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*gaps, float("inf")]) for _ in range(disks)],
        service_distributions=[Access(law) for law in laws],
        number_of_servers=[1] * disks,
        routing=[[0.0] * disks for _ in range(disks)],
    )
    simulation = ciw.Simulation(network)
    begun = time.process_time()
    simulation.simulate_until_max_customers(disks * requests, method="Finish")
    cpu_s = time.process_time() - begun
    by_disk: list[list[Any]] = [[] for _ in range(disks)]
    for record in simulation.get_all_records():
        by_disk[record.node - 1].append((record.arrival_date, record.exit_date))
    times = [
        max(end for _, end in accesses) - accesses[0][0]
        for accesses in zip(*map(sorted, by_disk), strict=True)
    ]
    said = {
        "units": requests,
        "finished": len(times),
        "mean_ps": sum(times) / len(times) * 1e9,
        "cpu_s": cpu_s,
        "peak_mb": peak_bytes() / 1e6,
    }
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
