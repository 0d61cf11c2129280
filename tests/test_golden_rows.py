"""The rows of twelve studies of all models, by their hashes: a move of code changes none."""

import hashlib
import os
from pathlib import Path

import pyarrow.csv
import pytest

import sojourn
from conftest import TWO_RACKS
from sojourn.api.handles import Run

HERE = Path(__file__).parent
GOLDEN = HERE / "golden/rows.sha256"
BENCHMARKS = Path(sojourn.__file__).parent / "benchmarks/studies"

FLOWS = """\
[topology]
kind = "fat-tree"
k = 4

[workload]
kind = "csv"
file = "alone.csv"

[scheme]
name = "NDP"
"""

# Of each study what is changed, so that it takes seconds, and on how many threads it runs.
STUDIES = {
    "fabric/k6-pfabric": ({"workload.flows": 300}, 1),
    "fabric/k16-pfabric": ({"workload.flows": 200}, 2),
    "fabric/racks5-shared": ({"workload.flows": 200}, 1),
    "fabric/racks5-queries": ({"workload.queries": 30}, 1),
    "array/raid01-recursion": ({"workload.requests": 20_000}, 1),
    "array/raid01-events": ({"workload.requests": 5_000}, 1),
    "array/raid5-writes": ({"workload.requests": 5_000}, 1),
    "mail/what-if-internet": ({"list.messages": 5}, 1),
    "mail/what-if-office": ({"list.messages": 20}, 1),
}


def digest(run: Run) -> str:
    """Of all columns and their values, whatever the files' encoding."""
    text = pyarrow.BufferOutputStream()
    pyarrow.csv.write_csv(run.rows, text)
    return hashlib.sha256(text.getvalue()).hexdigest()


def golden() -> dict[str, str]:
    lines = (line.split() for line in GOLDEN.read_text().splitlines())
    return {name: value for value, name in lines}


def check(name: str, run: Run) -> None:
    assert run.rows.num_rows
    if os.environ.get("UPDATE_GOLDEN"):
        known = {**(golden() if GOLDEN.exists() else {}), name: digest(run)}
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text("".join(f"{known[key]}  {key}\n" for key in sorted(known)))
    assert digest(run) == golden()[name], (
        "rows are others: UPDATE_GOLDEN=1 where they are meant to be"
    )


@pytest.mark.parametrize("name", STUDIES)
def test_rows_are_those_that_they_were(name):
    overrides, threads = STUDIES[name]
    run = sojourn.run(BENCHMARKS / f"{name}.toml", overrides=overrides, threads=threads, seed=1)
    check(name, run)


def test_rows_of_disks_with_arms_and_platters_are_those_that_they_were():
    run = sojourn.run(
        "@zoned-raid/positioning",
        overrides={"workload.requests": 300},
        replications=1,
        seed=1,
    )
    check("array/positioning", run)


def test_rows_of_listed_flows_are_those_that_they_were(tmp_path):
    flows = "".join(
        f"{n % 16},{(5 * n + 3) % 16},{900 * n + 40},{7 * n}us\n" for n in range(1, 200)
    )
    (tmp_path / "alone.csv").write_text(f"src,dst,size_bytes,arrival\n{flows}")
    study = tmp_path / "listed.toml"
    study.write_text(FLOWS)
    check("fabric/listed-flows", sojourn.run(study, seed=1))


def test_estimated_rows_are_those_that_they_were(command, tmp_path):
    study, out = tmp_path / "racks.toml", tmp_path / "out"
    study.write_text(TWO_RACKS)
    assert command("estimate", study, "--out", out, "--force").code == 0
    check("fabric/estimate", Run.open(out))
