"""What `show` says of flows that do not end: how much of each was received."""

import numpy as np

import sojourn

ENDLESS = """\
scheme = "DCTCP"
drain = "5ms"
[topology]
kind = "single-switch"
hosts = 9
[workload]
kind = "csv"
file = "flows.csv"
"""


def test_flows_that_never_end_say_what_they_got(tmp_path, command):
    lines = [f"{source},8,1000000000000,0.1" for source in range(8)]
    (tmp_path / "flows.csv").write_text("src,dst,size_bytes,arrival_s\n" + "\n".join(lines) + "\n")
    study = tmp_path / "endless.toml"
    study.write_text(ENDLESS)
    assert command("run", study, "--out", tmp_path / "out").code == 0
    run = sojourn.Run.open(tmp_path / "out")
    rows = run.rows.to_pandas()
    assert rows.finished_ps.isna().all()
    received = rows.received_bytes.to_numpy()
    # Five milliseconds of a link of 10 Gb/s, all full packets.
    assert 0.9 * 6.25e6 * 1460 / 1500 < received.sum() < 6.25e6 * 1460 / 1500
    assert (rows.acknowledged_bytes <= rows.received_bytes).all()
    found = command("show", tmp_path / "out", "--json").document[0]["received_of_unfinished"]
    assert (found["n"], found["mean"]) == (8, received.mean())
    assert (found["min"], found["max"]) == (received.min(), received.max())
    assert found["p50"] == np.median(received)
    assert found["share"] == received.sum() / 8e12
    shown = command("show", tmp_path / "out").out
    assert "received, mean [MB]" in shown
    assert f"{received.mean() / 1e6:.4g}" in shown


def test_finished_flows_have_no_such_table(simulated, command):
    assert "received" not in command("show", simulated.path).out
    assert "received_bytes" not in simulated.rows.column_names
    first = command("show", simulated.path, "--json").document[0]
    assert "received_of_unfinished" not in first
