"""The objects of the Python interface: a run, its summary, a comparison; each displays itself."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Self

from sojourn._internal.errors import InputError
from sojourn.analysis.comparison import Comparisons
from sojourn.analysis.sample import Warmup
from sojourn.analysis.summary import Summary as Numbers
from sojourn.analysis.summary import summarise
from sojourn.store.stored_run import StoredRun

if TYPE_CHECKING:
    from sojourn.analysis.fairness import Fairness
    from sojourn.presentation.style import Picture


def one_or_several(given: Sequence[str] | str | None, what: str) -> list[str] | None:
    """The names that were given, as a list; None for nothing.

    Raises:
        InputError: it is neither a text nor several of them.
    """
    if given is None:
        return None
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Sequence) or not all(isinstance(one, str) for one in several):
        raise InputError(f"{what} is {given!r}, expected a text, or a list of texts")
    return [*several]


def numbers(given: Sequence[float] | float | None) -> Sequence[float] | None:
    """The numbers that were given, as a list; None for nothing."""
    return [given] if isinstance(given, int | float | str) else given


@dataclass(frozen=True, repr=False)
class Summary(Numbers):
    """The summary of a run; its text is the table that `sojourn show` prints.

    `to_list()` is the JSON of the command, `to_records()` its CSV, `to_pandas()` a data frame with
    a row per estimate, and `tidy()` one with a row per number.
    """

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
    """The comparison of two runs; its text is what `sojourn compare` prints.

    `verdicts` has one per case, kind of job and metric, each with `outcome` and `sentence`.
    """

    @classmethod
    def of(cls, found: Comparisons) -> Self:
        """A comparison that shows itself, of the numbers of one."""
        return cls(**{field.name: getattr(found, field.name) for field in fields(found)})

    def __repr__(self) -> str:
        from sojourn.presentation.comparison_tables import text

        return text(self)


@dataclass(frozen=True, eq=False, repr=False)
class Run(StoredRun):
    """A run directory: its rows, cases, summary and pictures. `sojourn.load` opens one.

    `rows`, `cases`, `series`, `pauses` and `trace` are Arrow tables; `path` is the directory, and
    `meta` says how it was made. `missing` counts the unfinished replications of all cases, and
    `lacking` the cases without a finished one.

    Example:
        >>> run = sojourn.load("out/two-schemes")
        >>> run.cases.num_rows
        2
    """

    def __new__(cls, *arguments: object, **named: object) -> Self:
        """Refuse a path: opening a directory is the task of `load`.

        Raises:
            InputError: it was called with a path alone.
        """
        if len(arguments) == 1 and not named:
            raise InputError(f"Run({arguments[0]!r}): expected sojourn.load({arguments[0]!r})")
        return super().__new__(cls)

    def summary(
        self,
        *,
        by: Sequence[str] | str | None = None,
        percentiles: Sequence[float] | float | None = None,
        warmup: Warmup = True,
    ) -> "Summary":
        """Compute means and percentiles, for each group, kind of job and size.

        Args:
            by: one or several columns to group by: swept parameters, other parameters
                (`"workload.load"` or `"load"`), or dictionary columns of the rows. By default the
                swept parameters.
            percentiles: one or several, in per cent. By default 50, 90, 95 and 99, and for
                requests to disks 99.9 as well.
            warmup: the time to leave out at the start, such as `"10ms"`; True for the first
                5 % of the jobs, False for nothing.

        Returns:
            The numbers with their intervals; printed, it is the table of `sojourn show`.

        Raises:
            InputError: an unknown column, a percentile out of range, an unreadable file.

        Example:
            >>> frame = run.summary(by="scheme", percentiles=99).to_pandas()
            >>> frame["bin"].unique().tolist()[0]
            'all'
        """
        names, asked = one_or_several(by, "by"), numbers(percentiles)
        return Summary.of(self, by=names, percentiles=asked, warmup=warmup)

    def fairness(
        self, over: Sequence[str] | str | None = None, *, by: Sequence[str] | str | None = None
    ) -> "list[Fairness]":
        """Compute how evenly long flows share, by the time over which goodput is averaged.

        Args:
            over: one or several averaging times, such as `"500ms"`. By default all times of the
                run, ten per decade from a round trip to the whole measuring window.
            by: columns to group by; by default the swept parameters.

        Returns:
            An entry per group and averaging time. `.shares` has `spread` (p95/p5), `jain` and
            `above_mean`, and `.ci95` their 95 % intervals over replications. If the measuring
            window is too short, `.shares` is None, and `.withheld` says how long it has to be.

        Raises:
            InputError: no flow of the run was measured over a window; the run has no average over
                a time that was asked for, or near it; an unknown column; an unreadable file.

        Example:
            >>> long_flows.fairness("1ms")[0].shares.jain <= 1
            True
        """
        from sojourn.analysis.fairness import fairness

        return fairness(self, one_or_several(over, "over"), by=one_or_several(by, "by"))

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
            kind: `"slowdown"` or `"time"`: mean and 99th percentile against `x`. `"cdf"`: the
                distribution at one value of `x`. `"missed"`: the share of missed deadlines against
                `x`. `"goodput"`: the goodputs of flows that never end, at one value of `x`.
                `"fairness"`: how evenly these share, against the averaging time. `"timeline"`: when
                the collectives of an iteration were under way. By default the usual picture for
                such jobs.
            x: the column along the axis; by default the load, or the first swept number.
            by: columns of which each combination is a line; by default the other swept ones.
            at: the value of `x` for distributions; by default the largest.
            warmup: the time to leave out at the start, such as `"10ms"`; True for the first
                5 % of the jobs, False for nothing.

        Returns:
            The picture, a figure of matplotlib; `.write("file.svg")` saves it, and a notebook
            displays it.

        Raises:
            InputError: an unknown kind, column or value, an unreadable file.

        Example:
            >>> run.plot("cdf").write("out/cdf.svg")
        """
        from sojourn.presentation.plots import draw, kinds

        lines = one_or_several(by, "by")
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
