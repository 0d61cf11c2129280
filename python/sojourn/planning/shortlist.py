"""The candidates of a plan: what its text asks, read into cases that can run.

A plan crosses lists of disks and layouts. One with offers is a plan of one disk for each of them:
the parser of plans reads each with the offer laid over the file, and messages about what was laid
over name the offer.
"""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sojourn._core import Case, Plan, SpecError
from sojourn._internal import registry
from sojourn._internal.errors import InputError
from sojourn._internal.formats import toml_value
from sojourn._internal.units import count
from sojourn.planning.bounds import impossible, known, reason
from sojourn.planning.candidate import Candidate
from sojourn.planning.offers import OFFER, Offer, device_name, read_offers
from sojourn.planning.plan_file import PlanFile
from sojourn.planning.target import INCLUSIVE, STRICT, Target
from sojourn.store.ledger import Value

Pairs: TypeAlias = Sequence[tuple[str, str]]

_TARGET = "plan.target"


@dataclass(frozen=True)
class Entry:
    """A candidate, judged as far as formulas can, and its case, None where it is impossible."""

    candidate: Candidate
    case: Case | None


@dataclass(frozen=True)
class Shortlist:
    """A plan that was read: its target and its candidates, none of them simulated yet.

    `replications` is how often a candidate is simulated at most.
    """

    title: str
    target: Target
    capacity_bytes: int | None
    replications: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class _Laid:
    """An override that stands for a part of the file, and what messages about it say instead."""

    path: str
    value: str
    told: Callable[[str], str]

    @property
    def pair(self) -> tuple[str, str]:
        return self.path, self.value

    def explains(self, error: str) -> str | None:
        """The message about the part of the file, where the error is about this override."""
        before = " ".join(f"--set {self.path}={self.value}:".split())
        return self.told(error[len(before) :].strip()) if error.startswith(before) else None


@dataclass(frozen=True)
class _TargetText:
    """A target, in TOML or a bare word, and its place; `<=`, which the parser refuses, is laid."""

    text: str | None
    place: str

    @property
    def inclusive(self) -> bool:
        return self.text is not None and INCLUSIVE in self.text

    @property
    def laid(self) -> tuple[_Laid, ...]:
        if self.text is None:
            return ()
        strict = self.text.replace(INCLUSIVE, STRICT, 1)

        def told(said: str) -> str:
            # The value as it was given.
            return f"{self.place}: {said.replace(STRICT, INCLUSIVE, int(self.inclusive))}"

        return (_Laid(_TARGET, strict, told),)


def read(text: str, source: str, overrides: Pairs) -> Shortlist:
    """Read a plan.

    Args:
        text: the plan, TOML.
        source: its name in messages; files that it names are beside it.
        overrides: (path, value) pairs laid over it.

    Raises:
        SpecError: the text or an override is not a plan that can be run.
    """
    file = PlanFile.read(text, source)
    if file is None:
        return _of_plan(Plan.parse(text, source, list(overrides)), (), inclusive=False)
    try:
        return _of_file(file, overrides)
    except InputError:
        # A date, which only the parser of studies can locate.
        Plan.parse(text, source, list(overrides))
        raise


def _of_file(file: PlanFile, overrides: Pairs) -> Shortlist:
    names = [entry["name"] for entry in registry.entry("tables", "plan")["parameters"]]
    file.check_keys(("plan",), file.plan, [*names, OFFER])
    target = _target(file, overrides)
    others = [pair for pair in overrides if pair[0] != _TARGET]
    if OFFER in file.plan:
        for path, value in others:
            _check_override(path, value)
        return _of_offers(file, target, others)
    if file.plan and "disks" not in file.plan and not any(p.startswith("plan") for p, _ in others):
        raise file.refused(("plan", OFFER), "a table [[plan.offer]] for each disk on offer")
    plan = _parsed(file, target.laid, others)
    return _of_plan(plan, target.laid, inclusive=target.inclusive)


def _target(file: PlanFile, overrides: Pairs) -> "_TargetText":
    """The target as an override sets it, or else the file where its bound is inclusive."""
    given = [value for path, value in overrides if path == _TARGET][-1:]
    if given:
        return _TargetText(given[0], f"--set {_TARGET}={given[0]}")
    own = file.plan.get("target")
    if isinstance(own, str) and INCLUSIVE in own and not any(p == "plan" for p, _ in overrides):
        return _TargetText(toml_value(own), file.place(("plan", "target")))
    return _TargetText(None, "")


def _parsed(file: PlanFile, laid: Sequence[_Laid], pairs: Pairs) -> Plan:
    try:
        return Plan.parse(file.text, file.source, [*(one.pair for one in laid), *pairs])
    except SpecError as error:
        raise SpecError(_explained(str(error), laid)) from None


def _explained(error: str, laid: Sequence[_Laid]) -> str:
    explained = (one.explains(error) for one in laid)
    return next((one for one in explained if one is not None), error)


