"""An all-to-all, as experts on many GPUs exchange: each host sends to every other one at once."""

import numpy as np


def all_to_all(hosts, _rates, _random, size=64_000):
    """The flows of every host, to the next host first."""
    src = np.repeat(np.arange(hosts), hosts - 1)
    step = np.tile(np.arange(1, hosts), hosts)
    return {
        "src": src,
        "dst": (src + step) % hosts,
        "size_bytes": np.full(src.size, size),
        "arrival_s": np.zeros(src.size),
    }
