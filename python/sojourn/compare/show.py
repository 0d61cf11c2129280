"""Two runs as a table for people: a line for each run, and how far they are apart."""

from sojourn.compare import Comparison, Comparisons
from sojourn.summary import Estimate
from sojourn.terminal import print_lines, print_table
from sojourn.units import count, number, shown_in


def show(found: Comparisons, within: float | None) -> None:
    """Print the table, what its numbers mean, and what the check said."""
    labels = list(next(iter(found)).case)
    names = [str(run.path) for run in found.runs]
    groups = [_lines(comparison, names) for comparison in found]
    heads = [*labels, "kind", "size", "metric", "run", "n", "unfinished", "mean"]
    heads += [*found.percentiles, "max", "KS"]
    print_table(groups, heads, title=" and ".join(names), numbers=len(heads) - len(labels) - 4)
    print_lines(f"  {line}" for line in _notes(found, names, within))


def _lines(comparison: Comparison, names: list[str]) -> list[list[str]]:
    a, b = comparison.a, comparison.b
    scale, unit = shown_in(a.metric)
    case = ["" if value is None else str(value) for value in comparison.case.values()]
    texts = [*case, a.kind, a.bin, f"{a.metric.removesuffix('_ps').removesuffix('_bps')}{unit}"]
    blank = ["" for _ in texts]
    differences = [
        "-" if value is None else f"{value:+.1f} %" for value in comparison.differences.values()
    ]
    ks = "-" if comparison.ks is None else f"{comparison.ks:.3f}"
    return [
        [*texts, names[0], *_numbers(a, scale), ""],
        [*blank, names[1], *_numbers(b, scale), ""],
        [*blank, "difference", "", "", *differences, ks],
    ]


def _numbers(estimate: Estimate, scale: float) -> list[str]:
    def shown(value: float | None) -> str:
        return "-" if value is None else number(value / scale)

    mean = shown(estimate.mean)
    if estimate.ci95 is not None:
        low, high = estimate.ci95
        mean += f" ± {number((high - low) / 2 / scale, 2)}"
    quantiles = (shown(value) for value in estimate.quantiles.values())
    counts = (f"{estimate.n:,}", f"{estimate.unfinished:,}")
    return [*counts, mean, *quantiles, shown(estimate.max)]


def _notes(found: Comparisons, names: list[str], within: float | None) -> list[str]:
    lines = [
        f"difference: per cent of {names[0]}",
        "KS: Kolmogorov-Smirnov distance, the largest between the two distribution functions;"
        " jobs that did not finish count as longer than all others",
        "±: 95 % interval of each mean, not of the difference",
    ]
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
    return lines


def _where(comparison: Comparison) -> str:
    case = [f"{name} = {value}" for name, value in comparison.case.items()]
    return ", ".join([*case, comparison.a.kind, comparison.a.bin, comparison.a.metric])