def _check_override(path: str, value: str) -> None:
    """Refuse to override what the offers decide."""
    keys = path.split(".")
    inside = keys[:2] if keys[0] in ("sweep", "plan") else keys
    if inside in _DECIDED:
        raise SpecError(
            f"--set {path}={value}: {path} is decided by the tables plan.offer, expected a change"
            " there"
        )


_DECIDED = [
    *(["sweep", part] for part in ("disk", "layout")),
    *(["plan", part] for part in (OFFER, "disks")),
    *([part] for part in ("plan", "sweep", "disk", "layout")),
]


def _of_plan(plan: Plan, laid: Sequence[_Laid], *, inclusive: bool) -> Shortlist:
    """The shortlist of a plan without offers: each disk of its sweep is one, named by its kind."""
    target = Target.of(plan, inclusive=inclusive)
    cases = plan.study.cases()
    disks = {str(case.axes.get("disk", "")): device_name(_disk(case)) for case in cases}
    names = disks if len(set(disks.values())) == len(disks) else {}

    def entry(candidate: Candidate, case: Case | None) -> Entry:
        label = str(candidate.axes.get("disk", ""))
        return Entry(replace(candidate, offer=names.get(label, label)), case)

    return Shortlist(
        title=plan.study.title,
        target=target,
        capacity_bytes=plan.capacity_bytes,
        replications=plan.replications,
        entries=(
            *(entry(known(plan, target, case), case) for case in cases),
            *(
                entry(impossible(index, axes, reason(_explained(why, laid))), None)
                for index, axes, why in plan.refused
            ),
        ),
    )


def _disk(case: Case) -> Mapping[str, Value]:
    """The parameters of a case's disk."""
    return {
        path.removeprefix("disk."): value
        for path, value in case.parameters.items()
        if path.startswith("disk.")
    }


def _of_offers(file: PlanFile, target: _TargetText, pairs: Pairs) -> Shortlist:
    """The shortlist of all offers together."""
    lists: list[Shortlist] = []
    entries: list[Entry] = []
    with warnings.catch_warnings(record=True) as hints:
        warnings.simplefilter("always")
        for offer in read_offers(file):
            # The target comes last, and replaces the one of the whole table.
            laid = [*_laid(file, offer), *target.laid]
            plan = _parsed(file, laid, pairs)
            lists.append(_of_plan(plan, laid, inclusive=target.inclusive))
            entries += [_offered(entry, offer) for entry in lists[-1].entries]
    for category, hint in dict.fromkeys((one.category, str(one.message)) for one in hints):
        warnings.warn(hint, category, stacklevel=2)
    numbered = (
        replace(entry, candidate=replace(entry.candidate, case=number))
        for number, entry in enumerate(entries)
    )
    return replace(lists[0], entries=tuple(numbered))


def _offered(entry: Entry, offer: Offer) -> Entry:
    """An entry under its offer's name; impossible if the offer has no such number of disks."""
    axes = {name: value for name, value in entry.candidate.axes.items() if name != "disk"}
    candidate = replace(entry.candidate, offer=offer.name, axes=axes)
    if offer.counts and candidate.disks is not None and candidate.disks not in offer.counts:
        why = f"has {count(candidate.disks, 'disk')}: not on offer"
        return Entry(impossible(candidate.case, axes, why, offer=offer.name), None)
    return replace(entry, candidate=candidate)


def _laid(file: PlanFile, offer: Offer) -> list[_Laid]:
    """What makes the file a plan of one offer."""
    rest = {key: value for key, value in file.plan.items() if key != OFFER}
    plan = rest | {"disks": [offer.terms]}

    def about_plan(said: str) -> str:
        key = re.search(r"\bplan\.disks\.(\w+)", said)
        if key or "plan.disks" in said:
            path = [*offer.path, *(key.groups() if key else ())]
            return f"{file.place(path)}: {said.replace('plan.disks', 'plan.offer', 1)}"
        other = re.search(r"\bplan\.(\w+)", said)
        return f"{file.place(['plan', *(other.groups() if other else ())])}: {said}"

    def about_disk(said: str) -> str:
        return _of_part(file, offer, "disk", re.sub(r"\bdisk\b", "plan.offer.disk", said, count=1))

    def about_layouts(said: str) -> str:
        if offer.counts and re.match(r"layout\.disks\b", said):
            return _of_part(file, offer, "disks", said.replace("layout", "plan.offer", 1))
        named = re.sub(r"\b(sweep\.)?layout\b", "plan.offer.layouts", said, count=1)
        return _of_part(file, offer, "layouts", named)

    return [
        _Laid("plan", toml_value(plan), about_plan),
        _Laid("sweep.disk", toml_value([offer.disk]), about_disk),
        _Laid("sweep.layout", toml_value(offer.layouts), about_layouts),
    ]


def _of_part(file: PlanFile, offer: Offer, key: str, said: str) -> str:
    return f"{file.place([*offer.path, key])}: {said}"
