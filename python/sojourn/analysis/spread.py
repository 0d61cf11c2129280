"""How far repeated measurements are apart: the least and the most of what each of them found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sojourn._internal.units import PS_PER_MS, count
from sojourn._internal.vocabulary import worded
from sojourn.store.ledger import Value
from sojourn.store.stored_run import StoredRun

_PERCENTILES = (50, 95, 99)
NAMES = {
    "mean": ("mean", " ms"),
    **{f"p{share}": (f"p{share}", " ms") for share in _PERCENTILES},
    "one": ("with a time-out", " %"),
    "two": ("with two and more", " %"),
    "resent": ("sent again per flow", ""),
    "probes": ("probes per flow", ""),
}
"""The figures of flows that end: what each is called, and its unit."""


def figures(rows: pa.Table) -> dict[str, float]:
    """Figures of flows that end, as in `NAMES`.

    Completion times, those of flows that are done; shares of flows with one time-out and more,
    and with two; and packets sent again and probes, per flow. Without probes in the rows, or
    with one that is unknown, there is no figure of them.
    """
    took = rows["sojourn_ps"].drop_null().to_numpy() / PS_PER_MS
    found = {"mean": float(took.mean()) if len(took) else np.nan}
    for share in _PERCENTILES:
        found[f"p{share}"] = float(np.percentile(took, share)) if len(took) else np.nan
    if "timeouts" in rows.column_names:
        timeouts = rows["timeouts"].to_numpy()
        found["one"] = float((timeouts >= 1).mean() * 100)
        found["two"] = float((timeouts >= 2).mean() * 100)
    found["resent"] = float(rows["retransmits"].to_numpy().mean())
    if "probes" in rows.column_names and not rows["probes"].null_count:
        found["probes"] = float(rows["probes"].to_numpy().mean())
    return found


@dataclass(frozen=True)
class Spread:
    """The least and the most of each figure, over the runs of one case."""

    axes: Mapping[str, Value | None]
    runs: int
    bounds: Mapping[str, tuple[float, float]]

    def __str__(self) -> str:
        """In a line: the least and the most of each figure."""
        case = worded(self.axes.items())
        shown = []
        for name, (least, most) in self.bounds.items():
            called, unit = NAMES[name]
            shown.append(f"{called} {least:.1f} to {most:.1f}{unit}")
        return f"spread of {count(self.runs, 'run')}{case and f' ({case})'}: {', '.join(shown)}"

    def to_dict(self) -> dict[str, object]:
        """As a JSON object."""
        bounds = {
            name: {"least": least, "most": most} for name, (least, most) in self.bounds.items()
        }
        return {"case": dict(self.axes), "runs": self.runs, "figures": bounds}


def spreads(run: StoredRun) -> Iterator[Spread]:
    """The spread of each case that was measured twice or more, of flows that end."""
    rows, axes = run.rows, {record.case: record.axes for record in run.ledger}
    rows = rows.filter(pc.equal(rows["kind"].cast(pa.string()), "flow"))
    for case, own in axes.items():
        of_case = rows.filter(pc.equal(rows["case"], case))
        numbers = of_case["replication"].unique().to_pylist()
        if len(numbers) < 2:
            continue
        found = [figures(of_case.filter(pc.equal(of_case["replication"], n))) for n in numbers]
        names = [name for name in NAMES if all(name in one for one in found)]
        bounds = {
            name: (min(one[name] for one in found), max(one[name] for one in found))
            for name in names
        }
        yield Spread(own, len(numbers), bounds)
