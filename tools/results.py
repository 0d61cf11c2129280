"""Numbers in prose have a run: `python tools/results.py check`, or `write`.

A page says behind a sentence, a paragraph, an item or a table where its measured numbers come from:
`<!-- results: long.tail, long.mean -->`. These are rows of docs/results/PAGE.toml, where each run
has its command, seeds, length and commit. The values of the rows are the numbers of the text before
the mark, in order. A row of another page's table is `big-buffers/long.tail`. In a claims.toml the
mark is a comment behind a `finding`, and the table is that of the paper. The row `printed` is what
the blocks of the page print, as a test compares it. `<!-- given: 200 ms, 10 Gb/s -->` lists what a
page sets or quotes; tools/measured.py says which numbers need neither.

`check` tells what has no run, and what differs from its table. `write` puts changed values of a
table into the pages, and takes values of rows that a mark names and no table has from the page.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measured import Number, Segment, as_printed, hidden, is_printed, segments, sentence

ROOT = Path(__file__).parent.parent
RESULTS = Path("docs/results")
PAGES = (
    *("README.md", "docs/gallery.md", "docs/tutorial.md"),
    *("docs/explanation/*.md", "docs/how-to/*.md", "docs/developers/*.md", "papers/*/claims.toml"),
)

# `full` is the length of the study where a run has less. `origin = "page"`: the run was not kept,
# and the commit is the one that wrote the number down.
# Commands that run less than the study has.
_SHORTENED = re.compile(
    r"-quick\b|--set (?:workload|list|run)\.(?:flows|requests|queries|messages|rep)"
)
REQUIRED = {"command", "seeds", "length", "commit"}
OPTIONAL = {"full", "origin", "note", "values"}


@dataclass
class Results:
    """All tables: runs by `table/run`, and the values of rows by `table/run.row`."""

    runs: dict[str, dict[str, Any]]
    rows: dict[str, list[str]]

    @classmethod
    def read(cls, texts: Mapping[str, str]) -> Results:
        """Read the texts of tables, by their names."""
        runs, rows = {}, {}
        for table, text in texts.items():
            for run, about in tomllib.loads(text).items():
                runs[f"{table}/{run}"] = about
                for row, values in about.get("values", {}).items():
                    rows[f"{table}/{run}.{row}"] = [*flat(values)]
        return cls(runs, rows)

    def values(self, rows: Sequence[str]) -> list[str]:
        """The values of rows, one after the other."""
        return [value for row in rows for value in self.rows.get(row, [])]


def flat(values: object) -> Iterator[str]:
    """The values of a row, which are one, a list, or lists with labels."""
    if isinstance(values, dict | list):
        for value in values.values() if isinstance(values, dict) else values:
            yield from flat(value)
    elif isinstance(values, str):
        yield values
    else:
        raise SystemExit(f"{values!r}: a value is a string, as it is printed")


def tables(root: Path) -> dict[str, str]:
    """The texts of all tables."""
    return {file.stem: file.read_text() for file in sorted(root.joinpath(RESULTS).glob("*.toml"))}


def pages(root: Path) -> list[Path]:
    """Every page whose numbers need a run."""
    return [page for place in PAGES for page in sorted(root.glob(place))]


def full_names(segment: Segment) -> list[str]:
    """The rows of a mark as `table/run.row`, with the page's table where it names none."""
    page = segment.page
    table = page.parent.name if page.suffix == ".toml" else page.stem
    return [row if "/" in row else f"{table}/{row}" for row in segment.rows]


def is_quick(run: Mapping[str, object]) -> bool:
    """Whether a run is shorter than its study."""
    return run.get("full", run["length"]) != run["length"]


def aligned(values: Sequence[str], segment: Segment) -> list[tuple[int, int]] | None:
    """Where the values are in the text, in order, if no other number there is measured."""
    numbers = segment.numbers()
    shown = hidden(segment.text)
    # Ways to read the text, by how many numbers and how many values are read.
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {(0, 0): []}
    for place, number in enumerate(numbers):
        for (read, done), spans in [*ways.items()]:
            if read != place:
                continue
            if not number.is_measured:
                ways.setdefault((place + 1, done), spans)
            if done < len(values):
                match = re.compile(as_printed(values[done])).match(shown, number.start)
                if match:
                    beyond = sum(it.start < match.end() for it in numbers)
                    ways[beyond, done + 1] = [*spans, match.span()]
    return ways.get((len(numbers), len(values)))


# Check


def check(root: Path) -> list[str]:
    """What is wrong, a line for each."""
    results = Results.read(tables(root))
    wrong = [*unsound_runs(results)]
    quoted: set[str] = set()
    for page in pages(root):
        text, name = page.read_text(), page.relative_to(root).as_posix()
        for segment in segments(page, text):
            quoted |= {*full_names(segment)}
            line = text.count("\n", 0, segment.start) + 1
            wrong += [f"{name}:{line}: {fault}" for fault in faults(segment, results)]
    wrong += [f"{row}: no page quotes this row" for row in results.rows if row not in quoted]
    return wrong


def unsound_runs(results: Results) -> Iterator[str]:
    """Runs that do not say how they were made."""
    for name, run in results.runs.items():
        for key in sorted(REQUIRED - run.keys()):
            yield f"{name}: `{key}` is missing"
        for key in sorted(run.keys() - REQUIRED - OPTIONAL):
            yield f"{name}: `{key}` is no key of a run"
        if not re.fullmatch(r"[0-9a-f]{7,40}", str(run.get("commit", ""))):
            yield f"{name}: `commit` is no hash of one"
        if run.get("origin", "page") != "page":
            yield f'{name}: `origin` is left out, or "page"'
        command = str(run.get("command", ""))
        is_brief = "sojourn reproduce" in command and "--full" not in command
        if (is_brief or _SHORTENED.search(command)) and "full" not in run:
            yield f"{name}: `full` is missing, the length that the study has"
    for row, values in results.rows.items():
        if not values:
            yield f"{row}: it has no value"


