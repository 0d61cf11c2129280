"""How often the intervals hold the truth: `make coverage` writes the table of the handbook."""

import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from math import inf, sqrt
from pathlib import Path

import numpy as np
from scipy.stats import beta

from interval_cells import CELLS, PAIRS, SHARES, Cell, Pair, write_services
from sojourn.analysis.observed import Basis, Observed, Ratio, Series

BANDS = {"mean": (0.93, 0.97)}
_QUANTILE_BAND = (0.92, 0.98)
_SURE = 0.99
_WIDEST = 1.3
# How many runs may print a wrong interval where hardly any prints one: means, quantiles.
_WRONG = (0.01, 0.02)
# How improbable by chance a difference is that is said.
_CHANCE = 0.05


@dataclass(frozen=True)
class Tried:
    """What became of a number of a cell under one rule.

    Attributes:
        rule: `model` where the model decides whether there is an interval, otherwise `pilot` or
            `replications`.
        number: `mean`, `p50`, ...
        seeds: how many were tried.
        printed: how many had an interval.
        held: how many of these held the truth.
        width: their median width over that of an interval that knew the estimator's own spread.
    """

    cell: Cell
    rule: str
    number: str
    seeds: int
    printed: int
    held: int
    width: float

    @property
    def coverage(self) -> tuple[float, float]:
        """Between which two the coverage is, with 99 %."""
        tail, held, missed = (1 - _SURE) / 2, self.held, self.printed - self.held
        low = beta.ppf(tail, held, missed + 1) if held else 0.0
        high = beta.ppf(1 - tail, held + 1, missed) if missed else 1.0
        return float(low), float(high)

    def _surely_wrong(self) -> float:
        """The share of runs that print a wrong interval, at least, with 99 %."""
        wrong = self.printed - self.held
        return float(beta.ppf((1 - _SURE) / 2, wrong, self.seeds - wrong + 1)) if wrong else 0.0

    def faults(self) -> list[str]:
        """What of the promise is not kept."""
        share, wrong = self.printed / self.seeds, self.printed - self.held
        low, high = BANDS.get(self.number, _QUANTILE_BAND)
        found = []
        if self.rule == "model" and self.printed not in (0, self.seeds):
            found.append("printed in some runs only")
        if self.cell.unstable:
            return [*found, "printed"] if share > 0.02 else found
        if self.rule == "model" or share >= 0.2:
            ends = self.coverage
            if self.printed and (ends[1] < low or ends[0] > high):
                found.append(f"outside {low:.0%} to {high:.0%}")
        elif self._surely_wrong() > _WRONG[self.number != "mean"]:
            found.append(f"printed and wrong in {wrong / self.seeds:.1%}")
        unsure = 1 + 2.6 / sqrt(2 * self.seeds)  # of the spread that the width is compared with
        if self.rule == "model" and self.printed and self.width / unsure > _WIDEST:
            found.append("too wide")
        if self.rule == "pilot" and self.number in ("mean", "p95") and share < self.cell.must_print:
            found.append(f"printed in {share:.0%} only")
        return found

    def line(self) -> str:
        """Its line of the table."""
        low, high = self.coverage
        if not self.printed:
            held, width = "-", "-"
        else:
            held = f"{self.held / self.printed:.1%} ({low:.1%} to {high:.1%})"
            width = f"{self.width:.2f}"
        said = "; ".join(self.faults()) or "yes"
        cells = [self.cell.label, self.number, self.rule, f"{self.printed / self.seeds:.0%}"]
        return f"| {' | '.join([*cells, held, width, said])} |"


HEAD = (
    "| system, jobs | number | who decides | has an interval | holds the truth | width | kept |\n"
    "|---|---|---|---|---|---|---|"
)

Ends = tuple[float, float] | None


