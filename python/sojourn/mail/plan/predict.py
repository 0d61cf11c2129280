"""What a policy would do: the list server simulated, replication by replication.

All policies face the same hosts, the same answers and the same outages, so that two of them are
compared replication by replication.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from sojourn._core import Case, Progress, Study
from sojourn._internal.formats import toml_lines
from sojourn._internal.units import PS_PER_S
from sojourn.analysis.intervals import sectioned_interval
from sojourn.analysis.observed import Observed, Series
from sojourn.analysis.statistics import Interval, Values
from sojourn.execution import inputs
from sojourn.execution.execute import processors
from sojourn.mail.plan.policy import Policy
from sojourn.mail.plan.world import World

PERCENTILES = (50, 95, 99)
NOTHING = "nothing"
# One of forty is expected below the least of so many, and one above the largest of them.
_FOR_A_RANGE = 39
# By how much times learnt from one delivery were off in others, and within which time lookups ended
# in another order: docs/how-to/why-does-my-list-take-five-hours.md has the measurement.
_OFF, _JITTER = 0.06, "3ms"


@dataclass(frozen=True)
class Scenario:
    """What a policy is tried on.

    Attributes:
        world: the internet.
        folder: where its file lies.
        burst: the study's `[list]`, a value a key.
        machine: the study's `[machine]`, likewise.
        seed: of all chance.
    """

    world: World
    folder: Path
    burst: Mapping[str, object]
    machine: Mapping[str, object]
    seed: int

    def study(self, policy: Policy, *, replications: int = 1, without: str = NOTHING) -> str:
        """The study that simulates a policy; its file belongs into the folder."""
        return (
            f'title = "A plan for a list"\nmodel = "mail"\nwithout = "{without}"\n'
            f"internet = {self.world.table}\n\n[list]\n{toml_lines(dict(self.burst))}"
            f"\n[policy]\n{toml_lines(policy)}\n[machine]\n{toml_lines(dict(self.machine))}"
            f"\n[run]\nreplications = {replications}\nseed = {self.seed}\n"
        )

    def parsed(
        self, policy: Policy, *, without: str = NOTHING, settings: Sequence[tuple[str, str]] = ()
    ) -> Study:
        """The same, checked, with settings put over it.

        Raises:
            StudyError: it cannot be run.
        """
        text = self.study(policy, without=without)
        return inputs.study(text, str(self.folder / "study.toml"), [*settings])

    def predict(self, policy: Policy, replications: int, *, without: str = NOTHING) -> "Predicted":
        """Simulate a policy.

        Raises:
            StudyError: it cannot be run.
        """
        case = self.parsed(policy, without=without).cases()[0]
        return Predicted(
            tuple(self._each(case, replications, lambda delays_s: delays_s)), case.jobs
        )

    def _each(self, case: Case, replications: int, of: Callable[[Values], Values]) -> list[Values]:
        """What is wanted of how long the deliveries of each replication took."""
        progress = Progress()
        with ThreadPoolExecutor(max_workers=processors(), thread_name_prefix="policy") as pool:
            try:
                return [*pool.map(lambda n: of(_run(case, n, progress)), range(replications))]
            except BaseException:
                progress.cancel()
                raise

    def of_one(self, policy: Policy, predicted: "Predicted") -> dict[int, Interval]:
        """Between which times 95 of 100 mailings reach each of the percentiles, in seconds.

        Of so many replications the least and the largest (G. Hahn, W. Meeker, Statistical
        Intervals, chapter 5). In an internet that is listed their lookups end in other orders,
        and both ends leave room for what one log cannot tell of other days.

        Args:
            policy: the policy.
            predicted: what it does; the first replication without other orders counts too.
        """
        settings = [("internet.jitter", _JITTER)] if self.world.listed else []
        case = self.parsed(policy, settings=settings).cases()[0]
        own = np.array(self._each(case, _FOR_A_RANGE, percentiles))
        if self.world.listed:
            own = np.concatenate([own, predicted.own[:1]])
        off = _OFF if self.world.listed else 0.0
        ends = zip(own.min(axis=0) * (1 - off), own.max(axis=0) * (1 + off), strict=True)
        return {
            percentile: (float(low), float(high))
            for percentile, (low, high) in zip(PERCENTILES, ends, strict=True)
        }


@dataclass(frozen=True)
class Predicted:
    """What a policy did.

    Attributes:
        delays_s: for each replication how long what was delivered took.
        deliveries: how many there are to be made in a replication.
    """

    delays_s: tuple[Values, ...]
    deliveries: int

    @property
    def delivered(self) -> float:
        """The share that was delivered."""
        made = sum(delays.size for delays in self.delays_s)
        return made / (self.deliveries * len(self.delays_s))

    @cached_property
    def own(self) -> Values:
        """The percentiles of each replication: a row a replication."""
        return np.array([percentiles(delays) for delays in self.delays_s])

    def within_s(self, percentile: int) -> float:
        """When so many per cent of all that was delivered was."""
        return float(percentiles(np.concatenate(self.delays_s))[PERCENTILES.index(percentile)])

    def ci95_s(self, percentile: int) -> Interval | None:
        """The 95 % interval of that."""
        if not all(delays.size for delays in self.delays_s):
            return None
        replications = Series(self.delays_s, self.deliveries, instants=1)
        return Observed([replications]).interval(percentile / 100)[0]

    def to_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "replications": len(self.delays_s),
            "delivered": self.delivered,
            **{
                f"p{percentile}_s": {
                    "value": self.within_s(percentile),
                    "ci95": self.ci95_s(percentile),
                }
                for percentile in PERCENTILES
            },
        }


def sooner(by: Predicted, than: Predicted, percentile: int) -> tuple[float, Interval | None]:
    """By what share of its time one policy or world is sooner than another, with a 95 % interval.

    Both have the same replications; the interval is that of their differences.
    """
    place = PERCENTILES.index(percentile)
    old, new = than.own[:, place], by.own[:, place]
    if not np.isfinite(old).all() or not np.isfinite(new).all():
        return float("nan"), None
    share = 1 - float(new.mean() / old.mean())
    # Linear in the deviations of both means (delta method).
    own = share + ((1 - share) * old - new) / old.mean()
    return share, sectioned_interval(share, own)


def percentiles(delays_s: Values) -> Values:
    """`PERCENTILES` of what was delivered, as `mail deliver` counts them; infinite of nothing."""
    if not delays_s.size:
        return np.full(len(PERCENTILES), np.inf)
    found: Values = np.percentile(delays_s, PERCENTILES, method="inverted_cdf")
    return found


def _run(case: Case, replication: int, progress: Progress) -> Values:
    columns = case.run(replication, progress).columns
    codes, names = columns["kind"]
    sojourn = np.asarray(columns["sojourn_ps"])[codes == names.index("delivery")]
    delays: Values = sojourn[sojourn >= 0].astype(np.float64) / PS_PER_S
    return delays
