# %% [markdown]
# # Your own congestion control in twenty lines
#
# A lecture as a script: run it with Python, or open it as a notebook with jupytext.
# A congestion controller is a class in a file. Here is one that looks at the delay, beside DCTCP,
# which looks at marks. The handbook's page *Your own congestion control in twenty lines* says more
# on each step.

# %%
import sys
from pathlib import Path

import numpy as np

import sojourn

Path("few_queued.py").write_text('''
"""Congestion control by delay, after TCP Vegas (Brakmo and Peterson, 1995)."""

from sojourn.control import Ack, Control


class FewQueued(Control):
    """Keeps few packets in queues, and counts them by the round trip."""

    queued: float = 3.0
    "Packets of a flow that may wait in queues."
    _base: int = 0  # shortest round trip so far
    _calm: int = 0  # the window shrinks no more before this packet is acknowledged

    def acked(self, ack: Ack) -> None:
        if ack.delay == 0:
            return
        if self._base == 0 or ack.delay < self._base:
            self._base = ack.delay
        waiting = self.cwnd * (ack.delay - self._base) / ack.delay
        if waiting <= self.queued:
            super().acked(ack)
        elif ack.snd_una >= self._calm:
            self.cwnd = max(self.cwnd - (waiting - self.queued), 1.0)
            self.ssthresh = max(self.cwnd, 2.0)
            self._calm = ack.snd_nxt + 1
''')
sys.path.insert(0, str(Path.cwd()))  # so that Python finds the file, too

# %% [markdown]
# ## Without a network
#
# The class is plain Python: give it ACKs by hand. With `cwnd` packets on the way and a round trip
# of `delay`, `cwnd * base / delay` packets are on the wires, and all others wait in a queue.
# *Exercise:* at which delay does a window of ten packets begin to shrink?

# %%
from few_queued import FewQueued  # noqa: E402

from sojourn.control import Ack, us  # noqa: E402

windows = []
for delay in range(20, 61, 4):
    flow = FewQueued(cwnd=10.0)
    flow.acked(Ack(delay=20 * us))
    flow.cwnd = 10.0
    flow.acked(Ack(delay=delay * us))
    windows.append(flow.cwnd)
    print(f"{delay} us: {flow.cwnd:5.2f} packets")
assert np.all(np.diff(windows) <= 0), "a longer queue leaves a smaller window"

# %% [markdown]
# ## Beside DCTCP
#
# Eight hosts on one switch, flows of a web search cluster. In a fair comparison one thing differs:
# the table `tcp` has the values of DCTCP. (`jobs=1` is for a script: several processes would each
# begin by running it.)

# %%
TCP = {
    "initial_window": 12,
    "abc_limit": "none",
    "min_rto": "200us",
    "initial_rto": "200us",
    "fast_retransmit": False,
}
MINE = {
    "name": "FewQueued",
    "queue": {"kind": "drop-tail", "buffer": "225KB"},
    "transport": {"kind": "python", "file": "few_queued.py", "tcp": TCP},
}
STUDY = {
    "title": "By delay or by marks?",
    "topology": {"kind": "single-switch", "hosts": 8},
    "workload": {"kind": "poisson", "sizes": "websearch", "load": 0.3, "flows": 8000},
    "scheme": MINE,
}

run = sojourn.run(STUDY, overrides={"sweep.scheme": ["DCTCP", MINE]}, jobs=1)
for estimate in run.summary():
    if estimate.metric == "slowdown":
        print(f"{estimate.case['scheme']:>10}, {estimate.bin}: mean slowdown {estimate.mean:.2f}")

# %% [markdown]
# ## Is it better?
#
# Both had the same flows, so the difference of each pair counts. The verdict names what is better,
# what is worse, and by how much, where the run is long enough for an interval.
# *Exercise:* say it in one sentence, without a number that has no interval.

# %%
pair = {"scheme": ("DCTCP", "FewQueued")}
(verdict,) = sojourn.compare(run, between=pair, metrics="slowdown", percentiles=99).verdicts
print(verdict.sentence)
assert verdict.outcome.value == "trade-off"

# %% [markdown]
# The picture has the share of flows up to each slowdown: the further left a curve, the quicker its
# flows.
# *Exercise:* where do the curves cross, and what does that say of the mean?

# %%
run.plot("cdf")

# %% [markdown]
# ## Its parameter
#
# A field without an underscore is a parameter: a study sweeps it as `scheme.transport.set` and its
# name.
# *Exercise:* which value would you take, and who pays for it?

# %%
queued = "scheme.transport.set.queued"
swept = sojourn.sweep(STUDY, {queued: [1, 3, 10], "workload.flows": [2000]}, jobs=1)
for estimate in swept.summary(by=["queued"]):
    if estimate.metric == "slowdown":
        print(f"{estimate.case['queued']:4.0f}, {estimate.bin}: mean slowdown {estimate.mean:.2f}")
