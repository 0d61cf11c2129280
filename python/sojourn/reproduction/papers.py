"""The papers that can be reproduced, out of their folders.

A paper's runs, figures and readings are data in `paper.toml`, its claims in `claims.toml`;
how it measures and draws what no other paper does is in its `paper.py`. This may also make runs,
figures and claims of another table.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sojourn import htsim
from sojourn._core import Study
from sojourn._internal.errors import InputError, did_you_mean
from sojourn.execution import studies
from sojourn.reproduction import measures
from sojourn.reproduction.claims import Claim
from sojourn.reproduction.measures import Measure, Measured, Results
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
    line. With `htsim` the study is made of these arguments of htsim_uec, whose files are in the
    folder `study`. What is `only_full` is not run where brevity counts.
    """

    study: Path
    note: str
    x: str = "load"
    axis: str = ""
    lines: Sequence[str] = ("scheme",)
    set: Sequence[str] = ()
    quick: Sequence[str] = ()
    htsim: str = ""
    only_full: bool = False

    def parsed(self, *, full: bool) -> Study:
        """The study, with what the paper puts over it.

        Raises:
            StudyError: it cannot be run as written.
        """
        settings = self.set if full else (*self.quick, *self.set)
        pairs = (setting.partition("=") for setting in settings)
        overrides = [(path.strip(), value.strip()) for path, _, value in pairs]
        if self.htsim:
            made = htsim.made(self.htsim, self.study)
            text, tables = made.as_table()
            source = f"{self.study.name}: {self.htsim}"
            return studies.parse(
                text, source, overrides, seed=None, replications=None, tables=tables
            )
        text = studies.read(self.study)
        return studies.parse(text, str(self.study), overrides, seed=None, replications=None)

    def changed(self, settings: Sequence[str], note: str = "") -> "RunPlan":
        """The same run with settings after its own, and with another note if there is one."""
        return replace(self, set=(*self.set, *settings), note=note or self.note)


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, by default a quantity along the run's axis.

    It has a curve for each of `lines`, by default all of the run. Any other `kind` than that has
    one for each line at each value of `at`, by default at all: `distribution` shows how the
    quantity is distributed, further kinds are drawn by the paper.
    """

    run: str
    title: str
    what: Quantity
    kind: str = ""
    at: Sequence[Value] = ()
    lines: Sequence[str] = ()

    @staticmethod
    def of(table: Mapping[str, Any]) -> "Panel":
        """The panel that a table of `paper.toml` holds."""
        own = dict(table)
        return Panel(what=Quantity.taken_from(own), **own)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: a picture of panels, or a table that the paper makes of a run.

    Without either it is a statement of the text that has separate runs. `terms` are what the
    paper calls metrics, where that is not what the model calls them.
    """

    id: str
    title: str
    panels: Sequence[Panel]
    runs: Sequence[str]
    table: Mapping[str, Any] = field(default_factory=dict)
    terms: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """A paper: what is run for it, what is drawn, what is checked.

    `readings` are other ways to read what its text leaves open: by name, what some of the runs
    become (`set` after their own, another `note`). `measures` are the kinds of its claims; `draws`
    are the panels and `tabulates` the tables that only this paper has.
    """

    name: str
    title: str
    source: str
    runs: Mapping[str, RunPlan]
    figures: Mapping[str, Figure]
    claims: Sequence[Claim]
    readings: Mapping[str, Mapping[str, Mapping[str, Any]]]
    measures: Mapping[str, Measure]
    draws: Mapping[str, Callable[..., None]]
    tabulates: Callable[..., Sequence[str]] | None

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
        changed = {
            run: self.runs[run].changed(change["set"], change["note"])
            for run, change in self.readings[reading].items()
        }
        return replace(self, runs={**self.runs, **changed})

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

    def measured(self, claim: Claim, results: Results) -> Measured:
        """What a claim is about, measured in the runs that it needs.

        Raises:
            InputError: a run cannot be read.
        """
        if claim.inapplicable:
            return Measured(())
        parameters = {**claim.measure}
        return self.measures[parameters.pop("kind")](results, **parameters)


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
    """The paper of a folder, out of its `paper.toml`, `claims.toml` and `paper.py`."""
    about, defined = _tables(folder / "paper.toml"), script(folder)
    claims = folder / "claims.toml"
    listed = _tables(claims)["claims"] if claims.exists() else []
    return Paper(
        name=folder.name,
        title=about["title"],
        source=about["source"],
        runs={
            name: RunPlan(**{**table, "study": folder / table["study"]})
            for name, table in about.get("runs", {}).items()
        }
        | defined.get("RUNS", {}),
        figures={
            name: _figure(name, table, about.get("terms", {}))
            for name, table in about.get("figures", {}).items()
        }
        | defined.get("FIGURES", {}),
        claims=[*map(Claim.of, listed), *defined.get("CLAIMS", ())],
        readings=about.get("readings", {}),
        measures={**measures.KINDS, **defined.get("MEASURES", {})},
        draws=defined.get("PANELS", {}),
        tabulates=defined.get("TABLE"),
    )


def script(folder: Path) -> dict[str, Any]:
    """The names that a paper's `paper.py` defines; none where it has no such file."""
    path = folder / "paper.py"
    spec = spec_from_file_location(f"paper of {folder.name}", path)
    if not path.exists() or spec is None or spec.loader is None:
        return {}
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def _figure(name: str, table: dict[str, Any], terms: Mapping[str, str]) -> Figure:
    panels = [Panel.of(panel) for panel in table.get("panels", ())]
    hours = table.get("table", {})
    shown = [panel.run for panel in panels] + ([hours["run"]] if hours else [])
    runs = dict.fromkeys([*shown, *table.get("runs", ())])
    return Figure(name, table["title"], panels, [*runs], hours, terms)


def _tables(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
