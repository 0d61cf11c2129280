"""Which cases of long tests a run takes: a seeded quarter of each, or all with `--full`.

A test marked `share` shows by many cases what one shows already: a truth, a property, a page. Of
the cases of each such function a run takes a quarter, at least one. A page or a file of tests that
the change touches is taken as a whole, and so is what the command line names.
"""

import os
import random
import shlex
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from changes import touched

ROOT = Path(__file__).parent.parent
SHARE = 4
# Cargo's properties take the same seed, so that one number repeats a whole run.
SEED = os.environ.get("PROPTEST_RNG_SEED", "1")


def examples(number: int) -> int:
    """How many of so many random examples a run draws that takes seconds for each."""
    given = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *sys.argv]
    return number if "--full" in given else -(-number // SHARE)


def choose(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests to run, in order, and those to leave out."""
    functions = defaultdict(list)
    for item in items:
        if item.get_closest_marker("share"):
            functions[item.nodeid.partition("[")[0]].append(item)
    changed = touched() if functions else set()
    left = set()
    for function, cases in functions.items():
        if function.partition("::")[0] in changed:
            continue
        draw = random.Random(f"{SEED} {function}")
        kept = set(draw.sample(range(len(cases)), -(-len(cases) // SHARE)))
        for number, case in enumerate(cases):
            if number not in kept and not is_of_a_page(case, changed):
                left.add(case)
    return [item for item in items if item not in left], [item for item in items if item in left]


def is_of_a_page(case: pytest.Item, changed: set[str]) -> bool:
    """Whether the case follows one of the changed pages."""
    callspec = getattr(case, "callspec", None)
    thread = callspec.params.get("thread", ()) if callspec else ()
    return any(str(page.relative_to(ROOT)) in changed for page in thread)
