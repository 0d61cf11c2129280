"""The jobs of each group by the values of one column of the rows: reads apart from writes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sojourn._internal import vocabulary
from sojourn.analysis.metric_summary import MetricSummary, metric_summary
from sojourn.analysis.sample import Group, Warmup, groups_of
from sojourn.analysis.totals import asked, throughput
from sojourn.store.columns import Column, Columns
from sojourn.store.ledger import Value
from sojourn.store.stored_run import StoredRun


@dataclass(frozen=True)
class Part:
    """The jobs of a group with one value of a column, of which the group has several.

    Attributes:
        case: the values of the group's columns.
        column: what tells the jobs apart, such as `op`.
        value: their own, such as `read`.
        estimate: of what is asked first of them.
        totals: the group's totals, as far as rows say them of these jobs alone.
    """

    case: dict[str, Value | None]
    column: str
    value: str
    estimate: MetricSummary
    totals: dict[str, float]

    def flat(self) -> dict[str, object]:
        """These numbers as a JSON object: `n`, `mean`, `mean_ci95`, `p50`, ..., and the totals."""
        found: dict[str, object] = {"n": self.estimate.n}
        for name, value, interval in self.estimate.numbers():
            found[name] = value
            if name != "max":
                found[f"{name}_ci95"] = interval and list(interval)
        return found | self.totals


def parts(
    run: StoredRun, chosen: Sequence[Column], percentiles: Sequence[float], warmup: Warmup
) -> Iterator[Part]:
    """The parts of each group that has jobs of more than one value; none where `chosen` tells them.

    Args:
        run: the run.
        chosen: the group's columns.
        percentiles: which ones, in per cent.
        warmup: what to leave out at the start.

    Raises:
        InputError: rows are missing or cannot be read.
    """
    of_rows = Columns.of(run.directory, run.ledger).of_rows
    known = [words.split for words in vocabulary.models().values() if words.split in of_rows]
    for name in known:
        if name is None or any(column.name == name for column in chosen):
            continue
        column = Column(name, name, in_rows=True)
        together: dict[tuple[object, ...], list[Group]] = {}
        for group in groups_of(run.directory, run.ledger, [*chosen, column], warmup=warmup):
            own = tuple(group.case[of.label] for of in chosen)
            together.setdefault((group.kind, *own), []).append(group)
        for groups in together.values():
            if len(groups) > 1:
                yield from (_part(group, name, percentiles) for group in groups)


def _part(group: Group, column: str, percentiles: Sequence[float]) -> Part:
    main = vocabulary.kind_of(group.kind).main.column
    names = [total.column for total in asked(group.kind)]
    case = {label: value for label, value in group.case.items() if label != column}
    return Part(
        case=case,
        column=column,
        value=str(group.case[column]),
        estimate=metric_summary(group, vocabulary.ALL_SIZES, main, group.sample, percentiles),
        totals=throughput.of_runs(group.sample.parts, names),
    )
