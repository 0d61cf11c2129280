"""What each model calls its jobs, and what is asked of them, out of the engine's registry."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from sojourn import _core
from sojourn._internal.parameter_labels import label_of
from sojourn._internal.units import PS_PER_MS

ALL_SIZES = "all"
"""The bin of jobs of every size."""

MISSED = "missed_deadline"
GOODPUT = "goodput_bps"
RECEIVED = "received_bytes"


@dataclass(frozen=True)
class Metric:
    """Something that is measured of a job: its column, its name, and the unit that it is shown in.

    `per_unit` is how many of the column's units that is. `shown` says that tables and pictures show
    it without being asked.
    """

    column: str
    name: str
    unit: str
    per_unit: float
    shown: bool

    @property
    def bracketed(self) -> str:
        """The unit as it stands behind a name: ` [ms]`; nothing for a plain number."""
        return f" [{self.unit}]" if self.unit else ""

    @property
    def title(self) -> str:
        """The name with its unit."""
        return self.name + self.bracketed


@dataclass(frozen=True)
class JobKind:
    """One kind of job: how tables call it, what is measured of it, and its size bins.

    Metrics stand with the most important first. `bins` are the ends of each, in bytes: the lower
    one is outside of it. `part_of` is the kind that these are parts of. `note` says what their time
    is, where its name does not.
    """

    name: str
    label: str
    plural: str
    part_of: str | None
    metrics: tuple[Metric, ...]
    bins: dict[str, tuple[float, float]]
    note: str

    @property
    def shown(self) -> tuple[Metric, ...]:
        """What is shown of it without being asked."""
        return tuple(metric for metric in self.metrics if metric.shown)

    @property
    def main(self) -> Metric:
        """What is asked first."""
        return self.metrics[0]

    @property
    def time(self) -> Metric | None:
        """Its sojourn time, under the name that its model gives it; None if it has no end."""
        return next((metric for metric in self.metrics if metric.column == "sojourn_ps"), None)

    def ordered(self, columns: Iterable[str]) -> list[str]:
        """Columns of metrics, the most important first; columns of other kinds come last."""
        own = [metric.column for metric in self.metrics]
        return sorted(columns, key=lambda name: own.index(name) if name in own else len(own))

    def metric(self, column: str) -> Metric:
        """The words for a column of the rows."""
        known = {metric.column: metric for metric in self.metrics}
        return (
            known.get(column) or _OTHERS.get(column) or Metric(column, column, "", 1, shown=False)
        )


@dataclass(frozen=True)
class BackgroundWork:
    """Work beside the jobs: its name, and the totals that hold its progress and its end."""

    name: str
    done: str
    of: str
    ended: str


@dataclass(frozen=True)
class Phrase:
    """The words for the values of a parameter; `{}` stands for the value."""

    parameter: str
    none: str
    one: str
    several: str

    def of(self, value: object) -> str:
        """The words for a value: `none`, one, or several in square brackets."""
        text = str(value)
        if text in ("none", "[]"):
            return self.none
        if text.startswith("["):
            return self.several.format(text.strip("[]").replace(", ", " and "))
        return self.one.format(text)


@dataclass(frozen=True)
class Caution:
    """A figure of a case that a caution tells of.

    A figure that holds words has several of them with `; ` between. Of a number the caution is
    given from the value `from_` on. In `text`, `{}` stands for the words, or for the largest value
    in per cent, and `{cases}` for the cases it is about.
    """

    total: str
    from_: float | None
    text: str

    def of(self, found: str | float, cases: str) -> str:
        """The caution about what was found in these cases."""
        shown = found if isinstance(found, str) else f"{100 * found:.4g}%"
        return self.text.replace("{}", shown).replace("{cases}", cases)


@dataclass(frozen=True)
class Doubts:
    """Figures that say why the numbers of a case may not be trusted.

    `stations` are the busy shares of the busiest station of a kind, with a caution for one that is
    busy all the time. `offered` are the shares of its capacity that are offered to a station: from
    1 on there is no steady state. A case in a closed loop has the figure `closed_loop`, its depth.
    A case that has one of the figures `failures` came to no good end.
    """

    cautions: tuple[Caution, ...] = ()
    stations: tuple[Caution, ...] = ()
    offered: tuple[str, ...] = ()
    closed_loop: str | None = None
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Vocabulary:
    """The words of a model.

    `work` are the units that a benchmark counts, and for each the total of a run that holds the
    count: the first that is not zero. `percentiles`, in per cent, are shown where none are asked
    for. `lengths` are the parameters that say how many jobs arrive, or how long they are measured.
    `totals` are those of a case that have a separate table, `split` the column of the rows whose
    values have separate lines in it, if any. A line below a table says how far `background` work
    got. `phrases` are parameters whose values legends put in words. `doubts` are totals that say
    why the numbers of a case may not be trusted.
    """

    work: dict[str, str]
    percentiles: tuple[float, ...]
    lengths: tuple[str, ...]
    kinds: dict[str, JobKind]
    totals: tuple[Metric, ...]
    split: str | None
    background: tuple[BackgroundWork, ...]
    phrases: tuple[Phrase, ...]
    doubts: Doubts


_OTHERS = {
    MISSED: Metric(MISSED, "missed deadlines", "%", 0.01, shown=True),
    GOODPUT: Metric(GOODPUT, "goodput", "Mb/s", 1e6, shown=True),
}
_TIMES = (
    Metric("sojourn_ps", "sojourn time", "ms", PS_PER_MS, shown=True),
    Metric("slowdown", "slowdown", "", 1, shown=True),
)
_ANY = Vocabulary({}, (50.0, 90.0, 95.0, 99.0), (), {}, (), None, (), (), Doubts())


@cache
def models() -> dict[str, Vocabulary]:
    """The vocabularies of all models, by their names."""
    return {name: _vocabulary(words) for name, words in json.loads(_core.vocabulary()).items()}


@cache
def doubts() -> Doubts:
    """Those of all models: a figure means the same whichever model has it."""
    found = [model.doubts for model in models().values()]
    return Doubts(
        cautions=tuple(one for own in found for one in own.cautions),
        stations=tuple(one for own in found for one in own.stations),
        offered=tuple(name for own in found for name in own.offered),
        closed_loop=next((own.closed_loop for own in found if own.closed_loop), None),
        failures=tuple(name for own in found for name in own.failures),
    )


def loop_depth() -> str:
    """The figure of a case in a closed loop that says how deep it is."""
    return doubts().closed_loop or ""


def jobs_of(model: str) -> str:
    """What several jobs of a model are called."""
    return next(iter(models()[model].kinds.values())).plural


def kind_of(name: str) -> JobKind:
    """The kind of that name; of one that no model has, what can be said of any job."""
    for model in models().values():
        if name in model.kinds:
            return model.kinds[name]
    return JobKind(name, name, f"{name}s", None, _TIMES, {}, "")


def of_kinds(kinds: Iterable[str]) -> Vocabulary:
    """The words of the model whose jobs are of these kinds; of none, what suits any."""
    names = set(kinds)
    return next((m for m in models().values() if names & m.kinds.keys()), _ANY)


def phrase_of(column: str) -> Phrase | None:
    """The words for the values of a column of the cases; None where a value stands as it is."""
    parameter = column.rpartition(".")[2]
    found = (own for model in models().values() for own in model.phrases)
    return next((own for own in found if own.parameter == parameter), None)


def worded(case: Iterable[tuple[str, object]], between: str = " ") -> str:
    """The values of a case in a sentence: `servers asked 20, disk 0 failed`."""
    phrases = ((name, value, phrase_of(name)) for name, value in case)
    return ", ".join(
        phrase.of("none" if value is None else value)
        if phrase
        else f"{label_of(name)}{between}{value}"
        for name, value, phrase in phrases
    )


def order(kinds: Iterable[str]) -> list[str]:
    """Kinds in the order of their models; unknown ones behind."""
    known = [name for model in models().values() for name in model.kinds]
    return sorted(dict.fromkeys(kinds), key=lambda k: known.index(k) if k in known else len(known))


def plural_of(kinds: Iterable[JobKind]) -> str:
    """What jobs of these kinds are called together."""
    plurals = {kind.plural for kind in kinds}
    return plurals.pop() if len(plurals) == 1 else "jobs"


def sizes(size_bin: str) -> str:
    """A bin of sizes in a sentence: `(0,100KB]` are sizes up to 100 KB."""
    ends = re.fullmatch(r"\((.+),(.+)[\])]", size_bin)
    if ends is None:
        return "all sizes" if size_bin == ALL_SIZES else size_bin
    least, most = (re.sub(r"(?<=\d)(?=[KMGT]?B$)", " ", end) for end in ends.groups())
    if most == "inf":
        return f"sizes over {least}"
    return f"sizes up to {most}" if least == "0" else f"sizes from {least} to {most}"


def size(size_bin: str) -> str:
    """A bin of sizes in a table's cell: `up to 100 KB`."""
    if size_bin == ALL_SIZES:
        return size_bin
    return sizes(size_bin).removeprefix("sizes ").removeprefix("from ")


