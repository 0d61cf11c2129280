"""An array of disks in SimPy, as its users write it: a resource a disk, a process an access.

Reads the array as JSON (`array.py` says which keys). Prints `{"units", "finished", "mean_ps",
"cpu_s", "peak_mb"}`.
"""

import json
import random
import sys
import time
from typing import Any

import simpy

from peers.zoned_disk import ZonedDisk
from sojourn.benchmarks.child import peak_bytes


def access(env: Any, disk: Any, law: ZonedDisk) -> Any:
    """Waits for its disk and is served."""
    with disk.request() as turn:
        yield turn
        yield env.timeout(law.access())


def request(env: Any, disks: list[Any], law: ZonedDisk, times: list[float]) -> Any:
    """One access to each disk, done when the last of them is."""
    arrived = env.now
    yield env.all_of([env.process(access(env, disk, law)) for disk in disks])
    times.append(env.now - arrived)


def source(env: Any, disks: list[Any], law: ZonedDisk, about: dict[str, Any], times: Any) -> Any:
    """Requests as a Poisson process."""
    for _ in range(about["requests"]):
        yield env.timeout(law.chance.expovariate(1 / about["gap"]))
        env.process(request(env, disks, law, times))


def main() -> None:
    """Simulate what standard input says."""
    about = json.load(sys.stdin)
    law = ZonedDisk(about, random.Random(1))
    env = simpy.Environment()
    disks = [simpy.Resource(env) for _ in range(about["disks"])]
    times: list[float] = []
    env.process(source(env, disks, law, about, times))
    begun = time.process_time()
    env.run()
    cpu_s = time.process_time() - begun
    said = {
        "units": about["requests"],
        "finished": len(times),
        "mean_ps": sum(times) / len(times) * 1e9,
        "cpu_s": cpu_s,
        "peak_mb": peak_bytes() / 1e6,
    }
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
