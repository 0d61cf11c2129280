"""A run as an object: its rows, its cases, its summary, its pictures."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sojourn._internal.errors import InputError
from sojourn.store import rows
from sojourn.store.ledger import Ledger
from sojourn.store.run_directory import RunDirectory

if TYPE_CHECKING:
    from sojourn.analysis.sample import Warmup
    from sojourn.analysis.summary import Summary
    from sojourn.presentation.style import Picture


@dataclass(frozen=True, eq=False)
class Run:
    """A run directory opened for reading.

    `missing` counts the cases that are not finished yet, replications counted; `lacking` those
    without any finished replication.
    """

    directory: RunDirectory
    title: str
    meta: dict[str, object]
    ledger: Ledger
    missing: int
    lacking: int

    @staticmethod
    def open(path: Path) -> "Run":
        """Open a run directory.

        Raises:
            InputError: it is not one, or a file in it cannot be read.
        """
        directory = RunDirectory(path)
        try:
            study = tomllib.loads(directory.read_study())
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{directory.study}: not TOML ({error})") from None
        ledger = directory.ledger()
        cases, replications = _size(study)
        begun = Counter(record.case for record in ledger if record.replication < replications)
        return Run(
            directory=directory,
            title=str(study.get("title", path.name)),
            meta=directory.read_meta(),
            ledger=ledger,
            missing=max(cases * replications - begun.total(), 0),
            lacking=max(cases - len(begun), 0),
        )

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.directory.path

    @cached_property
    def rows(self) -> pa.Table:
        """One row a job of every finished case; columns carry their units in their names.

        Read when first asked for. `.to_pandas()` gives a data frame.

        Raises:
            InputError: a file of rows cannot be read.
        """
        tables = [rows.read(self.directory.rows(*record.key)) for record in self.ledger]
        if not tables:
            return pa.table({})
        return pa.concat_tables(tables, promote_options="permissive").unify_dictionaries()

    @cached_property
    def cases(self) -> pa.Table:
        """One row a finished case and replication: parameters, figures, times, warm-up."""
        return self.ledger.table()

    def summary(
        self,
        *,
        by: Sequence[str] | str | None = None,
        percentiles: Sequence[float] | float | None = None,
        warmup: "Warmup" = True,
    ) -> "Summary":
        """Means and percentiles of what is measured of jobs, for each group, kind and size bin.

        Args:
            by: columns to group by, the swept axes by default: axes, parameters
                (`"workload.load"` or shortly `"load"`), dictionary columns of the rows.
            percentiles: one or several, in per cent; by default those that are asked of such jobs,
                50, 90, 95 and 99, and of requests to disks 99.9 as well.
            warmup: the time to leave out at the start, such as `"10ms"`; True for the first
                5 % of the jobs, False for nothing.

        Raises:
            InputError: an unknown column, a percentile out of range, an unreadable file.
        """
        from sojourn.analysis.summary import summarise

        return summarise(
            self,
            by=[by] if isinstance(by, str) else by,
            percentiles=[percentiles] if isinstance(percentiles, int | float) else percentiles,
            warmup=warmup,
        )

    def plot(
        self,
        kind: str | None = None,
        *,
        x: str | None = None,
        by: Sequence[str] | str | None = None,
        at: str | float | None = None,
        warmup: "Warmup" = True,
    ) -> "Picture":
        """Draw times, missed deadlines, or shares of bandwidth.

        Args:
            kind: `"slowdown"` or `"time"`: mean and 99th percentile against `x`; `"cdf"`: the
                distribution at one value of `x`, of what is asked first of each kind of job;
                `"missed"`: the share of missed deadlines against `x`; `"goodput"`: how flows that
                never end share bandwidth, at one value of `x`. By default the first that answers
                what is asked of the run's jobs.
            x: the column along the axis, by default the load or the first axis with numbers.
            by: columns that make one line each, by default the other axes.
            at: the value of `x` whose distributions are drawn, by default its largest.
            warmup: the time to leave out at the start, such as `"10ms"`; True for the first
                5 % of the jobs, False for nothing.

        Raises:
            InputError: an unknown kind, column or value, an unreadable file.
        """
        from sojourn.presentation.plots import draw, kinds

        lines = [by] if isinstance(by, str) else by
        return draw(self, kind or kinds(self)[0], x=x, by=lines, at=at, warmup=warmup)

    def to_dict(self) -> dict[str, object]:
        """What `sojourn run --json` prints: where the run is, what made it, and its records."""
        records = [asdict(record) for record in self.ledger]
        return {"run": str(self.path), "title": self.title, **self.meta, "cases": records}

    def __repr__(self) -> str:
        return f"<Run {self.title!r}: {self.ledger.size()}, {self.path}>"

    def _repr_html_(self) -> str:
        names = self.ledger.axes()
        heads = ["case", "replication", *names, "jobs", "unfinished", "wall [s]"]
        lines = [
            [
                record.case,
                record.replication,
                *(record.axes.get(name, "") for name in names),
                record.jobs,
                record.figures.get("unfinished", ""),
                f"{record.wall_s:.2f}",
            ]
            for record in self.ledger
        ]
        head = "".join(f"<th>{escape(str(name))}</th>" for name in heads)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in line) + "</tr>"
            for line in lines
        )
        caption = f"{escape(self.title)} ({escape(str(self.path))})"
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"


def _size(study: Mapping[str, object]) -> tuple[int, int]:
    """How many cases a resolved study has, and how many replications of each it asks for.

    A run may hold more of them than that.
    """

    def lists(value: object) -> Iterator[int]:
        if isinstance(value, list):
            yield len(value)
        elif isinstance(value, dict):
            for inner in value.values():
                yield from lists(inner)

    match study:
        case {"run": {"replications": int(number)}}:
            replications = number
        case _:
            replications = 1
    return prod(lists(study.get("sweep"))), replications
