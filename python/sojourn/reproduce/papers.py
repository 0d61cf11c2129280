"""The papers that can be reproduced: their runs, figures and claims, as data in their folders."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sojourn.errors import InputError, did_you_mean
from sojourn.reproduce.claims import Claim

ALL = "all"
ROOT = Path(__file__).parents[1] / "papers"


@dataclass(frozen=True)
class RunPlan:
    """A study of the paper's folder under the name of a run.

    `set` goes over the study always, `quick` where brevity counts, both as `PATH = VALUE`; `note`
    is what a reader of the results must know of it.
    """

    study: Path
    note: str
    set: tuple[str, ...] = ()
    quick: tuple[str, ...] = ()

    def overrides(self, *, full: bool) -> list[tuple[str, str]]:
        """Pairs of a dotted path and a value to put over the study's."""
        settings = self.set if full else (*self.set, *self.quick)
        pairs = (setting.partition("=") for setting in settings)
        return [(path.strip(), value.strip()) for path, _, value in pairs]


@dataclass(frozen=True)
class Panel:
    """One panel of a figure: a statistic of one size bin against the load, a line a scheme."""

    run: str
    title: str
    bin: str
    statistic: str


@dataclass(frozen=True)
class Figure:
    """A figure of the paper; without panels, a statement of its text that has runs of its own.

    A variant has the panels and claims of the figure it is `like`, on other runs: `with_` says
    which stands in for which.
    """

    id: str
    like: str
    title: str
    panels: tuple[Panel, ...] = ()
    runs: tuple[str, ...] = ()
    with_: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_variant(self) -> bool:
        """Whether it is drawn only when asked for."""
        return self.id != self.like


@dataclass(frozen=True)
class Paper:
    """A paper: what is run for it, what is drawn, what is checked."""

    name: str
    title: str
    source: str
    runs: Mapping[str, RunPlan]
    figures: Mapping[str, Figure]
    claims: tuple[Claim, ...]

    def chosen(self, ids: Sequence[str]) -> list[Figure]:
        """The figures of those names; without names, all but the variants.

        Raises:
            InputError: there is no such figure.
        """
        for name in ids:
            if name not in self.figures:
                there = did_you_mean(name, self.figures)
                raise InputError(f"{self.name}: no figure {name!r}{there}")
        if ids:
            return [self.figures[name] for name in dict.fromkeys(ids)]
        return [figure for figure in self.figures.values() if not figure.is_variant]

    def claims_of(self, figures: Sequence[Figure]) -> list[tuple[Claim, str, Mapping[str, str]]]:
        """The claims about those figures, in the paper's order.

        Each comes with the figures' names and with the runs that stand in for others. A claim
        about several figures needs them all.
        """
        found: list[tuple[Claim, str, Mapping[str, str]]] = []
        originals = {figure.id for figure in figures if not figure.is_variant}
        for claim in self.claims:
            if originals.issuperset(claim.figures):
                found.append((claim, ", ".join(claim.figures), {}))
            found += [
                (claim, figure.id, figure.with_)
                for figure in figures
                if figure.is_variant and claim.figures == (figure.like,)
            ]
        return found


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
    about = _toml(folder / "paper.toml")
    figures: dict[str, Figure] = {}
    for name, table in about["figures"].items():
        figures[name] = _variant(name, table, figures) if "like" in table else _figure(name, table)
    return Paper(
        name=folder.name,
        title=about["title"],
        source=about["source"],
        runs={
            name: RunPlan(
                study=folder / table["study"],
                note=table["note"],
                set=tuple(table.get("set", ())),
                quick=tuple(table.get("quick", ())),
            )
            for name, table in about["runs"].items()
        },
        figures=figures,
        claims=tuple(Claim.of(table) for table in _toml(folder / "claims.toml")["claims"]),
    )


def _figure(name: str, table: dict[str, Any]) -> Figure:
    panels = tuple(Panel(**panel) for panel in table.get("panels", ()))
    runs = dict.fromkeys([*(panel.run for panel in panels), *table.get("runs", ())])
    return Figure(name, name, table["title"], panels, tuple(runs))


def _variant(name: str, table: dict[str, Any], figures: Mapping[str, Figure]) -> Figure:
    like, with_ = figures[table["like"]], table["with"]
    return replace(
        like,
        id=name,
        panels=tuple(replace(panel, run=with_.get(panel.run, panel.run)) for panel in like.panels),
        runs=tuple(with_.get(run, run) for run in like.runs),
        with_=with_,
    )


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
