"""A paper reproduced: its studies run, its figures drawn, its claims judged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from sojourn._internal.errors import InputError
from sojourn._internal.files import write_text
from sojourn._internal.formats import json_text
from sojourn._internal.units import count
from sojourn.execution import studies
from sojourn.reproduction.claims import Verdict, judge
from sojourn.reproduction.papers import Figure, Paper
from sojourn.reproduction.results import Result
from sojourn.store.run_directory import RunDirectory
from sojourn.store.stored_run import StoredRun


@dataclass(frozen=True)
class Reproduction:
    """What came of a paper: pictures, tables, verdicts on its claims, and where its runs are.

    `runs` says what a reader must know of each of them; the notes of the verdicts hold it too.
    """

    paper: Paper
    runs: Mapping[Path, str]
    pictures: tuple[Path, ...]
    tables: tuple[Path, ...]
    verdicts: tuple[Verdict, ...]


def reproduce(
    paper: Paper,
    figures: Sequence[Figure],
    out: Path,
    *,
    full: bool,
    command: str,
    so_far: bool = False,
    elsewhere: Mapping[str, Path] = MappingProxyType({}),
) -> Reproduction:
    """Run what figures and their claims need, draw them and judge these.

    Args:
        paper: the paper.
        figures: some of its figures.
        out: holds a run directory for each run, `figure-ID.png` or, of a table, `figure-ID.txt`,
            and `claims.json` afterwards; runs that are finished there are not run again.
        full: as many flows and replications as the studies say, instead of the brief ones.
        command: what goes into the runs' `meta.json`.
        so_far: run nothing, but draw and judge what is finished in `out`: those figures and
            claims whose runs have all begun.
        elsewhere: where runs are that have a place outside of `out`.

    Raises:
        InputError: something cannot be written, or `out` holds something else, or nothing.
        StudyError: a study cannot be run.
        Interrupted: Ctrl-C; finished cases are kept.
    """
    asked_for = {run for figure in figures for run in figure.runs}
    places = {
        name: elsewhere.get(name, out / name)
        for name, plan in paper.runs.items()
        if name in asked_for and (full or not plan.only_full)
    }
    claims = paper.claims_of(figures)
    if not full:
        claims = [c for c in claims if not any(paper.runs[run].only_full for run in c.needs)]
    if so_far:
        places = {
            name: place for name, place in places.items() if _begun(paper, name, place, full=full)
        }
        figures = [figure for figure in figures if places.keys() >= set(figure.runs)]
        claims = [claim for claim in claims if places.keys() >= set(claim.needs)]
        if not places:
            raise InputError(f"{out}: nothing finished there that could be judged")
    else:
        out.mkdir(parents=True, exist_ok=True)
        for name, place in places.items():
            study = paper.runs[name].parsed(full=full)
            studies.simulate(study, RunDirectory(place), command=command)
    results = {
        name: Result(name, StoredRun.open(place), plan.x, plan.lines, plan.axis)
        for name, place, plan in ((name, place, paper.runs[name]) for name, place in places.items())
    }
    length = "so far" if so_far else "full" if full else "quick"
    notes = {name: _note(paper, result, length) for name, result in results.items()}
    verdicts = [
        judge(
            claim,
            paper.measured(claim, results),
            paper=paper.name,
            remarks=[notes[run] for run in claim.needs],
        )
        for claim in claims
    ]
    write_text(out / "claims.json", json_text([asdict(verdict) for verdict in verdicts]))
    return Reproduction(
        paper=paper,
        runs={result.run.path: notes[name] for name, result in results.items()},
        pictures=tuple(
            _picture(paper, figure, results, notes, out) for figure in figures if figure.panels
        ),
        tables=tuple(_table(paper, figure, results, out) for figure in figures if figure.table),
        verdicts=tuple(verdicts),
    )


def _begun(paper: Paper, name: str, place: Path, *, full: bool) -> bool:
    """Whether at least one case of a run is finished there."""
    directory = RunDirectory(place)
    if not directory.ledger():
        return False
    directory.expect(paper.runs[name].parsed(full=full).resolved())
    return True


def _note(paper: Paper, result: Result, length: str) -> str:
    """What a reader must know of a run: how much was run, and of what."""
    ledger = result.run.ledger
    jobs = next(iter(ledger)).jobs
    size = f"{count(jobs, 'job')} a case, {ledger.replications()}"
    missing = result.run.missing
    lacking = [f"{count(missing, 'case')} not run yet"] if missing else []
    return ", ".join([f"{result.name}: {length}", size, *lacking, paper.runs[result.name].note])


def _table(paper: Paper, figure: Figure, results: Mapping[str, Result], out: Path) -> Path:
    assert paper.tabulates is not None  # noqa: S101 - a figure has a table where its paper makes one
    run, parameters = figure.table["run"], {**figure.table}
    del parameters["run"]
    path = out / f"figure-{figure.id}.txt"
    lines = paper.tabulates(results[run].run, **parameters)
    write_text(path, "".join(f"{line}\n" for line in lines))
    return path


def _picture(
    paper: Paper,
    figure: Figure,
    results: Mapping[str, Result],
    notes: Mapping[str, str],
    out: Path,
) -> Path:
    from sojourn.reproduction.drawing import draw

    said = [notes[name] for name in figure.runs]
    picture = draw(figure, results, notes=said, kinds=paper.draws)
    path = out / f"figure-{figure.id}.png"
    picture.write(path)
    return path
