"""What came of a paper, for people."""

from collections.abc import Iterable, Sequence

from sojourn._internal.terminal import print_lines, print_table
from sojourn._internal.units import number
from sojourn.reproduction import Reproduction
from sojourn.reproduction.claims import Verdict
from sojourn.reproduction.papers import Paper

ANSWERS = {True: "yes", False: "NO", None: "-"}


def show(done: Reproduction) -> None:
    """Print the table of claims, why those that fail do, and where everything lies."""
    lines = [
        [
            verdict.figure,
            verdict.claim,
            _numbers(verdict.measured),
            _numbers(verdict.ci95),
            ANSWERS[verdict.answer],
        ]
        for verdict in done.verdicts
    ]
    if not lines:
        print_lines([f"{done.paper.title} ({done.paper.source})"])
    print_claims(lines, ["measured", "95 % interval", "holds"], done.paper)
    print_lines(_lines(done))


def print_claims(lines: Iterable[Sequence[str]], heads: Sequence[str], paper: Paper) -> None:
    """Print a line a claim, which begins with its figure, and a rule between figures."""
    groups: dict[str, list[Sequence[str]]] = {}
    for line in lines:
        groups.setdefault(line[0], []).append(line)
    if groups:
        title = f"{paper.title} ({paper.source})"
        print_table(groups.values(), ["figure", "claim", *heads], title=title, numbers=len(heads))


def _lines(done: Reproduction) -> Iterable[str]:
    claims = [verdict for verdict in done.verdicts if verdict.paper_says is not None]
    ours = [verdict for verdict in done.verdicts if verdict.paper_says is None]
    for verdicts, what in ((claims, "claims"), (ours, "expectations of ours")):
        judged = [verdict for verdict in verdicts if verdict.is_applicable]
        failing = [verdict for verdict in judged if not verdict.holds]
        unmeasured = [verdict for verdict in failing if verdict.measured is None]
        if verdicts:
            holding = f"{len(judged) - len(failing)} of {len(judged)} {what} hold"
            others = {"not measured": unmeasured, "not applicable": verdicts[len(judged) :]}
            yield ", ".join([holding, *(f"{len(own)} {why}" for why, own in others.items() if own)])
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
