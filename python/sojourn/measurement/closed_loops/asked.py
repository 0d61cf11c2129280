"""What a case asks of fio's `iodepth`: its closed loops, or which of its settings fio cannot do.

fio issues one access per request, so each request has to be one access, on a disk that is as likely
as any other. Each setting of the study is used, or refused by its key and value.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sojourn._core import Case, quantity
from sojourn._internal.errors import MeasurementError
from sojourn._internal.units import PS_PER_S

DEEPEST = 4096
"""The deepest queue of one job."""

MOST_THINKING = 256
"""The most requests under way of all loops that think: each takes a job."""

_MOST_BYTES = 1 << 30  # of the buffers of all requests that are under way
_PS_PER_US = 10**6
_LONGEST_THINK_PS = 60 * PS_PER_S
_MIRRORS = ("raid1", "raid10")
# The model's disk, and how the simulator computes: nothing in a measurement depends on them.
_OF_THE_MODEL = ("disk", "controller", "scheduling", "positioning", "engine")


@dataclass(frozen=True)
class Loop:
    """A closed loop.

    Attributes:
        tenant: its name; empty where the study has no tenants.
        depth: how many of its requests are under way or thought about.
        think_us: the time from the end of a request to the next one in its place.
        size_bytes: of each request.
        align_bytes: offsets are multiples of it.
        read_percent: how many in a hundred requests read.
    """

    tenant: str
    depth: int
    think_us: int
    size_bytes: int
    align_bytes: int
    read_percent: int


def is_closed(case: Case) -> bool:
    """Whether closed loops pace requests of a case, or tenants share its array."""
    asked = case.parameters
    return asked.get("workload.arrivals.kind") == "closed" or asked["workload.kind"] == "tenants"


def loops_of(case: Case, source: str = "the study") -> list[Loop]:
    """The closed loops of a case, in the study's order; `source` is its file, for messages.

    Raises:
        MeasurementError: a setting that fio cannot do, by its key and value.
    """
    asked = _Settings(source, "", "", _nested(case.parameters))
    for part in _OF_THE_MODEL:
        asked.rest.pop(part, None)
    block, layout = quantity(str(asked.take("block"))), asked.table("layout")
    asked.take("join")  # refused elsewhere, whatever arrives
    asked.take("stripe")  # one block is in one unit
    workload = asked.table("workload")
    loops = [_loop(one, block, layout.values["kind"]) for one in _tenants(workload)]
    _check_layout(layout, loops, block)
    if asked.take("rebuild") != "none":
        asked.refuse("rebuild", '"none": no file is rebuilt')
    asked.refuse_the_rest()
    _check_together(loops, source)
    return loops


class _Settings:
    """Settings of a table of the study, and which of them have not been used."""

    def __init__(self, source: str, whose: str, path: str, values: Mapping[str, Any]) -> None:
        self.source, self.whose, self.path, self.values = source, whose, path, values
        self.rest = dict(values)

    def take(self, key: str) -> Any:
        self.rest.pop(key, None)
        return self.values[key]

    def table(self, key: str) -> "_Settings":
        values = self.take(key)
        return _Settings(self.source, self.whose, f"{self.path}{key}.", values)

    def refuse(self, key: str, expected: str) -> NoReturn:
        value = self.values[key]
        if isinstance(value, dict):
            value = value["kind"]
        where = f"{self.source}: {self.whose}{self.path}{key}"
        raise MeasurementError(f"{where} = {json.dumps(value)}, expected {expected}")

    def refuse_the_rest(self) -> None:
        for key in self.rest:
            self.refuse(key, "nothing: fio's closed loops have no such setting")


def _nested(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by dotted path as tables."""
    tables: dict[str, Any] = {}
    for path, value in parameters.items():
        *outer, key = path.split(".")
        table = tables
        for name in outer:
            table = table.setdefault(name, {})
        table[key] = value
    return tables


