"""Flows that end over Linux's own TCP and over the simulator's: how long they take, what times out.

Most scenarios are ten incasts, three seconds apart, of flows into one slow port. `--measure` has
the kernel of this machine do them too, half a minute each, and writes what it did to
`measured.json`, which tests hold the simulator against. It needs root. A run in which a flow
started late, because the machine had no time for it, is repeated.
"""

import argparse
import json
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import nan
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc

import sojourn
from sojourn._internal.units import PS_PER_MS
from sojourn.analysis import spread

MEASURED = Path(__file__).parent / "measured.json"
ROUNDS, SPREAD_US = 10, 10_000
# A flow that starts later than this has been kept waiting by another program.
_LATEST_MS, _TRIES = 5.0, 3
# Short flows next to a long one: its size, theirs in turn, their number, the time between two.
_BULK_KB, _SHORT_KB, _SHORTS, _SHORT_EVERY_US = 75_000, (3, 20, 64), 300, 80_000
# Links of hosts are quick: a token bucket lets a first window pass at once. Hosts answer at once,
# as those in namespaces do: the default would have the slow port's host take up to 0.6 ms.
_STUDY = """\
title = "{self}"
completion = "sender"
[topology]
kind = "single-switch"
hosts = {hosts}
rate = "10Gbps"
uplink = "{self.rate}"
[hosts]
overhead = 0.0
[workload]
kind = "csv"
file = "flows.csv"
[scheme]
name = "Linux {self.control}"
queue = {{ kind = "drop-tail", buffer = "{self.buffer}" }}
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
    """So many flows of a size, in KB, under a control, into one port at about the same time.

    `more` is what else is asked, a line of the study each; `called` names it. Next to a bulk flow
    the others have several sizes, and start one after the other.
    """

    senders: int
    size: int
    control: str
    called: str = ""
    more: tuple[str, ...] = ()
    rate: str = "20Mbps"
    buffer: str = "45KB"
    every_us: int = 3_000_000
    bulk: bool = False

    def __str__(self) -> str:
        name = f"{self.senders} x {self.size} KB, {self.control}"
        if self.bulk:
            name = f"short flows, {self.control}"
        return f"{name}, {self.called}" if self.called else name

    @property
    def folder(self) -> str:
        """A name for its files."""
        return str(self).replace(" ", "").replace(",", "-").replace("/", "")

    def flows(self) -> Iterator[tuple[int, int, int]]:
        """When each flow starts, in microseconds, its sender, and its size in KB."""
        draw = random.Random(1000 + self.senders * 100 + self.size)
        if self.bulk:
            yield 0, 0, _BULK_KB
            for number in range(_SHORTS):
                at = 1_000_000 + number * _SHORT_EVERY_US + draw.randrange(_SHORT_EVERY_US)
                yield at, 1 + number % (self.senders - 1), _SHORT_KB[number % len(_SHORT_KB)]
            return
        starts = [
            (number * self.every_us + draw.randrange(SPREAD_US), sender)
            for number in range(ROUNDS)
            for sender in range(self.senders)
        ]
        yield from ((at, sender, self.size) for at, sender in sorted(starts))

    def write(self, folder: Path) -> Path:
        """Its study, and the list of its flows beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"{host},{self.senders},{kb}000,{at}us\n" for at, host, kb in self.flows()]
        (folder / "flows.csv").write_text("src,dst,size_bytes,arrival\n" + "".join(lines))
        study = folder / "study.toml"
        more = "".join(f"{line}\n" for line in self.more)
        study.write_text(_STUDY.format(self=self, hosts=self.senders + 1) + more, encoding="utf-8")
        return study


def _incasts() -> Iterator[Scenario]:
    for control, smallest in (("CUBIC", 4), ("Reno", 8)):
        for senders in (4, 8, 16, 32):
            for size in (32, 64):
                if senders >= smallest:
                    yield Scenario(senders, size, control)


def _faster() -> Iterator[Scenario]:
    for control in ("CUBIC", "BBR"):
        yield Scenario(16, 64, control, "100 Mb/s", (), "100Mbps", "100KB", 2_000_000)


def _losses() -> Iterator[Scenario]:
    """A flow alone loses a packet, once or twice; nothing else is lost in 150 KB of buffer."""
    places = {"packet 22": "packet = 22", "the last packet": ""}
    often = {"lost": "times = 1", "and its retransmission lost": "times = 2"}
    for control in ("CUBIC", "Reno", "BBR"):
        for packet, which in places.items():
            for lost, times in often.items():
                yield _losing(control, f"{packet} {lost}", which, times)


def _losing(control: str, called: str, *loss: str) -> Scenario:
    more = ("[hosts.loss]", *filter(None, loss))
    return Scenario(1, 64, control, called, more, buffer="150KB", every_us=1_000_000)


