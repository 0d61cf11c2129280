"""A run whose ports stop each other for ever says why, and ends with exit code 1."""

import json

SWITCHES = 5
STUDY = """\
[topology]
kind = "graph"
rate = "100Gbps"
delay = "1us"
switches = [{names}]
hosts = [{hosts}]
links = [{links}]
[scheme]
name = "RoCE PFC only"
[workload]
kind = "csv"
file = "flows.csv"
"""


def ring(path, bytes_each):
    """Five switches in a ring, each of whose hosts sends two switches on."""
    text = STUDY.format(
        names=", ".join(f'"s{nth}"' for nth in range(SWITCHES)),
        hosts=", ".join(f'{{ switch = "s{nth}" }}' for nth in range(SWITCHES)),
        links=", ".join(
            f'{{ from = "s{nth}", to = "s{(nth + 1) % SWITCHES}" }}' for nth in range(SWITCHES)
        ),
    )
    study = path / "ring.toml"
    study.write_text('drain = "20ms"\n' + text)
    lines = [f"{nth},{(nth + 2) % SWITCHES},{bytes_each},0us" for nth in range(SWITCHES)]
    (path / "flows.csv").write_text("\n".join(["src,dst,size_bytes,arrival", *lines]) + "\n")
    return study


def test_a_deadlock_ends_the_command_with_exit_code_1(command, tmp_path):
    study, out = ring(tmp_path, 1_000_000), tmp_path / "run"
    result = command("run", study, "--out", out)
    assert result.code == 1
    (caution,) = (line for line in result.out.splitlines() if line.startswith("caution: "))
    assert "switch 0 -> 1 -> 2 -> 3 -> 4 -> 0" in caution
    assert "behind them wait host 0, host 1, host 2, host 3, host 4" in caution
    # The run is whole: it is shown, with the caution, and repeating the command finds the same.
    shown = command("show", out)
    assert shown.code == 0
    assert caution.removeprefix("caution: ") in shown.out
    again = command("run", study, "--out", out, "--json")
    assert again.code == 1
    assert json.loads(again.out)["run"] == str(out)


def test_a_run_that_ends_well_has_exit_code_0(command, tmp_path):
    study = ring(tmp_path, 10_000)
    assert command("run", study, "--out", tmp_path / "run").code == 0
