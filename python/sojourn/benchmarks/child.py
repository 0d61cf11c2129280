"""One benchmark in a separate process, whose peak memory is the benchmark's.

Reads `{"study", "source", "overrides", "figures", "begin"}` as JSON from standard input; prints
`{"counts", "cpu_s", "peak_mb"}`, the counts by figure. Imports nothing of sojourn but the engine.
"""

import json
import resource
import sys
import time
from pathlib import Path

from sojourn._core import Progress
from sojourn.execution import inputs


def main() -> None:
    """Run the study's first case once."""
    import numpy as np  # noqa: F401 - the engine would import it while it is timed

    task = json.load(sys.stdin)
    overrides = [(path, value) for path, value in task["overrides"]]
    case = inputs.study(task["study"], task["source"], overrides).cases()[0]
    if task["begin"]:
        begin = [(path, value) for path, value in task["begin"]]
        warm = inputs.study(task["study"], task["source"], begin).cases()[0]
        warm.run(0, Progress(), rows=False)
    start = time.thread_time()
    outcome = case.run(0, Progress(), rows=False)
    cpu_s = time.thread_time() - start
    known = {**outcome.figures, "jobs": case.jobs}
    counts = {figure: known[figure] for figure in task["figures"]}
    json.dump({"counts": counts, "cpu_s": cpu_s, "peak_mb": peak_bytes() / 1e6}, sys.stdout)


def peak_bytes() -> int:
    """The most memory this program held.

    Linux's `ru_maxrss` would not do: it starts from what the parent held when it forked.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
