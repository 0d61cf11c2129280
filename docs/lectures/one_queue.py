# %% [markdown]
# # One queue: load, variance, and how long to simulate
#
# A lecture as a script: run it with Python, or open it as a notebook with jupytext.
# One disk serves requests that come at random. What is their response time, how does it grow with
# the load, and when may one believe a simulation of it?

# %%
import numpy as np

import sojourn

STUDY = {
    "title": "One disk",
    "model": "array",
    "disk": "ST3500630NS",
    "layout": "single",
    "workload": {
        "kind": "synthetic",
        "arrivals": {"kind": "poisson", "rate": "0.01/ms"},
        "blocks": 1,
        "requests": 20_000,
    },
    "sweep": {"workload.arrivals.rate": ["0.01/ms", "0.03/ms", "0.05/ms", "0.06/ms"]},
}


def mean_ms(estimate):
    """The mean of an estimate and half of its interval, in milliseconds."""
    low, high = estimate.ci95
    return estimate.mean / 1e9, (high - low) / 2e9


def sojourns(run):
    """The estimate of the sojourn time of all requests, for each case."""
    return [e for e in run.summary() if (e.bin, e.metric) == ("all", "sojourn_ps")]


# %% [markdown]
# ## The load
#
# Pollaczek and Khinchine's formula says what the mean must be, for any distribution of the service
# time: the wait is `rate * E[S^2] / (2 (1 - rho))`. The last column is that formula's.

# %%
run = sojourn.run(STUDY, replications=5)
exact = [record.figures["exact_mean_sojourn_ps"] / 1e9 for record in run.ledger][::5]
for estimate, formula in zip(sojourns(run), exact, strict=True):
    mean, half = mean_ms(estimate)
    print(f"{estimate.case['rate']:>8}: {mean:6.2f} ± {half:.2f} ms, exact {formula:6.2f} ms")

# %% [markdown]
# From 10 to 60 requests a second the mean grows several times over, and most of that between the
# last two: the factor is `1 / (1 - rho)`. *Exercise:* where is it twice the service time?

# %%
growth = np.diff([estimate.mean for estimate in sojourns(run)])
assert np.all(np.diff(growth) > 0), "the curve is convex"

# %% [markdown]
# ## How long to simulate
#
# Twenty thousand requests are many at a low load. At a high one, requests that came close together
# waited in the same busy period, so that they say the same thing again and again: the interval is
# wider although there are as many of them. (Five intervals of one study are not always right: one
# in twenty is to miss. *Exercise:* which of the above do?)

# %%
relative = [half / mean for mean, half in map(mean_ms, sojourns(run))]
print("relative half widths:", ", ".join(f"{share:.1%}" for share in relative))
assert relative[-1] > relative[0]

# %% [markdown]
# So one does not choose a length and hope; one asks for a precision, and lets the load decide.

# %%
known = sojourn.run(STUDY, precision="5%")
for case, estimate in enumerate(sojourns(known)):
    number = sum(record.case == case for record in known.ledger)
    print(f"{estimate.case['rate']:>8}: {number} replications")

# %% [markdown]
# ## Beyond the capacity
#
# With more work than the disk can do there is no mean to be found, and an interval around one is
# worth nothing: the longer the run, the larger the number. The summary says so.

# %%
over = sojourn.run(STUDY, overrides={"sweep.workload.arrivals.rate": ["0.1/ms"]})
for line in over.summary().cautions:
    print("caution:", line)
assert any("longer and longer" in line for line in over.summary().cautions)
