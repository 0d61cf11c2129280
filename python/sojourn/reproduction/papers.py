"""The papers that can be reproduced: their runs, figures and claims, as data in their folders."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sojourn._internal.errors import InputError, did_you_mean
from sojourn.execution import studies
from sojourn.reproduction.claims import Claim
from sojourn.reproduction.hours import Table
from sojourn.reproduction.results import Quantity
from sojourn.store.ledger import Value

ALL = "all"
ROOT = studies.BUNDLED


@dataclass(frozen=True)
class RunPlan:
    """A study of the paper's folder under the name of a run.

    `set` goes over the study always, `quick` where brevity counts, both as `PATH = VALUE`; `note`
    is what a reader of the results must know of it. `x` is the column along its axis, which is
    called `axis` in pictures where its own name says too little, `lines` are those that make a
    line.
    """

    study: Path
    note: str
    x: str
    axis: str = ""
    lines: tuple[str, ...] = ("scheme",)
    set: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()

    def overrides(self, *, full: bool) -> list[tuple[str, str]]:
        """Pairs of a dotted path and a value to put over the study's."""
        settings = self.set if full else (*self.quick, *self.set)
        pairs = (setting.partition("=") for setting in settings)
        return [(path.strip(), value.strip()) for path, _, value in pairs]


