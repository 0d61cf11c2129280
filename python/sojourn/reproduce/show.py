"""What came of a paper, for people."""

from collections.abc import Iterable

from sojourn.reproduce import Reproduction
from sojourn.terminal import print_lines, print_table
from sojourn.units import number


def show(done: Reproduction) -> None:
    """Print the table of claims, why those that fail do, and where everything lies."""
    groups: dict[str, list[list[str]]] = {}
    for verdict in done.verdicts:
        line = [
            verdict.figure,
            verdict.claim,
            verdict.paper_says,
            _numbers(verdict.measured),
            _numbers(verdict.ci95),
            "yes" if verdict.holds else "-" if verdict.measured is None else "NO",
        ]
        groups.setdefault(verdict.figure, []).append(line)
    heads = ["figure", "claim", "paper", "measured", "95 % interval", "holds"]
    title = f"{done.paper.title} ({done.paper.source})"
    if groups:
        print_table(groups.values(), heads, title=title, numbers=4)
    else:
        print_lines([title])
    print_lines(_lines(done))


def _lines(done: Reproduction) -> Iterable[str]:
    failing = [verdict for verdict in done.verdicts if not verdict.holds]
    unmeasured = [verdict for verdict in failing if verdict.measured is None]
    if done.verdicts:
        holding = f"{len(done.verdicts) - len(failing)} of {len(done.verdicts)} claims hold"
        yield f"{holding}, {len(unmeasured)} not measured" if unmeasured else holding
    else:
        yield "no claim of the text is judged here: the picture is for the eye"
    for verdict in failing:
        yield f"  {verdict.figure}: {verdict.claim}: {_own(verdict.note, done)}"
    for path in done.tables:
        yield from path.read_text(encoding="utf-8").splitlines()
        yield f"table: {path}"
    yield from (f"picture: {path}" for path in done.pictures)
    yield from (f"run: {path} ({said})" for path, said in done.runs.items())


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
