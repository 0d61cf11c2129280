"""Whether cases have a steady state: without one, no number describes them."""

from sojourn._internal.vocabulary import doubts
from sojourn.analysis import cautions
from sojourn.analysis.sample import Sample

NONE = "no steady state (more is offered than can be served, and jobs take longer and longer)"
"""What a picture says of cases without one."""


def is_steady(sample: Sample, *, grows: bool | None = None) -> bool:
    """Whether a sample's cases have a steady state, as far as figures and jobs tell.

    They have none where a model's formulas say that as much work is offered to a station as it can
    do, or more. Formulas do not know every case. Others have none where a station is busy all the
    time and jobs take longer and longer to the end of the run. Either alone is not enough: a queue
    may be long and steady, and a trace may bring more and more work to stations that rest.

    Args:
        sample: the jobs.
        grows: what `cautions.grows` says of them, where that is known.
    """
    figures = [part.record.figures for part in sample.parts]
    offered = [own.get(name) for own in figures for name in doubts().offered]
    if any(isinstance(share, float) and share >= 1 for share in offered):
        return False
    if not any(cautions.never_resting(own) for own in figures):
        return True
    return not (cautions.grows(sample) if grows is None else grows)
