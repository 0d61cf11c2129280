"""Flows that end over Linux's own TCP and over the simulator's: how long they take, what times out.

Each scenario is ten incasts, three seconds apart, of flows into one slow port. `--measure` has the
kernel of this machine do them too, half a minute each, and writes what it did to `measured.json`,
which tests hold the simulator against. It needs root and a quiet machine.
"""

import argparse
import json
import platform
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import numpy as np
import pyarrow as pa

import sojourn
from sojourn._internal.units import PS_PER_MS

MEASURED = Path(__file__).parent / "measured.json"
ROUNDS, EVERY_US, SPREAD_US = 10, 3_000_000, 10_000
# Links of hosts are quick: a token bucket lets a first window pass at once. Hosts answer at once,
# as those in namespaces do: the default would have the slow port's host take up to 0.6 ms.
_STUDY = """\
title = "{self}"
completion = "sender"
[topology]
kind = "single-switch"
hosts = {hosts}
rate = "10Gbps"
uplink = "20Mbps"
[hosts]
overhead = 0.0
[workload]
kind = "csv"
file = "flows.csv"
[scheme]
name = "Linux {control}"
queue = {{ kind = "drop-tail", buffer = "45KB" }}
"""


_UNDER = "scheme.transport."
# What takes one mechanism away, and what cannot be without it.
_MECHANISMS: dict[str | None, dict[str, object]] = {
    "rack": {
        f"{_UNDER}{name}": False for name in ("rack", "tail_loss_probe", "prr", "f_rto", "hystart")
    },
    "tail_loss_probe": {f"{_UNDER}tail_loss_probe": False},
    "prr": {f"{_UNDER}prr": False},
    "f_rto": {f"{_UNDER}f_rto": False},
    "hystart": {f"{_UNDER}hystart": False},
    "timeout_rule": {f"{_UNDER}timeout_rule": "rfc6298"},
    "known_round_trip": {f"{_UNDER}known_round_trip": False},
    "clock_tick": {f"{_UNDER}clock_tick": "none"},
}


@dataclass(frozen=True)
class Scenario:
    """So many flows of a size, in KB, under a control, into one port at about the same time."""

    senders: int
    size: int
    control: str

    def __str__(self) -> str:
        return f"{self.senders} x {self.size} KB, {self.control}"

    def write(self, folder: Path) -> Path:
        """Its study, and the list of its flows beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        draw = random.Random(1000 + self.senders * 100 + self.size)
        starts = sorted(
            (number * EVERY_US + draw.randrange(SPREAD_US), sender)
            for number in range(ROUNDS)
            for sender in range(self.senders)
        )
        lines = [f"{host},{self.senders},{self.size}000,{at}us\n" for at, host in starts]
        (folder / "flows.csv").write_text("src,dst,size_bytes,arrival\n" + "".join(lines))
        study = folder / "study.toml"
        text = _STUDY.format(self=self, hosts=self.senders + 1, control=self.control)
        study.write_text(text, encoding="utf-8")
        return study


SCENARIOS = [
    Scenario(senders, size, control)
    for control, smallest in (("CUBIC", 4), ("Reno", 8))
    for senders in (4, 8, 16, 32)
    for size in (32, 64)
    if senders >= smallest
]


def without(mechanism: str | None, scenario: Scenario) -> dict[str, object]:
    """What takes a mechanism away from the hosts of a scenario."""
    of_cubic = f"{_UNDER}hystart"
    off = _MECHANISMS.get(mechanism, {})
    return {
        key: value for key, value in off.items() if scenario.control == "CUBIC" or key != of_cubic
    }


def figures(rows: pa.Table) -> dict[str, float]:
    """Completion times in ms, and shares of flows with time-outs, in percent."""
    took = rows["sojourn_ps"].drop_null().to_numpy() / PS_PER_MS
    timeouts = rows["timeouts"].to_numpy()
    return {
        "mean": float(took.mean()),
        **{f"p{share}": float(np.percentile(took, share)) for share in (50, 95, 99)},
        "one": float((timeouts >= 1).mean() * 100),
        "two": float((timeouts >= 2).mean() * 100),
    }


def simulated(
    scenario: Scenario, folder: Path, overrides: Mapping[str, object] | None = None
) -> dict[str, float]:
    """What the simulator makes of it."""
    return figures(sojourn.run(scenario.write(folder), overrides=overrides).rows)


def measured(scenario: Scenario, folder: Path, replications: int) -> list[dict[str, float]]:
    """What this machine's kernel makes of it, each time.

    Raises:
        SystemExit: it cannot be measured.
    """
    study, out = scenario.write(folder), folder / "measured"
    command = [sys.executable, "-m", "sojourn", "measure", "fabric", str(study), "--quiet"]
    command += ["--replications", str(replications), "--out", str(out)]
    if subprocess.run(command, check=False).returncode:
        sys.exit(2)
    rows = sojourn.load(out).rows
    numbers = rows["replication"].to_numpy()
    return [figures(rows.filter(pa.array(numbers == number))) for number in range(replications)]


def lines(scenario: str, kernel: list[dict[str, float]], model: dict[str, float]) -> Iterator[str]:
    """A line of the table for each."""
    names = ("mean", "p50", "p95", "p99", "one", "two")
    for who, what in (*(("kernel", run) for run in kernel), ("simulator", model)):
        yield f"{scenario:18} {who:10}" + "".join(f"{what[name]:8.1f}" for name in names)


def main() -> None:
    """Simulate all scenarios, measure them if asked, and print both side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=int, metavar="N", help="measure each so many times")
    parser.add_argument("--out", type=Path, default=Path("out/linux-hosts"))
    parser.add_argument("--without", choices=[*_MECHANISMS], help="simulate without one mechanism")
    asked = parser.parse_args()
    kept = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    runs: dict[str, list[dict[str, float]]] = kept.get("runs", {})
    for scenario in SCENARIOS:
        folder = asked.out / str(scenario).replace(" ", "").replace(",", "-")
        if asked.measure:
            runs[str(scenario)] = measured(scenario, folder, asked.measure)
        model = simulated(scenario, folder, without(asked.without, scenario))
        for line in lines(str(scenario), runs.get(str(scenario), []), model):
            click.echo(line)
    if asked.measure:
        today = datetime.now(UTC).date().isoformat()
        about = {"kernel": platform.release().partition("-")[0], "date": today}
        text = json.dumps({**about, "runs": runs}, indent=1)
        MEASURED.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
