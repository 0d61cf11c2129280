"""How much of unfinished jobs was received by the end of their runs."""

from dataclasses import dataclass

import numpy as np

from sojourn._internal.vocabulary import RECEIVED
from sojourn.analysis.sample import Group
from sojourn.store.ledger import Value


@dataclass(frozen=True)
class Unfinished:
    """What was received of a group's jobs that were not done by the end of their run, in bytes.

    `share` is that of all their bytes; `quantiles` are `min`, `p5`, `p50`, `p95` and `max` over
    the jobs.
    """

    case: dict[str, Value | None]
    kind: str
    n: int
    mean: float
    share: float
    quantiles: dict[str, float]

    def flat(self) -> dict[str, object]:
        """These numbers as a JSON object."""
        return {"n": self.n, "mean": self.mean, "share": self.share, **self.quantiles}


def unfinished(group: Group) -> Unfinished | None:
    """What was received of a group's unfinished jobs; None of none, or where it is not known."""
    received, sizes = [], []
    for part in group.sample.parts:
        known = part.unfinished() & ~np.isnan(part.metrics[RECEIVED])
        received.append(part.metrics[RECEIVED][known])
        sizes.append(part.size_bytes[known])
    values = np.concatenate(received)
    if not values.size:
        return None
    names = {"min": 0, "p5": 5, "p50": 50, "p95": 95, "max": 100}
    return Unfinished(
        case=group.case,
        kind=group.kind,
        n=values.size,
        mean=float(values.mean()),
        share=float(values.sum() / np.concatenate(sizes).sum(dtype=np.float64)),
        quantiles={name: float(np.percentile(values, at)) for name, at in names.items()},
    )
