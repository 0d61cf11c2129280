"""Figures that are older than the engine they speak of: `make figures`.

Every run in docs/results has the commit that it was measured at. Its rows are those of today if the
golden rows of its model are (tests/golden/rows.sha256). So a run is named here

- if a golden row of its model has changed since, or was not kept yet at its commit;
- if it is a time of a benchmark, and the engine has changed since.

A line has the place that quotes the run, its table and name, its commit, and the reason. Decisions
quote figures in prose, each with its commit or date, and are not looked at.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache

from measured import segments
from results import ROOT, Results, full_names, pages, tables

GOLDEN = "tests/golden/rows.sha256"

# What the runs of a table are about; those of all other tables are about any model.
MODELS = {
    "fabric": {
        *("add-a-transport", "big-buffers", "deadlines-and-classes", "do-i-need-aqm"),
        *("do-i-need-deep-buffers", "do-i-need-pfabric", "estimate-a-large-fabric", "linux-tcp"),
        *("measure-fabric", "own-scheme", "pfabric", "tutorial", "ultra-ethernet"),
        *("what-would-a-faster-fabric-buy-for-training", "which-transport-for-an-ai-fabric"),
    },
    "array": {"measure-array", "what-p99-will-this-array-give", "zoned-raid"},
    "mail": {"sendmail", "why-does-my-list-take-five-hours"},
}
SOURCES = {
    "fabric": ("crates/core/src", "crates/fabric/src", "crates/training/src"),
    "array": ("crates/core/src", "crates/array/src"),
    "mail": ("crates/core/src", "crates/list-server/engine/src", "crates/list-server/model/src"),
}


def models_of(table: str) -> list[str]:
    """The models that the runs of a table may be about."""
    return [own for own, named in MODELS.items() if table in named] or [*MODELS]


def changed(then: Mapping[str, str], now: Mapping[str, str], models: list[str]) -> str:
    """Why rows of these models may differ from those of then; empty where they do not."""
    own = {name for name in now if name.partition("/")[0] in models}
    if not then:
        return "before golden rows were kept"
    other = sorted(name for name in own if then.get(name, now[name]) != now[name])
    return f"rows have changed since: {', '.join(other)}" if other else ""


def golden(text: str) -> dict[str, str]:
    """The hashes of golden rows, by study."""
    return {name: digest for digest, name in (line.split() for line in text.splitlines())}


@cache
def golden_at(commit: str) -> dict[str, str] | None:
    """The golden rows of a commit; None where there is no such commit."""
    if _git("cat-file", "-e", f"{commit}^{{commit}}") is None:
        return None
    return golden(_git("show", f"{commit}:{GOLDEN}") or "")


def why_old(run: Mapping[str, object], table: str) -> str:
    """Why a run is older than its engine; empty where it is not."""
    commit, models = str(run["commit"]), models_of(table)
    then = golden_at(commit)
    if then is None:
        return "no such commit here"
    if str(run["command"]).startswith(("sojourn bench", "make bench")):
        named = [own for own in models if own in str(run["command"])] or models
        sources = [source for own in named for source in SOURCES[own]]
        since = (_git("log", "--oneline", f"{commit}..HEAD", "--", *sources) or "").splitlines()
        return f"a time, and {len(since)} commits to the engine since" if since else ""
    return changed(then, golden((ROOT / GOLDEN).read_text()), models)


def old() -> Iterator[str]:
    """A line for each place that quotes a run which is older than its engine."""
    results = Results.read(tables(ROOT))
    for page in pages(ROOT):
        text, told = page.read_text(), set[str]()
        for segment in segments(page, text):
            for name in dict.fromkeys(row.partition(".")[0] for row in full_names(segment)):
                run = results.runs.get(name)
                reason = why_old(run, name.partition("/")[0]) if run else ""
                if run and reason and name not in told:
                    told.add(name)
                    line = text.count("\n", 0, segment.start) + 1
                    where = page.relative_to(ROOT).as_posix()
                    yield f"{where}:{line}: {name} ({run['commit']}): {reason}"


def _git(*words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def main() -> None:
    """Print the lines, and how many there are."""
    found = [*old()]
    sys.stdout.writelines(f"{line}\n" for line in found)
    number = len(Results.read(tables(ROOT)).runs)
    sys.stdout.write(f"{len(found)} quotations of {number} runs are older than their engine\n")


if __name__ == "__main__":
    main()
