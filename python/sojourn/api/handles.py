"""What Python's users hold: a run, its summary, a comparison; each shows itself."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Self

from sojourn.analysis.comparison import Comparisons
from sojourn.analysis.sample import Warmup
from sojourn.analysis.summary import Summary as Numbers
from sojourn.analysis.summary import summarise
from sojourn.store.stored_run import StoredRun

if TYPE_CHECKING:
    from sojourn.analysis.fairness import Fairness
    from sojourn.presentation.style import Picture


@dataclass(frozen=True, repr=False)
class Summary(Numbers):
    """The summary of a run; its text is the table that `sojourn show` prints."""

    @classmethod
    def of(
        cls,
        run: StoredRun,
        *,
        by: Sequence[str] | None,
        percentiles: Sequence[float] | None,
        warmup: Warmup,
    ) -> Self:
        """The summary of a run; arguments as of `Run.summary`."""
        numbers = summarise(run, by=by, percentiles=percentiles, warmup=warmup)
        return cls(**{field.name: getattr(numbers, field.name) for field in fields(numbers)})

    def __repr__(self) -> str:
        from sojourn.presentation.tables import text

        return text(self)

    def _repr_html_(self) -> str:
        from sojourn.presentation.tables import html

        return html(self)


@dataclass(frozen=True, repr=False)
class Comparison(Comparisons):
    """Two runs beside each other; its text is what `sojourn compare` prints."""

    @classmethod
    def of(cls, found: Comparisons) -> Self:
        """A comparison that shows itself, of the numbers of one."""
        return cls(**{field.name: getattr(found, field.name) for field in fields(found)})

    def __repr__(self) -> str:
        from sojourn.presentation.comparison_tables import text

        return text(self)


@dataclass(frozen=True, eq=False, repr=False)
class Run(StoredRun):
    """A run: its rows, its cases, its summary, its pictures.

    `missing` counts the cases that are not finished yet, replications counted; `lacking` those
    without any finished replication.
    """

    def summary(
        self,
        *,
        by: Sequence[str] | str | None = None,
        percentiles: Sequence[float] | float | None = None,
        warmup: Warmup = True,
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
        return Summary.of(
            self,
            by=[by] if isinstance(by, str) else by,
            percentiles=[percentiles] if isinstance(percentiles, int | float) else percentiles,
            warmup=warmup,
        )

    def fairness(
        self, over: Sequence[str] | str | None = None, *, by: Sequence[str] | str | None = None
    ) -> "list[Fairness]":
        """How evenly long flows share, by the time over which their goodput is averaged.

        Args:
            over: averaging times, such as `"500ms"`, one or several; by default all that the run
                has, ten a decade from a round trip to the whole measuring window.
            by: columns to group by, the swept axes by default.

        Returns:
            An entry for each group and averaging time; `.shares` has `spread` (p95/p5), `jain` and
            `above_mean`, `.ci95` their 95 % intervals over replications. `.shares` is None where
            the measuring window is too short, and `.withheld` says how long it has to be.

        Raises:
            InputError: no flow of the run was measured over a window; no average over a time that
                was asked for, or near it; an unknown column; an unreadable file.
        """
        from sojourn.analysis.fairness import fairness

        times = [over] if isinstance(over, str) else over
        return fairness(self, times, by=[by] if isinstance(by, str) else by)

    def plot(
        self,
        kind: str | None = None,
        *,
        x: str | None = None,
        by: Sequence[str] | str | None = None,
        at: str | float | None = None,
        warmup: Warmup = True,
    ) -> "Picture":
        """Draw times, missed deadlines, or shares of bandwidth.

        Args:
            kind: `"slowdown"` or `"time"`: mean and 99th percentile against `x`; `"cdf"`: the
                distribution at one value of `x`, of what is asked first of each kind of job;
                `"missed"`: the share of missed deadlines against `x`; `"goodput"`: how flows that
                never end share bandwidth, at one value of `x`; `"fairness"`: how evenly they do,
                against the averaging time. By default the first that answers
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