def _delayed() -> Iterator[Scenario]:
    for senders, size in ((8, 32), (16, 64)):
        delay = ("[scheme.transport]", 'ack_delay = "40ms"')
        yield Scenario(senders, size, "CUBIC", "delayed ACKs", delay)


def _next_to_bulk() -> Iterator[Scenario]:
    for control in ("CUBIC", "Reno", "BBR"):
        yield Scenario(17, 0, control, "next to bulk", bulk=True)


SCENARIOS = [
    *_incasts(),
    *_next_to_bulk(),
    *_losses(),
    *_delayed(),
    *_faster(),
    Scenario(8, 64, "BBR"),
    Scenario(16, 32, "BBR"),
]


def without(mechanism: str | None, scenario: Scenario) -> dict[str, object]:
    """What takes a mechanism away from the hosts of a scenario."""
    of_cubic = f"{_UNDER}hystart"
    off = _MECHANISMS.get(mechanism, {})
    return {
        key: value for key, value in off.items() if scenario.control == "CUBIC" or key != of_cubic
    }


def figures(rows: pa.Table) -> dict[str, float]:
    """The figures of all flows but a bulk one."""
    return spread.figures(rows.filter(pc.less(rows["size_bytes"], _BULK_KB * 1000)))


def simulated(
    scenario: Scenario, folder: Path, overrides: Mapping[str, object] | None = None
) -> dict[str, float]:
    """What the simulator makes of it."""
    return figures(sojourn.run(scenario.write(folder), overrides=overrides).rows)


def measured(scenario: Scenario, folder: Path) -> dict[str, float]:
    """What this machine's kernel makes of it, measured again where the machine was late.

    `late_ms` is how late the latest flow started, `busy_elsewhere` the share of the processors'
    time that other programs took.

    Raises:
        SystemExit: it cannot be measured.
    """
    study, out = scenario.write(folder), folder / "measured"
    command = [sys.executable, "-m", "sojourn", "measure", "fabric", str(study), "--quiet"]
    found: list[dict[str, float]] = []
    while len(found) < _TRIES and (not found or found[-1]["late_ms"] > _LATEST_MS):
        shutil.rmtree(out, ignore_errors=True)
        if subprocess.run([*command, "--out", str(out)], check=False).returncode:
            sys.exit(2)
        run = sojourn.load(out)
        (record,) = run.ledger
        found.append(
            {
                **figures(run.rows),
                "late_ms": float(record.figures["latest_start_ps"]) / PS_PER_MS,
                "busy_elsewhere": float(record.figures["processors_busy_elsewhere"]),
            }
        )
    return min(found, key=lambda one: one["late_ms"])


def lines(scenario: str, kernel: list[dict[str, float]], model: dict[str, float]) -> Iterator[str]:
    """A line of the table for each."""
    names = ("mean", "p50", "p95", "p99", "one", "two", "resent", "probes")
    for who, what in (*(("kernel", run) for run in kernel), ("simulator", model)):
        yield f"{scenario:30} {who:10}" + "".join(f"{what.get(name, nan):8.1f}" for name in names)


def main() -> None:
    """Simulate all scenarios, measure them if asked, and print both side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=int, metavar="N", help="measure each so many times")
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    parser.add_argument("--only", default="", metavar="WORDS", help="scenarios with these words")
    parser.add_argument("--out", type=Path, default=Path("out/linux-hosts"))
    parser.add_argument("--without", choices=[*_MECHANISMS], help="simulate without one mechanism")
    asked = parser.parse_args()
    chosen = [scenario for scenario in SCENARIOS if asked.only in str(scenario)]
    old = MEASURED.exists() and not asked.again
    kept = json.loads(MEASURED.read_text(encoding="utf-8")) if old else {}
    runs: dict[str, list[dict[str, float]]] = kept.get("runs", {})
    for number in range(asked.measure or 0):
        for scenario in chosen:
            own = runs.setdefault(str(scenario), [])
            if len(own) <= number:
                own.append(measured(scenario, asked.out / scenario.folder))
                _keep({**kept, "runs": runs})
    for scenario in chosen:
        model = simulated(scenario, asked.out / scenario.folder, without(asked.without, scenario))
        for line in lines(str(scenario), runs.get(str(scenario), []), model):
            click.echo(line)


def _keep(kept: Mapping[str, object]) -> None:
    """Write what was measured, with its kernel and the date."""
    today = datetime.now(UTC).date().isoformat()
    about = {"kernel": platform.release().partition("-")[0], "date": today}
    text = json.dumps({**kept, **about}, indent=1)
    MEASURED.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