def row(of: Sequence[Tried]) -> str:
    """The line of a system under one rule in the handbook: how often each number's interval holds.

    In per cent; behind it in how many of the runs there is one, where that is not in all.
    """
    cells = []
    for one in of:
        share = f"{100 * one.held / one.printed:.1f}" if one.printed else "-"
        often = f" ({one.printed / one.seeds:.0%})" if 0 < one.printed < one.seeds else ""
        cells.append(share + often)
    return f"| {' | '.join([of[0].cell.label, of[0].rule, *cells])} |"


HEAD_OF_ROWS = "| system, jobs | who decides | mean | p50 | p95 | p99 |\n|---|---|---|---|---|---|"


def _observe(cell: Cell, seeds: Sequence[int]) -> list[dict[tuple[str, str], tuple[Ends, float]]]:
    """For each seed and each rule and number the interval, if any, and the estimate."""
    found = []
    for seed in seeds:
        series = cell.observe(seed)
        everything = np.concatenate(series.runs)
        own = {}
        for rule, judged in rules(series).items():
            observed = Observed([judged])
            for number, share in SHARES.items():
                estimate = everything.mean() if share is None else np.quantile(everything, share)
                own[rule, number] = observed.interval(share)[0], float(estimate)
        found.append(own)
    return found


def rules(series: Series) -> dict[str, Series]:
    """The rules that decide about runs: that of the model where it knows, and that of the pilot.

    Where nothing within a run is independent, it is the number of replications that decides.
    """
    if series.basis is Basis.REPLICATIONS:
        return {"replications": series}
    if series.basis is Basis.WHOLE:
        return {"model": series, "pilot": replace(series, queue=None)}
    return {"pilot": series}


