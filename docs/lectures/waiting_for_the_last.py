# %% [markdown]
# # Waiting for the last one: forks, joins and tails
#
# A lecture as a script: run it with Python, or open it as a notebook with jupytext. A request that
# is served in parts is done when its slowest part is. This is why arrays have long tails, and why a
# query that asks a hundred servers feels the worst of each.

# %%
import numpy as np

import sojourn

STUDY = {
    "title": "Reads of whole stripes",
    "model": "array",
    "disk": "ST3500630NS",
    "layout": {"kind": "raid0", "disks": 2},
    "workload": {
        "kind": "synthetic",
        "arrivals": {"kind": "poisson", "rate": "0.002/ms"},
        "blocks": 2,
        "requests": 20_000,
    },
    "sweep": {"layout": [{"kind": "raid0", "disks": n} for n in (2, 4, 8, 16)]},
}


def of(run, statistic):
    """A statistic of the sojourn time of each case, in milliseconds."""
    found = [e for e in run.summary() if (e.bin, e.metric) == ("all", "sojourn_ps")]
    return np.array([e.flat()[statistic] for e in found]) / 1e9


# %% [markdown]
# ## The maximum of n
#
# At a load so low that no request waits, a read of two blocks over n disks takes as long as the
# slower of two positionings, whatever n is. A read of n blocks waits for the slowest of n.

# %%
two = of(sojourn.run(STUDY), "mean")
print("2 blocks on 2, 4, 8, 16 disks:", np.round(two, 2), "ms")
assert np.ptp(two) < 0.05 * two.mean()

whole = []
for disks in (2, 4, 8, 16):
    change = {"sweep.layout": [{"kind": "raid0", "disks": disks}], "workload.blocks": disks}
    whole.append(of(sojourn.run(STUDY, overrides=change), "mean")[0])
print("a block on each of 2, 4, 8, 16 disks:", np.round(whole, 2), "ms")
assert np.all(np.diff(whole) > 0)

# %% [markdown]
# It grows, but less and less: positioning has an upper end, and the slowest of many comes close to
# it. *Exercise:* with exponential times of mean 1 it would be `1 + 1/2 + ... + 1/n`. Why does that
# have no end?

# %% [markdown]
# ## Under load
#
# More disks for each request mean more work for all of them: every disk takes part in every
# request. What a fork gains alone, it pays for when the disks are busy.

# %%
wide = {"layout": {"kind": "raid0", "disks": 8}, "workload.blocks": 8}
rates = {"sweep": {"workload.arrivals.rate": ["0.002/ms", "0.02/ms", "0.04/ms"]}}
study = {name: part for name, part in STUDY.items() if name != "sweep"} | rates
forks = sojourn.run(study, overrides=wide, replications=3)
print("mean at 2, 20, 40 requests/s:", np.round(of(forks, "mean"), 1), "ms")
print("p99  at 2, 20, 40 requests/s:", np.round(of(forks, "p99"), 1), "ms")
assert of(forks, "mean")[-1] > 1.5 * of(forks, "mean")[0]

# %% [markdown]
# ## What a customer of many servers sees
#
# If one server in a hundred answers late, then of the queries that ask a hundred servers
# `1 - 0.99^100`, which is 63 %, are late. The 99th percentile of a server is the median of its
# customers.

# %%
late = 1 - 0.99 ** np.array([1, 10, 100])
print("late of those that ask 1, 10, 100 servers:", [f"{share:.0%}" for share in late])
assert round(late[-1], 2) == 0.63
