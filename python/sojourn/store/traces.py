"""What was read of the traces that cases replay: length, rate and sizes, and what was left out."""

from collections.abc import Mapping, Sequence

from sojourn._internal.units import PS_PER_S, binary_size, count, duration, number
from sojourn.store.ledger import Ledger, Record, Value

_AS_IT_IS = "taken as it is"


def lines(ledger: Ledger) -> list[str]:
    """A line for each trace that the cases of a run replay, with all that was read of it.

    Cases that replay the same requests share a line. Runs without a trace have none.
    """
    return [
        *dict.fromkeys(_read(record) for record in ledger if "trace_requests" in record.figures)
    ]


def changes(figures: Mapping[str, Value]) -> str:
    """The words for what in a case's trace was left out or changed; empty where nothing was."""
    words = str(figures.get("trace", _AS_IT_IS))
    return "" if words == _AS_IT_IS else words


def length(ledger: Ledger) -> str:
    """The words for how long the traces of a run are; empty where it replays none."""
    key = "trace_requests"
    found = sorted({int(r.figures[key]) for r in ledger if key in r.figures})
    if not found:
        return ""
    many = count(found[-1], "request")
    return f"not possible: the trace has {many}" if len(found) == 1 else "not possible: traces end"


def _read(record: Record) -> str:
    """What was read of a case's trace, in a line."""
    figures = record.figures
    said = [
        _requests(figures, record.parameters.get("workload.speed", 1)),
        _sizes(figures),
        f"working set {binary_size(int(figures['trace_working_set_bytes']))}",
        f"block {binary_size(int(figures['trace_block_bytes']))}",
    ]
    if together := int(figures["trace_arrivals_together"]):
        said.append(f"{count(together, 'request')} at the time of the one before")
    if left_out := changes(figures):
        said.append(left_out)
    return f"trace: {'; '.join(said)}"


def _requests(figures: Mapping[str, Value], speed: Value) -> str:
    """How many requests there are, over which time, and how many of them read."""
    requests, span = int(figures["trace_requests"]), int(figures["trace_length_ps"])
    rate = f" ({number(requests / span * PS_PER_S)}/s)" if span else ""
    faster = f", replayed {number(float(speed))} times as fast" if float(speed) != 1 else ""
    reads = f"{number(100 * int(figures['trace_reads']) / max(requests, 1), 3)} % reads"
    return f"{count(requests, 'request')} in {duration(span)}{rate}{faster}; {reads}"


def _sizes(figures: Mapping[str, Value]) -> str:
    """The smallest, the largest and the mean size of its requests."""
    ends: Sequence[int] = [int(figures[f"trace_{end}_bytes"]) for end in ("smallest", "largest")]
    smallest, largest = map(binary_size, ends)
    if smallest == largest:
        return f"{smallest} each"
    mean = int(figures["trace_bytes"]) / int(figures["trace_requests"])
    return f"{smallest} to {largest}, mean {binary_size(mean)}"