def _tenants(workload: _Settings) -> list[_Settings]:
    """The settings of each tenant; without tenants, all of the workload."""
    kind = workload.take("kind")
    workload.take("requests")
    workload.take("warmup")
    if kind == "synthetic":
        return [_Settings(workload.source, "", workload.path, {**workload.rest, "name": ""})]
    given = tomllib.loads(f"tenant = {workload.take('tenant')}")["tenant"]
    workload.refuse_the_rest()
    path = f"{workload.path}tenant."
    return [_Settings(workload.source, f'tenant "{one["name"]}": ', path, one) for one in given]


def _loop(asked: _Settings, block: int, layout: str) -> Loop:
    name, blocks = asked.take("name"), asked.take("blocks")
    arrivals = asked.table("arrivals")
    if arrivals.take("kind") != "closed":
        arrivals.refuse(
            "kind",
            '"closed": fio sends the open arrivals of an asynchronous job in bursts; measure open'
            " arrivals in a study without closed loops",
        )
    depth, think = arrivals.take("depth"), quantity(str(arrivals.take("think")))
    most = MOST_THINKING if think else DEEPEST
    if depth > most:
        why = ": each is a job of fio, which thinks by itself" if think else ""
        arrivals.refuse("depth", f"at most {most}{f' with think above 0{why}' if think else ''}")
    if think % _PS_PER_US or think > _LONGEST_THINK_PS:
        arrivals.refuse("think", "whole microseconds, at most 60s")
    arrivals.refuse_the_rest()
    if not isinstance(blocks, int):
        asked.refuse("blocks", "a number such as 4: fio's mixes of sizes are of whole per cent")
    percent = round(asked.take("reads") * 100, 9)
    if percent != int(percent):
        asked.refuse("reads", "a whole number of per cent, such as 0.7: fio takes no other")
    places = asked.table("places")
    kind, align = places.take("kind"), places.rest.pop("align", 1)
    if kind not in ("anywhere", "uniform"):
        places.refuse(
            "kind",
            '"uniform" or "anywhere": fio draws others by other laws than the simulator;'
            " a trace is measured with its places",
        )
    if align > 1 and layout != "single":
        places.refuse("align", '1, or layout = "single"')
    places.refuse_the_rest()
    asked.refuse_the_rest()
    return Loop(name, depth, think // _PS_PER_US, blocks * block, align * block, int(percent))


def _check_layout(layout: _Settings, loops: list[Loop], block: int) -> None:
    """Refuse a layout some of whose requests are more than one access."""
    kind = layout.take("kind")
    layout.rest.pop("disks", None)
    if kind not in ("single", "raid0", *_MIRRORS):
        layout.refuse(
            "kind",
            "a layout with one access per request: single, raid0, or for reads raid1 or raid10."
            ' Measure one disk with layout = "single", and simulate the array of it',
        )
    if layout.rest.pop("failed", "none") != "none":
        layout.refuse("failed", '"none": fio reads from all TARGETs alike')
    layout.refuse_the_rest()
    if kind == "single":
        return
    one_access = "one access per request on several TARGETs"
    if any(loop.size_bytes != block for loop in loops):
        layout.refuse("kind", f'"single", or blocks = 1 for all: {one_access}')
    if kind in _MIRRORS and any(loop.read_percent < 100 for loop in loops):
        layout.refuse("kind", f'"single" or "raid0", or reads = 1.0 for all: {one_access}')


def _check_together(loops: list[Loop], source: str) -> None:
    """Refuse more than a machine can be expected to have under way."""
    jobs = sum(loop.depth for loop in loops if loop.think_us)
    if jobs > MOST_THINKING:
        raise MeasurementError(
            f"{source}: depths of loops with think above 0 sum to {jobs}, expected at most"
            f" {MOST_THINKING}: each of their requests takes a job of fio"
        )
    held = sum(loop.depth * loop.size_bytes for loop in loops)
    if held > _MOST_BYTES:
        raise MeasurementError(
            f"{source}: workload.arrivals.depth times blocks is {held:,} bytes, expected at most"
            f" {_MOST_BYTES:,}: fio holds all requests under way in memory"
        )
