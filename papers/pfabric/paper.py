"""How claims of pFabric are measured that no other paper makes."""

from collections.abc import Sequence
from math import hypot, inf
from typing import Any

import numpy as np

from sojourn.analysis.ratio_intervals import total_interval
from sojourn.reproduction.measures import Measured, Results, ratio
from sojourn.reproduction.results import Point


def lead(results: Results, runs: Sequence[str], **ratios: Any) -> Measured:
    """A ratio, as `ratio` measures it, in the first of two runs over the same in the second."""
    ours, theirs = (ratio(results, runs=(run,), **ratios) for run in runs)
    comparable = len(ours.points) == len(theirs.points)
    pairs = zip(ours.points, theirs.points, strict=True) if comparable else ()
    return Measured(
        points=tuple(_quotient(a, b) for a, b in pairs),
        unfinished=ours.unfinished + theirs.unfinished,
        most_unfinished=max(ours.most_unfinished, theirs.most_unfinished),
        late=max(ours.late, theirs.late),
        lacking=ours.lacking + theirs.lacking,
    )


def _quotient(above: Point, below: Point) -> Point:
    """One value over another that is independent of it: relative widths add as squares."""
    value = above.value / below.value
    where = f"{above.where}, over the same in {below.where.partition(' ')[0]}"
    if not (above.ci95 and below.ci95):
        return Point(value, None, where)
    ours, theirs = above.ci95[1] - above.ci95[0], below.ci95[1] - below.ci95[0]
    half = value * hypot(ours / above.value, theirs / below.value) / 2
    return Point(value, (value - half, value + half), where)


def share(results: Results, run: str, of: str, above: float = 0, upto: float = inf) -> Measured:
    """The share of the arriving flows, or of their bytes, that flows of `(above, upto]` are."""
    sections = results[run].sizes()
    weights = [section if of == "bytes" else np.ones_like(section) for section in sections]
    chosen = [(section > above) & (section <= upto) for section in sections]
    part = np.array([weight[mine].sum() for weight, mine in zip(weights, chosen, strict=True)])
    whole = np.array([weight.sum() for weight in weights])
    value = float(part.sum() / whole.sum())
    return Measured((Point(value, total_interval(part, whole)),))


def waste(results: Results, run: str) -> Measured:
    """The share of the data packets sent by hosts that switches drop.

    Of the packets delivered, every second is an acknowledgement.
    """
    figures = [record.figures for record in results[run].run.ledger]
    dropped = np.array([float(own["packets_dropped_at_switches"]) for own in figures])
    sent = dropped + [float(own["packets_delivered"]) / 2 for own in figures]
    value = float(dropped.sum() / sent.sum())
    return Measured((Point(value, total_interval(dropped, sent)),))


MEASURES = {"lead": lead, "share": share, "waste": waste}
