"""Who is better: of one kind of job in one case, over all that is shown of a metric."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

from sojourn._internal.units import number
from sojourn._internal.vocabulary import ALL_SIZES, GOODPUT, kind_of, of_kinds, sizes, worded
from sojourn.analysis.comparison.difference import MEAN, Difference
from sojourn.analysis.comparison.metric_comparison import MetricComparison
from sojourn.analysis.statistics import CONFIDENCE, holm
from sojourn.store.ledger import Value


class Outcome(Enum):
    """What can be said of the second of two runs: better is shorter, of goodputs higher."""

    BETTER = "better"
    WORSE = "worse"
    TRADE_OFF = "trade-off"
    CHANCE = "may be chance"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """Which run is better in a metric of one kind of job in one case.

    On the whole a run is better where nothing that is shown, the mean and the percentiles of each
    size, is worse beyond chance. All that a comparison of two runs finds, in all cases and metrics,
    holds together with 95 % (Holm). `sentence` says it with the intervals.
    """

    case: dict[str, Value | None]
    kind: str
    metric: str
    outcome: Outcome
    sentence: str

    def flat(self) -> dict[str, object]:
        """The verdict as a JSON object."""
        return {
            "case": self.case,
            "kind": self.kind,
            "metric": self.metric,
            "verdict": self.outcome.value,
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class _Finding:
    """A number of a size, how far apart it is, and what that says of the second run."""

    bin: str
    name: str
    difference: Difference
    outcome: Outcome

    def __str__(self) -> str:
        which = "" if self.name == MEAN else f"{self.name} of "
        return f"{which}{sizes(self.bin)} by {self.difference}"


class _Words(NamedTuple):
    """What is said of the second run; of a measurement and its simulation, none is better."""

    better: str
    worse: str
    trade_off: str

    @staticmethod
    def of(metric: str, *, rivals: bool) -> "_Words":
        if rivals:
            return _Words("better", "worse", "a trade-off: ")
        return _Words("higher", "lower", "") if metric == GOODPUT else _Words("lower", "higher", "")


def verdicts(
    comparisons: Sequence[MetricComparison], names: tuple[str, str], *, rivals: bool
) -> Iterator[Verdict]:
    """One for each case, kind of job and metric; `names` are the runs'.

    One of `rivals` is better; of a measurement and its simulation one is lower.
    """
    together: dict[tuple[str, str, str], list[MetricComparison]] = {}
    for one in comparisons:
        together.setdefault((str(one.case), one.a.kind, one.a.metric), []).append(one)
    beyond = _beyond_chance(comparisons)
    for own in together.values():
        yield _verdict(own, names, beyond, _Words.of(own[0].a.metric, rivals=rivals))


# For each number of a comparison of which it can be told, whether it differs beyond chance.
_Beyond: TypeAlias = dict[tuple[int, str], bool]
_DISTRIBUTION = "distribution"


def _beyond_chance(comparisons: Sequence[MetricComparison]) -> _Beyond:
    """Everything that is said of two runs, judged together."""
    chances = {
        (id(one), name): difference.by_chance
        for one in comparisons
        for name, difference in one.differences.items()
        if difference and difference.by_chance is not None
    }
    chances |= {
        (id(one), _DISTRIBUTION): one.ks_by_chance
        for one in comparisons
        if one.a.bin == ALL_SIZES and one.ks_by_chance is not None
    }
    return dict(zip(chances, holm([*chances.values()]), strict=True))


def _verdict(
    of: Sequence[MetricComparison], names: tuple[str, str], beyond: _Beyond, words: _Words
) -> Verdict:
    whole = of[0]
    kind = kind_of(whole.a.kind)
    metric = kind.metric(whole.a.metric)
    findings = _findings(of, beyond)
    outcome, said, named = _judged(whole, findings, names, words, numbers=len(beyond))
    if by_size := _against(of, outcome):
        word = words.worse if outcome is Outcome.BETTER else words.better
        said += f"; {word} in {', '.join(by_size)}, which may be chance"
    if any(finding.difference.ci95 is None for finding in named):
        said += "; too short to estimate by how much in the long run"
    unfinished = [side.unfinished for side in (whole.a, whole.b)]
    if unfinished[0] != unfinished[1]:
        winner = {Outcome.BETTER: 1, Outcome.WORSE: 0}.get(outcome)
        told = f"{unfinished[0]:,} and {unfinished[1]:,}"
        said += f"; unfinished, and so in no mean: {told}"
        if winner is not None and unfinished[winner] > unfinished[1 - winner]:
            outcome = Outcome.TRADE_OFF
            said = f"{words.trade_off}{said}, which may be what {names[winner]} left undone"
    said += _distributions(whole, beyond)
    alike = [other for other in of_kinds([kind.name]).kinds.values() if other.plural == kind.plural]
    where = [worded(whole.case.items(), " = ")] if whole.case else []
    where += [kind.label if len(alike) > 1 else kind.plural, metric.name]
    sentence = f"{', '.join(where)}: {said}"
    return Verdict(whole.case, whole.a.kind, whole.a.metric, outcome, sentence)


def _judged(
    whole: MetricComparison,
    findings: Sequence[_Finding],
    names: tuple[str, str],
    words: _Words,
    *,
    numbers: int,
) -> tuple[Outcome, str, Sequence[_Finding]]:
    """What all numbers say together, that as a sentence, and the findings whose size it tells.

    So many `numbers` are judged.
    """
    better, worse = (
        [f for f in findings if f.outcome is o] for o in (Outcome.BETTER, Outcome.WORSE)
    )
    mean = next((f for f in findings if (f.bin, f.name) == (ALL_SIZES, MEAN)), None)
    if whole.a.mean == whole.b.mean and not (better or worse):
        return Outcome.CHANCE, "no difference in the mean", ()
    if mean is None:
        ends = (whole.a.mean, whole.b.mean)
        metric = kind_of(whole.a.kind).metric(whole.a.metric)
        told = [f"{number((end or 0) / metric.per_unit)} {metric.unit}".rstrip() for end in ends]
        why = "too few jobs or replications to tell whether that is chance"
        return Outcome.UNKNOWN, f"means of {told[0]} and {told[1]}; {why}", ()
    if better and worse:
        better, worse = _told(better), _told(worse)
        both = f"{words.better} in {_listed(better)}, {words.worse} in {_listed(worse)}"
        return Outcome.TRADE_OFF, f"{words.trade_off}{names[1]} is {both}", [*better, *worse]
    if not (better or worse):
        alone = (mean.difference.by_chance or 0.0) <= 1 - CONFIDENCE
        among = f" among {numbers} numbers judged together" if alone else ""
        said = f"{mean.difference} apart in the mean, which may be chance{among}"
        return Outcome.CHANCE, said, ()
    outcome = Outcome.BETTER if better else Outcome.WORSE
    word = words.better if better else words.worse
    if mean.outcome is outcome:
        return outcome, f"{names[1]} is {word}, by {mean.difference} in the mean", [mean]
    named = _told(better or worse)
    said = f"{names[1]} is {word} in {_listed(named)}"
    return outcome, f"{said}; the means, {mean.difference} apart, may differ by chance", named


def _findings(of: Sequence[MetricComparison], beyond: _Beyond) -> list[_Finding]:
    """Every number of every size of which it can be told what is chance."""
    more_is_better = of[0].a.metric == GOODPUT
    found = []
    for one in of:
        for name, difference in one.differences.items():
            is_beyond = beyond.get((id(one), name))
            if difference is None or is_beyond is None:
                continue
            outcome = Outcome.CHANCE
            if is_beyond:
                gains = (difference.per_cent > 0) == more_is_better
                outcome = Outcome.BETTER if gains else Outcome.WORSE
            found.append(_Finding(one.a.bin, name, difference, outcome))
    return found


def _against(of: Sequence[MetricComparison], outcome: Outcome) -> list[str]:
    """The sizes whose means say the opposite of what all together say, by no more than chance."""
    if outcome not in (Outcome.BETTER, Outcome.WORSE):
        return []
    lower_is_said = (outcome is Outcome.BETTER) != (of[0].a.metric == GOODPUT)
    found = [(one.a.bin, one.differences[MEAN]) for one in of if one.a.bin != ALL_SIZES]
    return [
        f"{sizes(size_bin)} by {difference}"
        for size_bin, difference in found
        if difference and difference.per_cent and (difference.per_cent > 0) == lower_is_said
    ]


def _told(findings: Sequence[_Finding]) -> list[_Finding]:
    """The findings of means, and of percentiles where the mean of that size says nothing."""
    means = {f.bin for f in findings if f.name == MEAN}
    return [f for f in findings if f.name == MEAN or f.bin not in means]


def _listed(findings: Sequence[_Finding]) -> str:
    return ", ".join(map(str, findings))


def _distributions(one: MetricComparison, beyond: _Beyond) -> str:
    """Nothing where they differ by more than chance alone, but not among all that is judged."""
    if one.ks is None or one.ks_by_chance is None:
        return ""
    if beyond[id(one), _DISTRIBUTION]:
        return f"; the distributions differ (KS {one.ks:.3f})"
    if one.ks_by_chance <= 1 - CONFIDENCE:
        return ""
    return f"; the distributions differ by no more than chance (KS {one.ks:.3f})"
