"""A paper's claims under every reading of what its text leaves open."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn._internal.terminal import print_lines
from sojourn.reproduction import Reproduction, reproduce
from sojourn.reproduction.claims import Claim
from sojourn.reproduction.papers import Paper
from sojourn.reproduction.show import ANSWERS, print_claims

QUICK, FULL = "quick", "full"
"""The paper's studies as they are, shortened and in full: where a run's length decides, it is a
reading as well."""


@dataclass(frozen=True)
class Row:
    """A claim, and whether it holds under each reading that has to do with it.

    None where it could not be measured; readings that change no run of the claim are not there.
    """

    claim: Claim
    holds: dict[str, bool | None]

    @property
    def possible(self) -> bool:
        """Whether some reading makes it hold."""
        return any(self.holds.values())


@dataclass(frozen=True)
class Matrix:
    """Claims by readings."""

    paper: Paper
    readings: tuple[str, ...]
    rows: tuple[Row, ...]

    def to_list(self) -> list[dict[str, object]]:
        """What `sojourn reproduce --readings all --json` prints of a paper."""
        return [
            {
                "paper": self.paper.name,
                "figure": ", ".join(row.claim.figures),
                "claim": row.claim.claim,
                "source": row.claim.source,
                "paper_says": row.claim.paper_says,
                "we_expect": row.claim.we_expect,
                "holds": {name: row.holds.get(name) for name in self.readings},
                "applicable": [*row.holds],
                "finding": row.claim.finding or None,
            }
            for row in self.rows
        ]


def matrix(paper: Paper, out: Path, *, command: str) -> Matrix:
    """Judge a paper's claims under all its readings.

    Args:
        paper: the paper.
        out: holds a directory for each reading, `PAPER` and `PAPER-READING`, as `reproduce` leaves
            them; what is finished there is not run again. `PAPER-full` is looked at if it is there.
        command: what goes into the runs' `meta.json`.

    Raises:
        InputError: as `reproduce`.
        StudyError: as `reproduce`.
        Interrupted: as `reproduce`.
    """
    all_of_it = [*paper.figures.values()]
    done = {QUICK: reproduce(paper, all_of_it, out / paper.name, full=False, command=command)}
    for reading, changed in paper.readings.items():
        touched = [c for c in paper.claims if not changed.keys().isdisjoint(c.needs)]
        about = {figure for claim in touched for figure in claim.figures}
        figures = [f for f in all_of_it if f.id in about or not changed.keys().isdisjoint(f.runs)]
        as_they_are = {run: out / paper.name / run for run in paper.runs if run not in changed}
        done[reading] = reproduce(
            paper.under(reading),
            figures,
            out / f"{paper.name}-{reading}",
            full=False,
            command=command,
            elsewhere=as_they_are,
        )
    if (stored := out / f"{paper.name}-{FULL}").exists():
        done[FULL] = reproduce(paper, all_of_it, stored, full=True, command=command, so_far=True)
    rows = [Row(claim, _held(paper, claim, done)) for claim in paper.claims]
    return Matrix(paper, tuple(done), tuple(rows))


def _held(paper: Paper, claim: Claim, done: dict[str, Reproduction]) -> dict[str, bool | None]:
    """Under which readings a claim was judged, and how."""
    return {
        name: verdict.answer
        for name, reproduction in done.items()
        if name not in paper.readings or not paper.readings[name].keys().isdisjoint(claim.needs)
        for verdict in reproduction.verdicts
        if (verdict.claim, verdict.source) == (claim.claim, claim.source)
    }


def show(found: Matrix) -> None:
    """Print the matrix, and what is known of claims that no reading makes hold."""
    lines = []
    for row in found.rows:
        cells = [ANSWERS[row.holds[n]] if n in row.holds else "" for n in found.readings]
        lines.append([", ".join(row.claim.figures), row.claim.claim, *cells])
    print_claims(lines, found.readings, found.paper)
    print_lines(_lines(found))


def _lines(found: Matrix) -> Sequence[str]:
    claims = [row for row in found.rows if row.claim.paper_says is not None]
    held = sum(row.possible for row in claims)
    lines = [f"{held} of {len(claims)} claims hold under some reading"]
    if ours := [row for row in found.rows if row.claim.paper_says is None]:
        held = sum(row.possible for row in ours)
        lines.append(f"{held} of {len(ours)} expectations of ours hold under some reading")
    lines.append("empty: the reading changes nothing that the claim is about; -: not measured")
    for row in found.rows:
        if not row.possible:
            evidence = row.claim.finding or "no evidence but these runs"
            lines.append(f"  under no reading: {row.claim.claim}: {evidence}")
    return lines
