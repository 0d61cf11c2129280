"""Whether values rise over a run: the sign of a queue that grows, of more work than capacity."""

from collections.abc import Sequence

import numpy as np

from sojourn.analysis.intervals import BATCHES
from sojourn.analysis.statistics import Values

# One run in ten thousand without a trend looks as if it had one; a trend that raises the last
# quarter by less than a fifth over the first is none that a user must be warned of.
_NORMAL_QUANTILE = 3.719
_LEAST_RISE = 1.2
_LEAST_VALUES = 10 * BATCHES


def rises(runs: Sequence[Values]) -> bool:
    """Whether the values of independent runs, each in order of arrival, rise to their end.

    Each run is cut into `BATCHES` means. The Mann-Kendall statistic counts the pairs of means that
    rise over those that fall; runs are independent, so that their statistics and variances add.
    A run of fewer than ten values a batch says nothing.

    Source: Mann, "Nonparametric tests against trend", Econometrica 13, 1945; Kendall, Rank
    Correlation Methods, 1948.
    """
    means = [
        np.array([batch.mean() for batch in np.array_split(values, BATCHES)])
        for values in runs
        if values.size >= _LEAST_VALUES
    ]
    if not means:
        return False
    upper = np.triu_indices(BATCHES, 1)
    rising = sum(float(np.sign(run[None, :] - run[:, None])[upper].sum()) for run in means)
    spread = np.sqrt(len(means) * BATCHES * (BATCHES - 1) * (2 * BATCHES + 5) / 18)
    quarter = BATCHES // 4
    first = sum(float(run[:quarter].sum()) for run in means)
    last = sum(float(run[-quarter:].sum()) for run in means)
    return rising > _NORMAL_QUANTILE * spread and last > _LEAST_RISE * first
