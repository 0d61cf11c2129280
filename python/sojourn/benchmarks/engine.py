"""What a unit of work costs a simulator, on studies held in the package."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.terminal import print_table
from sojourn._internal.units import NS_PER_S, number
from sojourn._internal.vocabulary import models
from sojourn.benchmarks import user_classes

_CHILD = [sys.executable, "-m", "sojourn.benchmarks.child"]
# Every model's event loop is a function of this name, and what may take its place begins with it.
# The run is shorter than the timed one, because the counting slows it down some fifty times: by
# what a study has of these.
_CALLGRIND = [
    "valgrind",
    "--tool=callgrind",
    "--callgrind-out-file=/dev/null",
    "--toggle-collect=*sojourn_simulate*",
]
_COUNTED = {
    "workload.flows": "200",
    "workload.rounds": "50",
    "workload.queries": "50",
    "workload.requests": "20000",
    "list.messages": "20",
}
_COLLECTED = re.compile(r"^==\d+== Collected : (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Cost:
    """The cost of one benchmark, the best of its repetitions; the contract's JSON object.

    `instructions_per_unit` is None where instructions were not counted, `bytes_per_live_flow` where
    the memory of flows was not measured.
    """

    case: str
    unit: str
    units: int
    cpu_s: float
    per_cpu_s: float
    ns_per_unit: float
    instructions_per_unit: float | None
    peak_mb: float
    bytes_per_live_flow: float | None = field(default=None, kw_only=True)


def studies(model: str, case: str | None = None, *, besides: Iterable[str] = ()) -> dict[str, str]:
    """The benchmarks of a model, or the one of that name: their studies' text by name.

    Args:
        model: which.
        case: the name.
        besides: names of benchmarks of a mail server that are no studies.

    Raises:
        InputError: no such model or benchmark.
    """
    if model not in models():
        raise InputError(f"no benchmarks of {model!r}{did_you_mean(model, models())}")
    found = {
        entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8")
        for entry in sorted(
            files("sojourn.benchmarks").joinpath("studies", model).iterdir(), key=_size
        )
    }
    if case is None:
        return found
    if model == "fabric" and case in user_classes.CASES:
        return user_classes.studies(case)
    if case not in found:
        own = {"mail": besides, "fabric": user_classes.CASES}
        near = [*found, *own.get(model, ())]
        raise InputError(f"no benchmark {case!r}{did_you_mean(case, near)}")
    return {case: found[case]}


def measure(
    model: str,
    name: str,
    study: str,
    *,
    repeat: int,
    instructions: bool,
    live_flows: int = 0,
    say: Callable[[str], None],
) -> Cost:
    """Run one benchmark in separate processes.

    Args:
        model: the model it belongs to.
        name: its name.
        study: its study's text.
        repeat: how often; the run with the least processor time counts.
        instructions: count instructions as well, where valgrind is installed.
        live_flows: measure the memory of a flow as well, with so many of them at once.
        say: is called with what is being done.

    Raises:
        InputError: a process failed.
    """
    work = models()[model].work
    figures = list(work.values())
    # Code of Python is compiled before the run is timed; valgrind would count the interpreter too.
    begin = user_classes.BEGIN if user_classes.has_code(study) else []
    instructions = instructions and not begin
    runs = []
    for attempt in range(repeat):
        say(f"{name}: run {attempt + 1} of {repeat}")
        runs.append(_child(name, _CHILD, study, [], figures, begin=begin)[0])
    best = min(runs, key=lambda run: run["cpu_s"])
    unit, figure = next((u, f) for u, f in work.items() if best["counts"][f])
    units = best["counts"][figure]
    counted = 0.0
    if instructions and shutil.which(_CALLGRIND[0]):
        say(f"{name}: counting instructions")
        run, said = _child(name, [*_CALLGRIND, *_CHILD], study, _brief(study), figures)
        collected = _COLLECTED.search(said)
        counted = int(collected[1]) / run["counts"][figure] if collected else 0
    bytes_per_flow = None
    if live_flows:
        say(f"{name}: {live_flows:,} flows at once")
        bytes_per_flow = _bytes_per_live_flow(name, study, live_flows)
    return Cost(
        case=name,
        unit=unit,
        units=units,
        cpu_s=best["cpu_s"],
        per_cpu_s=units / best["cpu_s"],
        ns_per_unit=best["cpu_s"] / units * NS_PER_S,
        instructions_per_unit=counted or None,
        peak_mb=best["peak_mb"],
        bytes_per_live_flow=bytes_per_flow,
    )


def show(costs: Iterable[Cost]) -> None:
    """Print one line a benchmark."""
    lines = [
        [
            cost.case,
            cost.unit,
            number(cost.units),
            number(cost.cpu_s),
            number(cost.per_cpu_s / 1e6),
            number(cost.ns_per_unit),
            "-" if cost.instructions_per_unit is None else number(cost.instructions_per_unit),
            number(cost.peak_mb),
        ]
        for cost in costs
    ]
    heads = ["case", "unit", "units", "CPU [s]", "M units / CPU s", "ns / unit"]
    print_table([lines], [*heads, "instructions / unit", "peak [MB]"], numbers=6)


def _child(
    name: str,
    command: list[str],
    study: str,
    overrides: list[tuple[str, str]],
    figures: list[str],
    *,
    begin: list[tuple[str, str]] | None = None,
) -> tuple[dict[str, Any], str]:
    """What one process measured, and what it said on standard error.

    Where there is `begin`, the study runs with these overrides before it is timed.
    """
    task = {
        "study": study,
        "source": name,
        "overrides": overrides,
        "figures": figures,
        "begin": begin,
    }
    done = subprocess.run(  # noqa: S603 - our own interpreter and valgrind
        command, input=json.dumps(task), capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.splitlines() or ["it said nothing"])[-1]
        raise InputError(f"benchmark {name!r} ended with {done.returncode}: {last}")
    return json.loads(done.stdout), done.stderr


def _bytes_per_live_flow(name: str, study: str, flows: int) -> float:
    """By how much the peak of memory grows with each flow that is under way at the same time."""
    fewest = flows // 100
    peaks = []
    for number_of_flows in (fewest, flows):
        overrides = user_classes.flows_at_once(study, number_of_flows)
        begin = user_classes.BEGIN if user_classes.has_code(study) else None
        run, _ = _child(name, _CHILD, study, overrides, [], begin=begin)
        peaks.append(run["peak_mb"] * 1e6)
    return float((peaks[1] - peaks[0]) / (flows - fewest))


def _brief(study: str) -> list[tuple[str, str]]:
    """What makes a study short enough to be counted."""
    tables = tomllib.loads(study)
    paths = ((path, *path.split("."), value) for path, value in _COUNTED.items())
    return [(path, value) for path, table, key, value in paths if key in tables.get(table, {})]


def _size(entry: Traversable) -> tuple[int, str]:
    """Small fabrics before large ones: `k6-pfabric` before `k16-pfabric`."""
    digits = re.search(r"\d+", entry.name)
    return int(digits[0]) if digits else 0, entry.name
