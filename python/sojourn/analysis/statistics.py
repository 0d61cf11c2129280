"""What is said of samples beside their intervals: tests, distances, fairness.

Everything here works on plain arrays and knows nothing of runs or files.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn._core import student_t_probability, student_t_quantile

Values: TypeAlias = npt.NDArray[np.float64]
Interval: TypeAlias = tuple[float, float]

CONFIDENCE = 0.95


def probability_by_chance(deviation: float, half: float, degrees: float) -> float:
    """How probable it is to be so far off by chance, two-sided.

    `half` is how far the end of a 95 % interval is from its middle, on the side of no deviation.

    Source: the t test that belongs to the interval.
    """
    if not half or not np.isfinite([deviation, half]).all():
        return float(deviation == 0 or not np.isfinite(deviation))
    value = abs(deviation) / half * student_t(degrees)
    return 2 * (1 - student_t_probability(degrees, value))


def sign_flip_probability(differences: Values) -> float:
    """How probable so large a mean of paired differences is by chance, two-sided.

    If two samples do not differ, each difference is as likely its negative: of all ways to flip
    their signs it is the share that gives a mean as far from zero. Exact; of more than twenty
    differences neighbours are added up.

    Source: E. Pitman, "Significance tests which may be applied to samples from any populations",
    Supplement to the Journal of the Royal Statistical Society 4, 1937.
    """
    groups = np.array_split(differences.ravel(), min(differences.size, _FLIPPED))
    sums = np.array([group.sum() for group in groups])
    halves = [np.zeros(1), np.zeros(1)]
    for place, value in enumerate(sums):
        own = halves[place % 2]
        halves[place % 2] = np.concatenate([own + value, own - value])
    far = abs(float(sums.sum())) * (1 - 1e-12)
    ranked = np.sort(halves[1])
    above = ranked.size - np.searchsorted(ranked, far - halves[0], "left")
    below = np.searchsorted(ranked, -far - halves[0], "right")
    return min(float((above + below).sum()) / (halves[0].size * ranked.size), 1.0)


_FLIPPED = 20


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
_DEALS = 1999
_GRID = 513


def student_t(degrees: float) -> float:
    """How many standard errors a 95 % interval reaches to either side."""
    return student_t_quantile(degrees, (1 + CONFIDENCE) / 2)
