"""Two runs as a table for people: a line for each run, and how far they are apart."""

from contextlib import redirect_stdout
from io import StringIO

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import bracketed, count, number
from sojourn._internal.vocabulary import Metric, kind_of, size, sizes, worded
from sojourn.analysis import algorithms
from sojourn.analysis.comparison import Comparisons
from sojourn.analysis.comparison.difference import MAX, MEAN, Difference
from sojourn.analysis.comparison.metric_comparison import MetricComparison
from sojourn.analysis.metric_summary import MetricSummary
from sojourn.presentation.table import labels, values


def show(found: Comparisons, within: float | None) -> None:
    """Print the table, what its numbers mean, and what the check said."""
    by = list(next(iter(found)).case)
    names = [*found.names]
    groups = [_lines(comparison, names) for comparison in found]
    heads = [*labels(by), "kind", "size", "metric", "run", "n", "unfinished", "mean"]
    heads += [*found.percentiles, "max", "KS"]
    print_table(groups, heads, title=" and ".join(names), numbers=len(heads) - len(by) - 4)
    print_lines(f"  {line}" for line in _notes(found, names, within))


def text(found: Comparisons) -> str:
    """What `show` prints, without a limit."""
    with redirect_stdout(StringIO()) as shown:
        show(found, None)
    return shown.getvalue().rstrip()


def _lines(comparison: MetricComparison, names: list[str]) -> list[list[str]]:
    a, b = comparison.a, comparison.b
    kind = kind_of(a.kind)
    metric = kind.metric(a.metric)
    case = values(comparison.case)
    texts = [*case, kind.label, size(a.bin), metric.title]
    blank = ["" for _ in texts]
    columns = (MEAN, *a.quantiles, MAX)
    differences = [_apart(comparison.differences.get(name)) for name in columns]
    ks = "-" if comparison.ks is None else f"{comparison.ks:.3f}"
    return [
        [*texts, names[0], *_numbers(a, metric), ""],
        [*blank, names[1], *_numbers(b, metric), ""],
        [*blank, "difference", "", "", *differences, ks],
    ]


def _apart(difference: Difference | None) -> str:
    if difference is None:
        return "-"
    return difference.signed


def _numbers(estimate: MetricSummary, metric: Metric) -> list[str]:
    def shown(value: float | None) -> str:
        return "-" if value is None else number(value / metric.per_unit)

    mean = shown(estimate.mean)
    if estimate.ci95 is not None:
        mean += f" {bracketed(estimate.ci95, metric.per_unit)}"
    quantiles = (shown(value) for value in estimate.quantiles.values())
    counts = (f"{estimate.n:,}", f"{estimate.unfinished:,}")
    return [*counts, mean, *quantiles, shown(estimate.max)]


def _notes(found: Comparisons, names: list[str], within: float | None) -> list[str]:
    methods = dict.fromkeys(c.method for c in found if c.method)
    lines = [
        f"difference: per cent of {names[0]}" + (FACTORS if _has_factors(found) else ""),
        "KS: Kolmogorov-Smirnov distance, the largest between the two distribution functions;"
        " jobs that did not finish count as longer than all others",
        *(f"[ , ] of differences: 95 % interval, {method}" for method in methods),
    ]
    lines += _algorithms(found, names)
    lines += [verdict.sentence for verdict in found.verdicts]
    lines += [
        f"{name}: {count(cases, 'case')} without a partner"
        for name, cases in zip(names, found.unmatched, strict=True)
        if cases
    ]
    lines += [
        f"{run.path}: {count(run.missing, 'case')} not run yet" for run in found.runs if run.missing
    ]
    if within is not None:
        beyond = found.beyond(within)
        lines += [f"within {within:g} %: {'does not hold' if beyond else 'holds'}"]
        lines += [f"  {_where(comparison)}: {', '.join(these)}" for comparison, these in beyond]
    lines += [f"caution: {line}" for line in found.cautions]
    return lines


FACTORS = "; x 12: twelve times as much, / 12: a twelfth"
"""How large differences are written."""


def _has_factors(found: Comparisons) -> bool:
    return any(own and own.is_factor for of in found for own in of.differences.values())


def _algorithms(found: Comparisons, names: list[str]) -> list[str]:
    """The users' classes of both runs, and in what they differ."""
    both = found.algorithms
    said = [algorithms.facts(own) for own in both]
    if said[0] == said[1]:
        return [f"both: {part}: {words}" for part, words in said[0].items()]
    lines = [
        f"{name}: {part}: {words}"
        for name, own in zip(names, said, strict=True)
        for part, words in own.items()
    ]
    differing = algorithms.differing(*both)
    return lines + [f"{part} differs in {', '.join(names)}" for part, names in differing.items()]


def _where(comparison: MetricComparison) -> str:
    case = [worded(comparison.case.items(), " = ")] if comparison.case else []
    kind = kind_of(comparison.a.kind)
    metric = kind.metric(comparison.a.metric)
    return ", ".join([*case, kind.label, sizes(comparison.a.bin), metric.name])
