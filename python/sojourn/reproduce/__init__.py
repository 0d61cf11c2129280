"""A paper reproduced: its studies run, its figures drawn, its claims judged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sojourn import document, studies
from sojourn.files import write_text
from sojourn.reproduce.claims import Verdict, judge
from sojourn.reproduce.papers import Figure, Paper
from sojourn.reproduce.results import Result
from sojourn.rundir import RunDirectory
from sojourn.runs import Run
from sojourn.units import count


@dataclass(frozen=True)
class Reproduction:
    """What came of a paper: run directories, pictures, verdicts on its claims."""

    paper: Paper
    runs: tuple[Path, ...]
    pictures: tuple[Path, ...]
    verdicts: tuple[Verdict, ...]


def reproduce(
    paper: Paper, figures: Sequence[Figure], out: Path, *, full: bool, command: str
) -> Reproduction:
    """Run what figures and their claims need, draw them and judge these.

    Args:
        paper: the paper.
        figures: some of its figures.
        out: holds a run directory for each run, `figure-ID.png` and `claims.json` afterwards;
            runs that are finished there are not run again.
        full: as many flows and replications as the studies say, instead of the brief ones.
        command: what goes into the runs' `meta.json`.

    Raises:
        InputError: something cannot be written, or `out` holds something else.
        SpecError: a study cannot be run.
        Interrupted: Ctrl-C; finished cases are kept.
    """
    needed = dict.fromkeys(run for figure in figures for run in figure.runs)
    results = {
        name: Result(
            name, _run(paper, name, out / name, full=full, command=command), paper.runs[name].x
        )
        for name in needed
    }
    notes = {name: _note(paper, result, full=full) for name, result in results.items()}
    verdicts = [
        judge(claim, results, paper=paper.name, remarks=[notes[run] for run in claim.measure.needs])
        for claim in paper.claims_of(figures)
    ]
    write_text(out / "claims.json", document.dumps([asdict(verdict) for verdict in verdicts]))
    return Reproduction(
        paper=paper,
        runs=tuple(result.run.path for result in results.values()),
        pictures=tuple(
            _picture(figure, results, notes, out) for figure in figures if figure.panels
        ),
        verdicts=tuple(verdicts),
    )


def _run(paper: Paper, name: str, out: Path, *, full: bool, command: str) -> Run:
    plan = paper.runs[name]
    study = studies.parse(
        studies.read(plan.study),
        str(plan.study),
        plan.overrides(full=full),
        seed=None,
        replications=None,
    )
    studies.simulate(study, RunDirectory(out), jobs=None, command=command)
    return Run.open(out)


def _note(paper: Paper, result: Result, *, full: bool) -> str:
    """What a reader must know of a run: how much was run, and of what."""
    records = list(result.run.ledger)
    replications = len({record.replication for record in records})
    size = f"{count(records[0].jobs, 'flow')} a case, {count(replications, 'replication')}"
    length = "full" if full else "quick"
    return f"{result.name}: {length}, {size}, {paper.runs[result.name].note}"


def _picture(
    figure: Figure, results: Mapping[str, Result], notes: Mapping[str, str], out: Path
) -> Path:
    from sojourn.reproduce.drawing import draw

    picture = draw(figure, results, notes=[notes[name] for name in figure.runs])
    path = out / f"figure-{figure.id}.png"
    picture.write(path)
    return path
