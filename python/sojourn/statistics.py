"""The numbers said about a sample: warm-up, means, quantiles, and their 95 % intervals.

An interval comes from *sections* of the sample that are as good as independent: one section a
replication where there are several, otherwise `BATCHES` consecutive parts of the one run.
Everything here works on plain arrays and knows nothing of runs or files.
"""

from collections.abc import Sequence
from math import inf
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn._core import student_t_probability, student_t_quantile

Values: TypeAlias = npt.NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]

BATCHES = 20
CONFIDENCE = 0.95
_MSER_BATCH = 5


def mser5(series: Values) -> int:
    """How many leading values are warm-up, by the rule MSER-5.

    The series is averaged in fives; of all cuts in its first half, the one is taken after which
    the squared standard error of the mean, `sum((y - mean)**2) / m**2`, is smallest.

    Source: White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for
    simulation", WSC 2000.
    """
    batches = series.size // _MSER_BATCH
    if batches < 2:
        return 0
    means = series[: batches * _MSER_BATCH].reshape(batches, _MSER_BATCH).mean(axis=1)
    means -= np.median(means)  # sums of squares cancel less there, and a constant is exactly 0
    kept = np.arange(batches, 0, -1)
    total = np.cumsum(means[::-1])[::-1]
    squares = np.cumsum(means[::-1] ** 2)[::-1]
    error = (squares - total**2 / kept) / kept.astype(np.float64) ** 2
    return int(np.argmin(error[: batches // 2 + 1])) * _MSER_BATCH


def warmup(arrived_ps: npt.NDArray[np.int64], slowdown: Values) -> tuple[int, int]:
    """The warm-up of a run by MSER-5 on the slowdown of its finished jobs in order of arrival.

    Returns:
        How many jobs it holds, and the arrival of the first job after it. Jobs that arrive
        together stay together, so a run whose jobs all arrive at once has no warm-up.
    """
    arrived, series = arrived_ps, slowdown
    if np.any(arrived[1:] < arrived[:-1]):
        order = np.argsort(arrived, kind="stable")
        arrived, series = arrived[order], series[order]
    finished = ~np.isnan(series)
    if not finished.all():
        arrived, series = arrived[finished], series[finished]
    cut = mser5(series)
    if cut == 0:
        return 0, 0
    start = int(arrived[cut])
    return int(np.count_nonzero(arrived_ps < start)), start


def batches(sample: Values) -> list[Values]:
    """A sample in order of arrival, cut into `BATCHES` consecutive parts of near equal size."""
    return np.array_split(sample, BATCHES)


def mean_interval(sections: Sequence[Values]) -> Interval | None:
    """The 95 % interval of the mean over all values of the sections; Student's t.

    Sections may differ in size: the mean is a ratio of sums, and the deviation of section `i`
    from it is `sum_i - mean * n_i`. With equal sizes this is the textbook interval over the
    section means. None below two sections, or where sections hold fewer than two values each on
    average.

    Source: Law, Simulation Modeling and Analysis, chapter 9: batch means, and the ratio estimator
    of the regenerative method.
    """
    number = len(sections)
    counts = np.array([section.size for section in sections], dtype=np.float64)
    if number < 2 or counts.sum() < 2 * number:
        return None
    return sum_ratio_interval(np.array([section.sum() for section in sections]), counts)


def sum_ratio_interval(over: Values, under: Values) -> Interval | None:
    """The 95 % interval of `over.sum() / under.sum()`, one pair of sums a section; Student's t.

    None below two sections.

    Source: the ratio estimator of the regenerative method, as in `mean_interval`.
    """
    if over.size < 2:
        return None
    ratio = float(over.sum() / under.sum())
    return _around(ratio, (over - ratio * under) / under.sum())


def mean_ratio_interval(over: Sequence[Values], under: Sequence[Values]) -> Interval | None:
    """The 95 % interval of the mean of one sample over the mean of another; Student's t.

    Section `i` of the one belongs to section `i` of the other: what moves both, such as the
    same arrivals, moves the ratio little. Linear in the deviations of both means (delta method).
    None where one of the two means has no interval.
    """
    if len(over) != len(under) or not (mean_interval(over) and mean_interval(under)):
        return None
    (above, above_deviation), (below, below_deviation) = _deviations(over), _deviations(under)
    ratio = above / below
    return _around(ratio, (above_deviation - ratio * below_deviation) / below)


def quantile_ratio_interval(
    over: Sequence[Values], under: Sequence[Values], percentile: float
) -> Interval | None:
    """The 95 % interval of a percentile of one sample over that of another; Student's t.

    By sectioning in pairs, as `mean_ratio_interval`. None where one of the two percentiles has
    no interval.
    """
    centres = [float(np.percentile(np.concatenate(sample), percentile)) for sample in (over, under)]
    both = [
        quantile_intervals(sample, [percentile], [centre])[0]
        for sample, centre in zip((over, under), centres, strict=True)
    ]
    if len(over) != len(under) or not all(both):
        return None
    ratio = centres[0] / centres[1]
    own = [
        np.percentile(a, percentile) / np.percentile(b, percentile)
        for a, b in zip(over, under, strict=True)
    ]
    return _around(ratio, (np.array(own) - ratio) / len(own))


def independent_ratio_interval(
    over: tuple[float, Interval, int], under: tuple[float, Interval, int]
) -> Interval:
    """The 95 % interval of a number over another that is independent of it; Student's t.

    Each is the number, its own 95 % interval, and how many sections that came from. The relative
    variances add (delta method); the degrees of freedom are Welch's.

    Source: Welch, "The generalization of Student's problem", Biometrika 34, 1947.
    """
    ratio, variance = over[0] / under[0], sum(_relative_variances(over, under))
    if variance == 0:
        return ratio, ratio
    half = _student_t(welch_degrees(over, under)) * abs(ratio) * float(np.sqrt(variance))
    return ratio - half, ratio + half


def welch_degrees(*estimates: tuple[float, Interval, int]) -> float:
    """The degrees of freedom of `independent_ratio_interval`; infinite where nothing varies."""
    relative = _relative_variances(*estimates)
    shares = zip(relative, (number for *_, number in estimates), strict=True)
    below = sum(one**2 / (number - 1) for one, number in shares)
    return sum(relative) ** 2 / below if below else inf


def _relative_variances(*estimates: tuple[float, Interval, int]) -> list[float]:
    return [
        ((high - low) / 2 / _student_t(number - 1) / centre) ** 2
        for centre, (low, high), number in estimates
    ]


def probability_by_chance(deviation: float, half: float, degrees: float) -> float:
    """How probable it is to be so far off by chance, two-sided; `half` is that of a 95 % interval.

    Source: the t test that belongs to the interval.
    """
    if not half or not np.isfinite([deviation, half]).all():
        return float(deviation == 0 or not np.isfinite(deviation))
    value = abs(deviation) / half * _student_t(degrees)
    return 2 * (1 - student_t_probability(degrees, value))


def holm(probabilities: Sequence[float]) -> list[bool]:
    """Which of several findings are beyond chance, so that all of them hold with 95 %.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
    of Statistics 6, 1979.
    """
    beyond = [False] * len(probabilities)
    ranked = sorted(range(len(probabilities)), key=lambda place: probabilities[place])
    for tested, place in enumerate(ranked):
        if probabilities[place] > (1 - CONFIDENCE) / (len(probabilities) - tested):
            break
        beyond[place] = True
    return beyond


def quantile_intervals(
    sections: Sequence[Values], percentiles: Sequence[float], centres: Sequence[float]
) -> list[Interval | None]:
    """The 95 % intervals of percentiles by sectioning; Student's t.

    `centres` are the percentiles of all values together; the spread of the sections' own
    percentiles around them gives the widths. None below two sections, or where a section is too
    small to have such a percentile: it needs a value on each side of it.

    Source: Asmussen and Glynn, Stochastic Simulation, chapter III: sectioning.
    """
    number = len(sections)
    smallest = min((section.size for section in sections), default=0)
    if number < 2 or smallest == 0:
        return [None] * len(percentiles)
    own = np.array([np.percentile(section, percentiles) for section in sections])
    spread = np.sqrt(((own - np.asarray(centres)) ** 2).sum(axis=0) / (number - 1))
    halves = _student_t(number - 1) * spread / np.sqrt(number)
    return [
        (centre - half, centre + half) if smallest * min(p, 100 - p) >= 100 else None
        for p, centre, half in zip(percentiles, centres, halves.tolist(), strict=True)
    ]


def sectioned_interval(value: float, own: Values) -> Interval | None:
    """The 95 % interval of a statistic, out of its values in sections; Student's t.

    None below two sections.

    Source: Asmussen and Glynn, Stochastic Simulation, chapter III: sectioning.
    """
    return _around(value, (own - value) / own.size) if own.size > 1 else None


def jain(values: Values) -> float:
    """Jain's index of fairness: 1 where all have the same, 1 / n where one of n has all.

    Source: Jain, Chiu and Hawe, DEC technical report TR-301, 1984.
    """
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (values.size * squares) if squares else 1.0


def ks_distance(a: Values, b: Values) -> float:
    """The Kolmogorov-Smirnov distance of two samples: how far their distribution functions part.

    Values may be infinite; neither sample may be empty.
    """
    where = np.concatenate([a, b])
    shares = [np.searchsorted(np.sort(one), where, side="right") / one.size for one in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


def ks_probability(a: Sequence[Values], b: Sequence[Values], *, paired: bool) -> float | None:
    """How probable so large a Kolmogorov-Smirnov distance is by chance, from samples in sections.

    A permutation test: sections, which are as good as independent where single jobs are not, are
    dealt anew to the two samples, within their pairs where section `i` of the one belongs to that
    of the other. None where they are too few for any distance to be beyond chance: to cut them
    would take what differs from one to the next for a difference of the samples.

    Source: E. Edgington, P. Onghena, Randomization Tests, chapters 3 and 6.
    """
    both = [*a, *b]
    if min(len(a), len(b)) < _ENOUGH_SECTIONS or not all(section.size for section in both):
        return None
    grid = np.unique(np.quantile(np.concatenate(both), np.linspace(0, 1, _GRID), method="lower"))
    upto = np.array([np.searchsorted(np.sort(s), grid, side="right") for s in both])
    sizes = np.array([section.size for section in both])

    def distance(first: npt.NDArray[np.bool_]) -> float:
        share = upto[first].sum(0) / sizes[first].sum() - upto[~first].sum(0) / sizes[~first].sum()
        return float(np.abs(share).max())

    dealt = np.arange(len(both)) < len(a)
    seen = distance(dealt)
    chance = np.random.default_rng(0)
    as_far = 0
    for _ in range(_DEALS):
        if paired:
            swapped = chance.random(len(a)) < 1 / 2
            first = np.concatenate([~swapped, swapped])
        else:
            first = chance.permutation(dealt)
        as_far += distance(first) >= seen - 1e-12
    return (1 + as_far) / (1 + _DEALS)


_ENOUGH_SECTIONS = 8
_DEALS = 999
_GRID = 513


def _deviations(sections: Sequence[Values]) -> tuple[float, Values]:
    """The mean of all values, and what each section adds to its deviation."""
    sums = np.array([section.sum() for section in sections])
    counts = np.array([section.size for section in sections], dtype=np.float64)
    mean = float(sums.sum() / counts.sum())
    return mean, (sums - mean * counts) / counts.sum()


def _around(centre: float, deviations: Values) -> Interval:
    """The interval of an estimate whose deviation is the sum of its sections' deviations."""
    number = deviations.size
    spread = float(np.sqrt((deviations**2).sum() * number / (number - 1)))
    half = _student_t(number - 1) * spread
    return centre - half, centre + half


def _student_t(degrees: float) -> float:
    return student_t_quantile(degrees, (1 + CONFIDENCE) / 2)