def whole(names: Iterable[str]) -> list[JobKind]:
    """The kinds of those names, without those whose jobs are parts of the others'."""
    there = [kind_of(name) for name in order(names)]
    known = {kind.name for kind in there}
    return [kind for kind in there if kind.part_of not in known]


def _vocabulary(words: dict) -> Vocabulary:  # type: ignore[type-arg]
    return Vocabulary(
        work=dict(words["work"]),
        percentiles=tuple(words["percentiles"]),
        lengths=tuple(words["lengths"]),
        kinds={
            kind["name"]: JobKind(
                **{
                    **kind,
                    "metrics": tuple(Metric(**metric) for metric in kind["metrics"]),
                    "bins": {
                        b["name"]: (b["above"], float("inf") if b["upto"] is None else b["upto"])
                        for b in kind["bins"]
                    },
                }
            )
            for kind in words["kinds"]
        },
        totals=tuple(Metric(**metric) for metric in words["totals"]),
        split=words["split"],
        background=tuple(BackgroundWork(**work) for work in words["background"]),
        phrases=tuple(Phrase(**phrase) for phrase in words["phrases"]),
        doubts=Doubts(
            cautions=tuple(Caution(*own.values()) for own in words["doubts"]["cautions"]),
            stations=tuple(Caution(*own.values()) for own in words["doubts"]["stations"]),
            offered=tuple(words["doubts"]["offered"]),
            closed_loop=words["doubts"]["closed_loop"],
            failures=tuple(words["doubts"]["failures"]),
        ),
    )