@dataclass(frozen=True)
class Panel:
    """One panel of a figure: a quantity along the run's axis, or how it is distributed.

    It has a curve for each of `lines`, by default all of the run; of a distribution one for each
    line at each value of `at`, by default at all. `day` draws a list's first day instead,
    `averaging` how evenly long flows share against the averaging time, at each value of `at`: the
    statistic is one of `fairness.STATISTICS`.
    """

    run: str
    title: str
    what: Quantity
    distribution: bool = False
    day: bool = False
    averaging: bool = False
    at: tuple[Value, ...] = ()
    lines: tuple[str, ...] = ()

    @staticmethod
    def of(table: Mapping[str, Any]) -> "Panel":
        """The panel that a table of `paper.toml` holds."""
        own: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in table.items()
        }
        return Panel(what=Quantity.taken_from(own), **own)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: a picture of panels, or a table.

    Without either it is a statement of the text that has separate runs. `terms` are what the
    paper calls metrics, where that is not what the model calls them.
    """

    id: str
    title: str
    panels: tuple[Panel, ...]
    runs: tuple[str, ...]
    table: Table | None = None
    terms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Axis:
    """A parameter of studies, the values that a map gives it, and what people call it."""

    path: str
    values: tuple[Value, ...]
    title: str

    def setting(self, value: Value) -> str:
        """What puts a value over the one of a study."""
        return f"{self.path} = {json.dumps(value)}"


@dataclass(frozen=True)
class MapPlan:
    """A plane of two parameters in which the claims about some runs hold here and fail there."""

    title: str
    note: str
    runs: tuple[str, ...]
    x: Axis
    y: Axis


@dataclass(frozen=True)
class Paper:
    """A paper: what is run for it, what is drawn, what is checked.

    `readings` are other ways to read what its text leaves open: by name, what some of the runs
    become (`set` after their own, another `note`). `maps` say where in a plane of two parameters
    claims hold.
    """

    name: str
    title: str
    source: str
    runs: Mapping[str, RunPlan]
    figures: Mapping[str, Figure]
    claims: tuple[Claim, ...]
    readings: Mapping[str, Mapping[str, Mapping[str, Any]]]
    maps: Mapping[str, MapPlan] = field(default_factory=dict)

    def under(self, reading: str | None) -> "Paper":
        """The paper under one of its readings, or as it is.

        Raises:
            InputError: there is no such reading.
        """
        if reading is None:
            return self
        if reading not in self.readings:
            there = did_you_mean(reading, self.readings)
            raise InputError(f"{self.name}: no reading {reading!r}{there}")
        runs = {
            name: replace(
                self.runs[name],
                note=change["note"],
                set=(*self.runs[name].set, *change["set"]),
            )
            for name, change in self.readings[reading].items()
        }
        return replace(self, runs={**self.runs, **runs})

    def map_plan(self, name: str) -> MapPlan:
        """The map of that name.

        Raises:
            InputError: there is none.
        """
        if name not in self.maps:
            raise InputError(f"{self.name}: no map {name!r}{did_you_mean(name, self.maps)}")
        return self.maps[name]

    def at(self, plan: MapPlan, x: Value, y: Value) -> "Paper":
        """The paper at a point of one of its maps."""
        settings = (plan.x.setting(x), plan.y.setting(y))
        moved = {
            name: replace(self.runs[name], set=(*self.runs[name].set, *settings))
            for name in plan.runs
        }
        return replace(self, runs={**self.runs, **moved})

    def chosen(self, ids: Sequence[str], reading: str | None = None) -> list[Figure]:
        """The figures of those names; without names, all.

        Raises:
            InputError: there is no such figure, or the reading changes none of them.
        """
        for name in ids:
            if name not in self.figures:
                there = did_you_mean(name, self.figures)
                raise InputError(f"{self.name}: no figure {name!r}{there}")
        chosen = [self.figures[name] for name in dict.fromkeys(ids) or self.figures]
        changed = self.readings[reading] if reading else {}
        if changed and not any(run in changed for figure in chosen for run in figure.runs):
            others = [f.id for f in self.figures.values() if not changed.keys().isdisjoint(f.runs)]
            raise InputError(
                f"{self.name}: the reading {reading!r} changes nothing in figure {', '.join(ids)},"
                f" but in {', '.join(others)}"
            )
        return chosen

    def claims_of(self, figures: Sequence[Figure]) -> list[Claim]:
        """The claims about those figures; one about several needs them all."""
        ids = {figure.id for figure in figures}
        return [claim for claim in self.claims if ids.issuperset(claim.figures)]


def names() -> list[str]:
    """The papers there are."""
    return sorted(path.parent.name for path in ROOT.glob("*/paper.toml"))


def find(name: str) -> list[Paper]:
    """The paper of that name, or all.

    Raises:
        InputError: there is no such paper.
    """
    there = names()
    if name == ALL:
        return [read(ROOT / paper) for paper in there]
    if name not in there:
        raise InputError(f"no paper {name!r}{did_you_mean(name, [*there, ALL])}")
    return [read(ROOT / name)]


def read(folder: Path) -> Paper:
    """The paper of a folder, out of its `paper.toml` and `claims.toml`."""
    about = _tables(folder / "paper.toml")
    terms = about.get("terms", {})
    return Paper(
        name=folder.name,
        title=about["title"],
        source=about["source"],
        runs={
            name: RunPlan(
                study=folder / table["study"],
                note=table["note"],
                x=table.get("x", "load"),
                axis=table.get("axis", RunPlan.axis),
                lines=tuple(table.get("lines", RunPlan.lines)),
                set=tuple(table.get("set", ())),
                quick=tuple(table.get("quick", ())),
            )
            for name, table in about["runs"].items()
        },
        figures={name: _figure(name, table, terms) for name, table in about["figures"].items()},
        claims=tuple(Claim.of(table) for table in _tables(folder / "claims.toml")["claims"]),
        readings=about.get("readings", {}),
        maps={name: _map(table) for name, table in about.get("maps", {}).items()},
    )


def _map(table: dict[str, Any]) -> MapPlan:
    x, y = (
        Axis(axis["path"], tuple(axis["values"]), axis["title"])
        for axis in (table["x"], table["y"])
    )
    return MapPlan(table["title"], table["note"], tuple(table["runs"]), x, y)


def _figure(name: str, table: dict[str, Any], terms: Mapping[str, str]) -> Figure:
    panels = tuple(Panel.of(panel) for panel in table.get("panels", ()))
    hours = _table(table["table"]) if "table" in table else None
    shown = [panel.run for panel in panels] + ([hours.run] if hours else [])
    runs = dict.fromkeys([*shown, *table.get("runs", ())])
    return Figure(name, table["title"], panels, tuple(runs), hours, terms)


def _table(table: dict[str, Any]) -> Table:
    first, end = table["hours"]
    return Table(table["run"], table["midnight"], (first, end))


def _tables(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