def faults(segment: Segment, results: Results) -> Iterator[str]:
    """What is wrong with a part of a page."""
    measured = [it.text for it in segment.numbers() if it.is_measured]
    if segment.rows == ["printed"]:
        for number in measured:
            if not is_printed(number, segment.answers):
                yield f"{number}: no block of the page prints it"
        return
    rows = full_names(segment)
    unknown = [row for row in rows if row not in results.rows]
    values = results.values(rows)
    spans = aligned(values, segment)
    if unknown:
        yield f"no table has the row {', '.join(unknown)}"
    elif spans is None and not rows:
        yield f"{', '.join(measured)}: measured, but no run is named (docs/results)"
    elif spans is None:
        yield f"the text has {', '.join(measured)}; {', '.join(rows)} has {', '.join(values)}"
    else:
        of_values = [row.partition(".")[0] for row in rows for _ in results.rows[row]]
        for run, value, span in zip(of_values, values, spans, strict=True):
            if not is_told(results.runs[run], segment, span[0]):
                length = results.runs[run]["length"]
                yield f'{value} is of a quick run: its sentence says "quick" and {length}'


def is_told(run: Mapping[str, object], segment: Segment, place: int) -> bool:
    """Whether the sentence around a place, or a table, says that its run is quick."""
    said = hidden(segment.passage)
    if not segment.is_table:
        said = sentence(said, segment.offset + place)
    length = as_printed(str(run["length"]))
    return not is_quick(run) or bool(re.search(r"\bquick\b", said) and re.search(length, said))


# Write


def write(root: Path) -> None:
    """Put changed values into pages, and the values of new rows from there into the tables."""
    texts = tables(root)
    results = Results.read(texts)
    before = Results.read({name: committed(root, name) or text for name, text in texts.items()})
    for page in pages(root):
        text = page.read_text()
        parts = segments(page, text)
        for segment in parts:
            rows = full_names(segment)
            new = [row for row in rows if row not in results.rows]
            if new and rows == new[:1] and new[0].partition(".")[0] in results.runs:
                results.rows[new[0]] = add_row(root, new[0], segment)
        for segment in reversed(parts):
            rows = full_names(segment)
            old = [value for row in rows for value in before.rows.get(row, results.values([row]))]
            spans = aligned(old, segment) or []
            for (start, end), value in reversed([*zip(spans, results.values(rows), strict=False)]):
                here = slice(segment.start + start, segment.start + end)
                if text[here].split() != value.split():
                    text = text[: here.start] + value + text[here.stop :]
        if text != page.read_text():
            page.write_text(text)


def add_row(root: Path, name: str, segment: Segment) -> list[str]:
    """Write a new row, the measured numbers of a text, behind the other values of its run."""
    table, _, run_and_row = name.partition("/")
    run, _, row = run_and_row.partition(".")
    numbers = [it for it in segment.numbers() if it.is_measured]
    file = root / RESULTS / f"{table}.toml"
    text = file.read_text()
    if f"[{run}.values" not in text:
        text = behind(text, rf"\[{re.escape(run)}\]\n(?:[^\[\n].*\n)*", f"\n[{run}.values]\n")
    if segment.is_table:
        lines = [f'"{it}" = {as_toml(of_line)}\n' for it, of_line in by_line(segment, numbers)]
        added = f"\n[{run}.values.{row}]\n{''.join(lines)}"
        text = behind(text, rf"\[{re.escape(run)}\.values[^\]]*\]\n(?:[^\[\n].*\n)*", added)
    else:
        added = f"{row} = {as_toml([it.text for it in numbers])}\n"
        text = behind(text, rf"\[{re.escape(run)}\.values\]\n(?:[^\[\n].*\n)*", added)
    file.write_text(text)
    return [it.text for it in numbers]


def behind(text: str, pattern: str, added: str) -> str:
    """The text with something more behind the last place that the pattern matches."""
    end = [*re.finditer(rf"^{pattern}", text, re.MULTILINE)][-1].end()
    return text[:end] + added + text[end:]


def as_toml(values: Sequence[str]) -> str:
    """One value, or a list of them."""
    quoted = ", ".join(f'"{value}"' for value in values)
    return quoted if len(values) == 1 else f"[{quoted}]"


def by_line(segment: Segment, numbers: Sequence[Number]) -> Iterator[tuple[str, list[str]]]:
    """The values of each line of a table, with the words of its first columns as a label."""
    labels: set[str] = set()
    start, first = 0, ""
    for line in segment.text.splitlines(keepends=True):
        values = [it.text for it in numbers if start <= it.start < start + len(line)]
        start += len(line)
        cells = [re.sub(r'[`*\\"]', "", it).strip() for it in line.strip().strip("|").split("|")]
        first = cells[0] or first
        label = first if cells[0] and first not in labels else f"{first}, {cells[1]}"
        if values:
            labels.add(label)
            yield label, values


def committed(root: Path, name: str) -> str | None:
    """A table as it is in the last commit."""
    command = ["git", "show", f"HEAD:{RESULTS.as_posix()}/{name}.toml"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def main(words: Sequence[str]) -> int:
    """Do what the command says."""
    if [*words] not in (["check"], ["write"]):
        sys.stderr.write("usage: tools/results.py check|write\n")
        return 2
    if words[0] == "write":
        write(ROOT)
    wrong = check(ROOT)
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
