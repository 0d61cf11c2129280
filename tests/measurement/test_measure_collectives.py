"""Collectives of Open MPI over the kernel's own TCP."""

import importlib.util
import shutil

import numpy as np
import pytest

import sojourn
from sojourn.store import rows
from two_servers import needs_namespaces

pytestmark = pytest.mark.alone

STUDY = """\
title = "four ranks"
scheme = "Linux CUBIC"
completion = "receiver"
drain = "60s"
topology = { kind = "single-switch", hosts = 4, rate = "100Mbps", delay = "20us" }
[workload]
kind = "collective"
collective = { kind = "ring-all-reduce", pieces = 1 }
size = "1MB"
iterations = 3
compute = "10ms"
"""
needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
    reason="Open MPI (openmpi-bin) or mpi4py is missing",
)


def written(tmp_path, text=STUDY):
    path = tmp_path / "four.toml"
    path.write_text(text)
    return path


@needs_namespaces
@needs_mpi
@pytest.mark.parametrize(
    ("collective", "share"),
    [
        ('{ kind = "ring-all-reduce", pieces = 1 }', 1.5),
        ('{ kind = "halving-doubling-all-reduce" }', 1.5),
        ('{ kind = "ring-all-gather", pieces = 1 }', 0.75),
        ('{ kind = "ring-reduce-scatter", pieces = 1 }', 0.75),
        ('{ kind = "binomial-broadcast" }', 2),
        ('{ kind = "all-to-all" }', 0.75),
        ('{ kind = "send-receive" }', 1),
    ],
)
def test_collectives_take_at_least_what_their_bytes_take(tmp_path, command, collective, share):
    """A rank's link at 100 Mb/s carries `share` of the 1 MB, headers not counted."""
    study = written(tmp_path, STUDY.replace('{ kind = "ring-all-reduce", pieces = 1 }', collective))
    done = command("measure", "fabric", study, "--out", tmp_path / "kernel")
    assert done.code == 0, done.err
    (path,) = (tmp_path / "kernel/rows").glob("*.parquet")
    names = ["kind", "arrived_ps", "joined_ps", "finished_ps", "bus_bps", "rank"]
    found = rows.read(path, names).to_pydict()
    assert found["kind"] == ["collective"] * 3 + ["iteration"]
    joined, finished = (np.array(found[name][:3]) for name in ("joined_ps", "finished_ps"))
    least_ps = share * 8e6 / 100e6 * 1e12
    assert (finished - joined > 0.95 * least_ps).all(), (finished - joined) / least_ps
    assert (np.diff(finished) > 0).all()
    assert found["arrived_ps"][0] == 10_000_000_000
    assert found["finished_ps"][3] == max(found["finished_ps"])
    assert all(0 <= rank < 4 for rank in found["rank"][:3])
    run = sojourn.load(tmp_path / "kernel")
    assert "bus bandwidth" in str(run.summary())


@needs_namespaces
@needs_mpi
def test_what_was_measured_stands_beside_the_simulation(tmp_path, command):
    study = written(tmp_path)
    assert command("measure", "fabric", study, "--out", tmp_path / "kernel").code == 0
    assert command("run", study, "--out", tmp_path / "simulated").code == 0
    compared = command("compare", tmp_path / "kernel", tmp_path / "simulated")
    assert compared.code == 0, compared.err
    assert "bus bandwidth" in compared.out


@needs_namespaces
@needs_mpi
def test_collectives_that_do_not_end_are_ended(tmp_path, command):
    study = written(tmp_path, STUDY.replace('"60s"', '"1s"').replace('"1MB"', '"100MB"'))
    done = command("measure", "fabric", study, "--out", tmp_path / "kernel")
    assert done.code == 2
    assert "the collectives are not over after 1 s, the study's drain" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pieces = 1", "pieces = 4", "workload.collective.pieces = 4, expected 1"),
        (
            '"ring-all-reduce", pieces = 1',
            '"double-tree-all-reduce"',
            'workload.collective.kind = "double-tree-all-reduce", expected one of ring-all-reduce,',
        ),
        ('"receiver"', '"sender"', 'completion = "sender", expected "receiver"'),
    ],
)
def test_what_open_mpi_does_not_have_is_refused(tmp_path, command, old, new, message):
    study = written(tmp_path, STUDY.replace(old, new))
    done = command("measure", "fabric", study, "--out", tmp_path / "kernel")
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
