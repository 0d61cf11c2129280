"""One rank of Open MPI: computes, takes part in a collective, and does so again.

A program of its own, which mpirun starts in a host's namespace. The first rank prints when each
rank began and ended each collective, in nanoseconds of the machine's clock, as JSON: a list of
ranks, each of iterations.
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI


def main(collective: str, size: int, iterations: int, compute_s: float) -> None:
    """Wait and take part in a collective of a buffer of `size` bytes, so many times."""
    world = MPI.COMM_WORLD
    act = _action(collective, size)
    times = []
    world.Barrier()
    for _ in range(iterations):
        # In place of computing, which would take the processor from the ranks that send.
        time.sleep(compute_s)
        began = time.monotonic_ns()
        act()
        times.append((began, time.monotonic_ns()))
    gathered = world.gather(times)
    if gathered is not None:
        json.dump(gathered, sys.stdout)


def _action(collective: str, size: int) -> Callable[[], object]:
    world = MPI.COMM_WORLD
    rank, ranks = world.Get_rank(), world.Get_size()
    counts = [size // ranks + (place < size % ranks) for place in range(ranks)]
    starts = [sum(counts[:place]) for place in range(ranks)]
    own, whole, other = (np.zeros(n, np.uint8) for n in (counts[rank], size, size))
    if collective in {"ring-all-reduce", "halving-doubling-all-reduce"}:
        return lambda: world.Allreduce([whole, MPI.BYTE], [other, MPI.BYTE], MPI.BOR)
    if collective == "ring-all-gather":
        return lambda: world.Allgatherv([own, MPI.BYTE], [whole, counts, starts, MPI.BYTE])
    if collective == "ring-reduce-scatter":
        return lambda: world.Reduce_scatter([whole, MPI.BYTE], [own, MPI.BYTE], counts, MPI.BOR)
    if collective == "binomial-broadcast":
        return lambda: world.Bcast([whole, MPI.BYTE])
    if collective == "all-to-all":
        received = np.zeros(counts[rank] * ranks, np.uint8)
        sent = [whole, counts, starts, MPI.BYTE]
        coming = [counts[rank]] * ranks
        places = [counts[rank] * place for place in range(ranks)]
        return lambda: world.Alltoallv(sent, [received, coming, places, MPI.BYTE])
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    return lambda: world.Sendrecv(
        [whole, MPI.BYTE], after, recvbuf=[other, MPI.BYTE], source=before
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
