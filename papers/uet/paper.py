"""The experiments of uet-htsim's commit check as runs and claims: one for each line of a table.

The reference draws with one seed, so its committed tail is one of many; ours is the median of
five. Paths are drawn by another generator, so only distributions agree. Where each flow has one
path, chance decides by a quarter of the tail: there more seeds are run, and their range counts.
"""

import csv
import shlex
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from sojourn._internal.units import PS_PER_US, number
from sojourn.htsim.matrix import MESSAGES
from sojourn.reproduction.claims import Claim
from sojourn.reproduction.measures import Condition, Measured, Results
from sojourn.reproduction.papers import Figure, RunPlan
from sojourn.reproduction.results import Point
from sojourn.store import rows

FOLDER = Path(__file__).parent
SEEDS, SEEDS_OF_ONE_PATH = 5, 15
SMALL = 128
WITHIN = 0.03
RESENT_WITHIN, FEW_RESENT = 0.3, 200
# What was found out about a claim that does not hold, by set and experiment.
FINDINGS = {
    ("load_balancing_snd", "Large permutation, oblivious (1024 nodes)"): "the reference's seed is a"
    " lucky one: with its seeds 1, 2 and 3 it resends 830, 816 and 806 packets, and the last flow"
    " ends after 214.3, 213.9 and 216.2 us",
    (
        "load_balancing_failed_snd",
        "Large permutation, bitmap, large queues (1024 nodes), 8 core links running at 10%"
        " capacity",
    ): "the reference's output is of one seed: 20 of ours end after 459.9 to 540.9 us",
    (
        "load_balancing_failed_snd",
        "Large permutation, oblivious (1024 nodes), 8 core links running at 10% capacity",
    ): "the reference's output is of one seed: 20 of ours end after 264.2 to 312.4 us",
    (
        "load_balancing_failed_rcv",
        "Large permutation, REPS, 1SACK/packet , large queues (1024 nodes), 8 core links running at"
        " 10% capacity",
    ): "the reference's output is of one seed: 20 of ours end after 316.2 to 353.6 us",
}
TITLES = {
    "sender": "the sender's window",
    "rcv": "the receiver's credit",
    "both": "window and credit",
    "connreuse": "several messages on one connection",
    "load_balancing_snd": "ways to spray, the sender's window",
    "load_balancing_rcv": "ways to spray, the receiver's credit",
    "load_balancing_failed_snd": "ways to spray beside slow links, the sender's window",
    "load_balancing_failed_rcv": "ways to spray beside slow links, the receiver's credit",
}


def tail(results: Results, run: str, resent: int, single_path: bool) -> Measured:
    """When the last flow ends, in microseconds: the median over seeds, or the smallest and largest.

    Args:
        results: the finished runs.
        run: which of them.
        resent: how many packets the reference sent again; compared where it is not a few.
        single_path: whether each flow has one path, so that chance decides: all seeds count.
    """
    tails, again, unfinished, lacking = [], [], 0, results[run].run.lacking
    for record in results[run].run.ledger:
        path = results[run].run.directory.rows(*record.key)
        table = rows.read(path, ["finished_ps", "retransmits"])
        left = table.column("finished_ps").null_count
        unfinished += left
        finished = rows.numbers(table.column("finished_ps"))
        tails.append(float("inf") if left else float(finished.max()) / PS_PER_US)
        again.append(int(rows.numbers(table.column("retransmits")).sum()))
    if not tails:
        return Measured((), lacking=lacking)
    ends = [min(tails), max(tails)] if single_path else [median(tails)]
    return Measured(
        points=tuple(Point(end, None, f"a seed of {run}") for end in ends),
        unfinished=unfinished,
        most_unfinished=unfinished / len(tails) / max(record.jobs, 1),
        lacking=lacking,
        conditions=(
            Condition(f"{len(tails)} seeds: {number(min(tails))} to {number(max(tails))} us", True),
            _resent(again, resent, single_path=single_path),
        ),
    )


def _resent(again: list[int], expected: int, *, single_path: bool) -> Condition:
    low, high = (min(again), max(again)) if single_path else (median(again), median(again))
    shown = number(low) if low == high else f"{number(low)} to {number(high)}"
    words = f"{shown} packets sent again, {number(expected)} in the reference"
    if expected <= FEW_RESENT:
        return Condition(words, True)
    most, least = (1 + RESENT_WITHIN) * expected, (1 - RESENT_WITHIN) * expected
    return Condition(f"{words}, accepted within 30 %", low <= most and high >= least)


def _experiments() -> Iterator[tuple[str, Mapping[str, str]]]:
    """The lines of the table, each with the name of the set that it is of."""
    with (FOLDER / "experiments.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            yield line["set"].removeprefix("validate_").removeprefix("uec_"), line


def _claim(name: str, run: str, line: Mapping[str, str]) -> Claim:
    words, end, resent = (
        line["arguments"].split(),
        float(line["tail_fct_us"]),
        line["retransmitted"],
    )
    single_path = _has_one_path(line["arguments"])
    measure: dict[str, Any] = {"kind": "tail", "resent": int(resent), "single_path": single_path}
    reuses = "-conn_reuse" in words
    return Claim(
        figures=(name,),
        claim=f"{line['experiment'].rstrip('.')}: the last flow ends after {number(end)} us",
        source=f"{line['set']}: {line['arguments']}",
        we_expect=f"{line['tail_fct_us']} us, and {resent} packets sent again, as in its output",
        ends=(end, end),
        rule="covers" if single_path else "about",
        within=WITHIN,
        because="each flow has one path, so chance decides: the seeds' range reaches that far"
        if single_path
        else "the median of five seeds of another generator",
        measure=measure if reuses else {**measure, "run": run},
        inapplicable=MESSAGES if reuses else "",
        finding=FINDINGS.get((name, line["experiment"]), ""),
    )


def _has_one_path(arguments: str) -> bool:
    """Whether all packets of a flow take one path."""
    return "-paths 1 " in f"{arguments} "


def _hosts(arguments: str) -> int:
    """How many hosts a matrix has."""
    words = shlex.split(arguments)
    matrix = FOLDER / words[words.index("-tm") + 1]
    first = matrix.read_text(encoding="utf-8").split(maxsplit=2)
    return int(first[1])


def _plan() -> tuple[dict[str, RunPlan], dict[str, Figure], list[Claim]]:
    """The runs by name, the figures by name, and a claim for each experiment.

    Experiments of the same arguments share a run.
    """
    names: dict[str, str] = {}
    plans: dict[str, RunPlan] = {}
    claims: list[Claim] = []
    numbers = {name: count(1) for name in TITLES}
    for name, line in _experiments():
        arguments = line["arguments"]
        run = names.setdefault(arguments, f"{name}-{next(numbers[name])}")
        claims.append(_claim(name, run, line))
        if claims[-1].inapplicable:
            continue
        plans[run] = RunPlan(
            study=FOLDER,
            htsim=arguments,
            note=line["experiment"],
            set=(f"run.replications = {SEEDS_OF_ONE_PATH if _has_one_path(arguments) else SEEDS}",),
            only_full=_hosts(arguments) > SMALL,
        )
    figures = {
        name: Figure(
            id=name,
            title=title,
            panels=(),
            runs=[*dict.fromkeys(run for c in claims if name in c.figures for run in c.needs)],
        )
        for name, title in TITLES.items()
    }
    return plans, figures, claims


RUNS, FIGURES, CLAIMS = _plan()
MEASURES = {"tail": tail}