def tried(cell: Cell, seeds: range, pool: Executor, truths: "Truths") -> Iterable[Tried]:
    """What became of a cell; its truth is computed where any of its runs has an interval."""
    chunks = np.array_split(seeds, max(len(seeds) // 10, 1))
    of_chunks = pool.map(partial(_observe, cell), [chunk.tolist() for chunk in chunks])
    each = [own for chunk in of_chunks for own in chunk]
    any_printed = any(ends for own in each for ends, _ in own.values())
    truth = truths.of(cell) if any_printed else dict.fromkeys(SHARES, inf)
    for rule, number in each[0]:
        ends = [own[rule, number][0] for own in each]
        printed = [found for found in ends if found]
        spread = float(np.std([own[rule, number][1] for own in each]))
        widths = [high - low for low, high in printed]
        yield Tried(
            cell,
            rule,
            number,
            len(seeds),
            len(printed),
            sum(low <= truth[number] <= high for low, high in printed),
            float(np.median(widths)) / (2 * 1.96 * spread) if widths and spread else 0.0,
        )


class Truths:
    """What is true of systems, each computed once."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._known: dict[str, dict[str, float]] = {}

    def of(self, cell: Cell) -> dict[str, float]:
        """The mean and the quantiles of a cell's system; infinite of an unstable one."""
        if cell.unstable:
            return dict.fromkeys(SHARES, inf)
        key = f"{cell.kind} {cell.metric} {cell.study}"
        if key not in self._known:
            self._known[key] = cell.truth(self._pool)
            sys.stderr.write(f"{cell.name}: truth {json.dumps(self._known[key])}\n")
        return self._known[key]


@dataclass(frozen=True)
class Compared:
    """What became of a number of two systems: as `Tried`, of its ratio.

    `told` is in how many runs it was said to differ, each number for itself.
    """

    pair: Pair
    number: str
    seeds: int
    printed: int
    held: int
    told: int

    def faults(self) -> list[str]:
        """What of the promise is not kept."""
        as_one = Tried(self.pair.over, "pair", self.number, self.seeds, self.printed, self.held, 0)
        low, high = BANDS["mean"] if self.number == "mean" else _QUANTILE_BAND
        ends = as_one.coverage
        off = self.printed >= 0.2 * self.seeds and (ends[1] < low or ends[0] > high)
        return [f"outside {low:.0%} to {high:.0%}"] if off and not self.pair.alike else []

    def line(self) -> str:
        """Its line of the table."""
        share = f"{self.held / self.printed:.1%}" if self.printed else "-"
        said = "; ".join(self.faults()) or "yes"
        cells = [self.pair.label, self.number, f"{self.printed / self.seeds:.0%}", share]
        return f"| {' | '.join([*cells, f'{self.told / self.seeds:.1%}', said])} |"


HEAD_OF_PAIRS = (
    "| two systems, jobs | number | has an interval | holds the truth | said to differ | kept |\n"
    "|---|---|---|---|---|---|"
)


def _differs(ratio: Ratio | None) -> bool:
    """Whether a difference is said, by the ratio alone."""
    if ratio is None or ratio.by_chance is None:
        return bool(ratio and ratio.ends and not ratio.ends[0] <= 1 <= ratio.ends[1])
    return ratio.by_chance < _CHANCE


def _compare(pair: Pair, seeds: Sequence[int]) -> list[dict[str, tuple[Ends, bool]]]:
    """For each seed and number the interval of the ratio, if it is printed, and whether it is 1."""
    found = []
    for seed in seeds:
        over, under = (Observed([cell.observe(seed)]) for cell in (pair.over, pair.under))
        own = {}
        for number, share in SHARES.items():
            printed = all(own.interval(share)[0] for own in (over, under))
            testable = over.can_be_tested(share) and under.can_be_tested(share)
            ratio = over.ratio(under, share, paired=True) if printed or testable else None
            own[number] = (ratio.ends if ratio and printed else None, _differs(ratio))
        found.append(own)
    return found


def compared(
    pair: Pair, seeds: range, pool: Executor, truth: dict[str, float]
) -> Iterable[Compared]:
    """What became of two systems."""
    chunks = np.array_split(seeds, max(len(seeds) // 10, 1))
    of_chunks = pool.map(partial(_compare, pair), [chunk.tolist() for chunk in chunks])
    each = [own for chunk in of_chunks for own in chunk]
    for number in SHARES:
        ends = [own[number][0] for own in each]
        printed = [found for found in ends if found]
        held = sum(low <= truth[number] <= high for low, high in printed)
        told = sum(own[number][1] for own in each)
        yield Compared(pair, number, len(seeds), len(printed), held, told)


def main() -> None:
    """Try every cell; exit code 1 where a promise is not kept."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000)
    parser.add_argument("--costly-seeds", type=int, default=400)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--only", default="", help="cells with this in their label")
    parser.add_argument("--out", type=Path, default=Path("out/coverage.md"))
    asked = parser.parse_args()

    def seeds_of(cell: Cell) -> range:
        count = asked.costly_seeds if cell.costly else asked.seeds
        return range(asked.first_seed, asked.first_seed + count)

    write_services()
    lines, rows, faults = [HEAD], [HEAD_OF_ROWS], 0
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        truths = Truths(pool)
        for cell in (cell for cell in CELLS if asked.only in cell.label):
            start = time.perf_counter()
            seeds = seeds_of(cell)
            found = [*tried(cell, seeds, pool, truths)]
            lines += [one.line() for one in found]
            faults += sum(bool(one.faults()) for one in found)
            by_rule = {one.rule: [o for o in found if o.rule == one.rule] for one in found}
            rows += map(row, by_rule.values())
            took = time.perf_counter() - start
            sys.stderr.write(f"{cell.label}: {took:.0f} s\n")
            asked.out.write_text("\n".join([*rows, "", *lines]) + "\n")
        lines += ["", HEAD_OF_PAIRS]
        for pair in (pair for pair in PAIRS if asked.only in pair.label):
            truth = dict.fromkeys(SHARES, 1.0)
            if not pair.alike:
                over, under = (truths.of(cell) for cell in (pair.over, pair.under))
                truth = {name: over[name] / under[name] for name in SHARES}
            for one in compared(pair, seeds_of(pair.over), pool, truth):
                lines.append(one.line())
                faults += bool(one.faults())
            sys.stderr.write(f"{pair.label}: {json.dumps(truth)}\n")
            asked.out.write_text("\n".join([*rows, "", *lines]) + "\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
