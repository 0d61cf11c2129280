"""What came of a paper, for people."""

from collections.abc import Iterable

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import number
from sojourn.reproduction import Reproduction
from sojourn.reproduction.claims import Verdict


def show(done: Reproduction) -> None:
    """Print the table of claims, why those that fail do, and where everything lies."""
    groups: dict[str, list[list[str]]] = {}
    for verdict in done.verdicts:
        line = [
            verdict.figure,
            verdict.claim,
            _numbers(verdict.measured),
            _numbers(verdict.ci95),
            "yes" if verdict.holds else "-" if verdict.measured is None else "NO",
        ]
        groups.setdefault(verdict.figure, []).append(line)
    heads = ["figure", "claim", "measured", "95 % interval", "holds"]
    title = f"{done.paper.title} ({done.paper.source})"
    if groups:
        print_table(groups.values(), heads, title=title, numbers=3)
    else:
        print_lines([title])
    print_lines(_lines(done))


def _lines(done: Reproduction) -> Iterable[str]:
    claims = [verdict for verdict in done.verdicts if verdict.paper_says is not None]
    ours = [verdict for verdict in done.verdicts if verdict.paper_says is None]
    for verdicts, what in ((claims, "claims"), (ours, "expectations of ours")):
        failing = [verdict for verdict in verdicts if not verdict.holds]
        unmeasured = [verdict for verdict in failing if verdict.measured is None]
        if verdicts:
            holding = f"{len(verdicts) - len(failing)} of {len(verdicts)} {what} hold"
            yield f"{holding}, {len(unmeasured)} not measured" if unmeasured else holding
        for verdict in failing:
            said = f"{_words(verdict)}; {_own(verdict.note, done)}"
            yield f"  {verdict.figure}: {verdict.claim}: {said}"
    if not done.verdicts:
        yield "no claim of the text is judged here: the picture is for the eye"
    for path in done.tables:
        yield from path.read_text(encoding="utf-8").splitlines()
        yield f"table: {path}"
    yield from (f"picture: {path}" for path in done.pictures)
    yield from (f"run: {path} ({said})" for path, said in done.runs.items())


def _words(verdict: Verdict) -> str:
    """The paper's, as a quotation, or ours."""
    said = verdict.paper_says
    return f"we expect {verdict.we_expect}" if said is None else f'"{said}"'


def _own(note: str, done: Reproduction) -> str:
    """A note without what is said of the runs."""
    for said in done.runs.values():
        note = note.replace(f"; {said}", "")
    return note


def _numbers(value: float | tuple[float, float] | None) -> str:
    match value:
        case None:
            return "-"
        case (low, high):
            return f"{number(low)} - {number(high)}"
        case _:
            return number(value)
