"""Claims of a paper, as data, and what became of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

from sojourn._internal.units import count, number
from sojourn.analysis.statistics import Interval
from sojourn.reproduction.measures import Measured
from sojourn.reproduction.results import Point

Span: TypeAlias = tuple[float, float]

_INAPPLICABLE = "not applicable"
_LATE = 0.1  # a larger share of bytes under way at the end of the arrivals is worth a word

# Which values agree with a claimed one, by how much they may be off it.
RULES: dict[str, Callable[[float, float], Span]] = {
    "about": lambda end, within: (end * (1 - within), end * (1 + within)),
    "at least": lambda end, within: (end * (1 - within), inf),
    "at most": lambda end, within: (-inf, end * (1 + within)),
}
COVERS = "covers"
"""The rule of a claim whose value has to lie between the smallest and the largest measured one."""


@dataclass(frozen=True)
class Claim:
    """What a paper says, where, in numbers, and how that is measured here: a table of data.

    `paper_says` are the paper's own words; what is not in them and we expect for our reasons is
    `we_expect`. `figures` are those it is about. `ends` are the smallest and the largest value
    claimed, equal where there is one; a measured value agrees by the `rule` when it is off by
    `within` (a share) at most, `because` of a reason in one sentence. `finding` is what was found
    out about a claim that does not hold. `measure` has the `kind` of a measure, and its parameters.
    `inapplicable` says why it cannot be judged here at all.
    """

    figures: tuple[str, ...]
    claim: str
    source: str
    ends: Span
    rule: str
    within: float
    because: str
    measure: Mapping[str, Any]
    paper_says: str | None = None
    we_expect: str | None = None
    finding: str = ""
    inapplicable: str = ""

    def __post_init__(self) -> None:
        if (self.paper_says is None) == (self.we_expect is None):
            raise ValueError(f"{self.claim}: expected either paper_says or we_expect")

    @staticmethod
    def of(table: Mapping[str, Any]) -> "Claim":
        """The claim that a table of `claims.toml` holds."""
        ends = table["ends"]
        low, high = ends if isinstance(ends, list) else (ends, ends)
        figures = tuple(table["figures"])
        return Claim(**{**table, "figures": figures, "ends": (float(low), float(high))})

    @property
    def needs(self) -> Sequence[str]:
        """The runs that it is measured in."""
        runs: Sequence[str] = self.measure.get("runs", ())
        return runs or [self.measure[name] for name in ("run",) if name in self.measure]

    @property
    def accepted(self) -> tuple[Span, Span]:
        """The values that agree with the smallest claimed, and with the largest."""
        if self.rule == COVERS:
            below, above = self.ends
            return RULES["at most"](below, self.within), RULES["at least"](above, self.within)
        low, high = (RULES[self.rule](end, self.within) for end in self.ends)
        return low, high


@dataclass(frozen=True)
class Verdict:
    """A claim, what was measured, and whether the two agree; the contract's JSON object.

    Either `paper_says` quotes the text, or `we_expect` something that is not in it.
    `measured` is one number, or the smallest and the largest where the claim is about several
    values; None where no job finished that it could be measured on, or a case is not run once.
    """

    paper: str
    figure: str
    claim: str
    source: str
    paper_says: str | None
    we_expect: str | None
    measured: float | Span | None
    ci95: Interval | None
    holds: bool
    note: str

    @property
    def answer(self) -> bool | None:
        """Whether the claim holds; None where it could not be measured."""
        return None if self.measured is None else self.holds

    @property
    def is_applicable(self) -> bool:
        """Whether it can be judged here."""
        return not self.note.startswith(_INAPPLICABLE)


def judge(claim: Claim, measured: Measured, *, paper: str, remarks: Sequence[str]) -> Verdict:
    """Whether a claim holds.

    Args:
        claim: the claim.
        measured: what was measured of it.
        paper: the paper's name.
        remarks: what a reader must know of the runs; they close the note.
    """
    value: float | Span | None = None
    ci95, holds = None, False
    notes = [f"accepted {_accepted(claim)}: {claim.because}"]
    if claim.inapplicable:
        notes = [f"{_INAPPLICABLE}: {claim.inapplicable}"]
    elif measured.lacking:
        notes.append(f"not judged: {count(measured.lacking, 'case')} not run yet")
    elif measured.too_short:
        notes.append(f"not judged: {measured.too_short}")
    elif not measured.points:
        notes.append("not measured: no job of this size finished")
    else:
        low, high = measured.ends
        value = low.value if low is high else (low.value, high.value)
        ci95 = measured.ci95
        ends = list(zip((low, high), claim.accepted, strict=True))
        inside = [_inside(end.value, span) for end, span in ends]
        holds = all(inside) and all(condition.holds for condition in measured.conditions)
        if low is not high:
            notes.append(f"smallest for {low.where}, largest for {high.where}")
        if measured.conditions:
            notes += [condition.words for condition in measured.conditions]
        elif any(end.ci95 is None for end in (low, high)):
            notes.append("no interval: too few jobs for one")
        elif any(_crosses(end, span) for end, span in ends):
            notes.append("the interval reaches over a limit: only more jobs can tell for sure")
        if measured.late > _LATE:
            notes.append(
                f"up to {measured.late:.0%} of the bytes were in jobs not done when the last one"
                " arrived: too short a run, or its queues do not settle"
            )
        if not holds and claim.finding:
            notes.append(claim.finding)
    if measured.unfinished:
        left_out = count(measured.unfinished, "unfinished job")
        notes.append(f"{left_out} left out, up to {measured.most_unfinished:.2%} of a case's")
    notes += remarks
    return Verdict(
        paper=paper,
        figure=", ".join(claim.figures),
        claim=claim.claim,
        source=claim.source,
        paper_says=claim.paper_says,
        we_expect=claim.we_expect,
        measured=value,
        ci95=ci95,
        holds=holds,
        note="; ".join(notes),
    )


def _accepted(claim: Claim) -> str:
    low, high = claim.accepted
    return _words(low) if low == high else f"{_words(low)} and {_words(high)} at the other end"


def _words(span: Span) -> str:
    low, high = span
    if high == inf:
        return f"from {number(low)} on"
    return f"up to {number(high)}" if low == -inf else f"{number(low)} to {number(high)}"


def _inside(value: float, span: Span) -> bool:
    return span[0] <= value <= span[1]


def _crosses(point: Point, span: Span) -> bool:
    """Whether a value inside the interval would be judged otherwise."""
    low, high = point.ci95 or (point.value, point.value)
    return any(low < limit < high for limit in span)
