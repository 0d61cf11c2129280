"""What a report says of each run, and of each paper's claims."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sojourn._internal.errors import InputError
from sojourn._internal.units import number
from sojourn.analysis.algorithms import Algorithm, algorithms, facts
from sojourn.analysis.summary import summarise
from sojourn.presentation.table import Table
from sojourn.presentation.tables import notes, tables
from sojourn.reporting.charts import Chart, charts
from sojourn.reporting.headline import headline
from sojourn.reporting.series import series, stopped
from sojourn.store.stored_run import StoredRun

_CLAIMS = "claims.json"
_JUDGED = ("claim", "source", "paper_says", "we_expect", "measured", "ci95", "holds", "note")


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and what came of it."""

    figure: str
    text: str
    source: str
    says: str
    measured: str
    holds: bool
    note: str


@dataclass(frozen=True)
class Image:
    """A figure of a paper as it was drawn: a PNG, in text that can stand in a page."""

    name: str
    base64: str


@dataclass(frozen=True)
class Section:
    """One run, or one paper's claims: whatever of it there is."""

    title: str
    facts: Mapping[str, str]
    algorithms: tuple[Algorithm, ...] = ()
    headline: str = ""
    pictures: tuple[Image, ...] = ()
    cautions: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    study: str = ""
    again: tuple[str, ...] = ()


def sections(path: Path) -> Iterator[Section]:
    """The sections of a run directory, or of a directory that `sojourn reproduce` left.

    Raises:
        InputError: it is neither, or a file in it cannot be read.
    """
    claims = path / _CLAIMS
    if not claims.exists():
        yield _of_run(path)
        return
    runs = sorted(entry for entry in path.iterdir() if (entry / "study.toml").exists())
    verdicts = _claims(claims)
    pictures = tuple(_images(path))
    if verdicts or pictures:
        yield Section(
            title=f"{path.name}: figures and claims",
            facts={"runs": str(len(runs))},
            headline=_held(verdicts) if verdicts else "",
            claims=verdicts,
            pictures=pictures,
        )
    for run in runs:
        yield _of_run(run)


def with_other_files(found: Sequence[Section]) -> list[Section]:
    """Sections with a caution where the same file of a user holds other code in other runs."""
    hashes: dict[str, set[str]] = {}
    for one in (one for section in found for one in section.algorithms):
        hashes.setdefault(one.file, set()).add(one.sha256)
    return [
        replace(section, cautions=(*section.cautions, *_other_files(section, hashes)))
        for section in found
    ]


def _other_files(section: Section, hashes: Mapping[str, set[str]]) -> list[str]:
    files = dict.fromkeys(one.file for one in section.algorithms if len(hashes[one.file]) > 1)
    return [f"{file} is not the same file in all runs of this report" for file in files]


def _held(verdicts: Sequence[Claim]) -> str:
    held = sum(claim.holds for claim in verdicts)
    failed = dict.fromkeys(claim.figure for claim in verdicts if not claim.holds)
    others = f"; not those about figure {', '.join(failed)}" if failed else ""
    return f"{held} of {len(verdicts)} claims of the paper hold{others}."


def _images(path: Path) -> Iterator[Image]:
    """The figures that were drawn, in their order."""
    drawn = path.glob("figure-*.png")
    for file in sorted(drawn, key=lambda file: (len(file.stem), file.stem)):
        name = file.stem.removeprefix("figure-")
        yield Image(f"Figure {name}", b64encode(file.read_bytes()).decode("ascii"))


def _of_run(path: Path) -> Section:
    run = StoredRun.open(path)
    summary = summarise(run)
    used = algorithms(run.ledger)
    return Section(
        title=run.title,
        facts=_facts(run, used),
        algorithms=tuple(used),
        headline=headline(run, summary),
        cautions=summary.cautions,
        charts=(*charts(run), *series(run), *stopped(run)),
        tables=tuple(tables(summary)),
        notes=tuple(line for line in notes(summary) if not line.startswith("caution: ")),
        study=run.directory.read_study(),
        again=_again(run),
    )


def _facts(run: StoredRun, used: Sequence[Algorithm]) -> dict[str, str]:
    meta, machine = run.meta, run.meta.get("machine")
    system = machine if isinstance(machine, dict) else {}
    cpu_s = sum(record.cpu_s for record in run.ledger)
    found = {
        "size": run.ledger.size(),
        "sojourn": f"{meta.get('version', '?')}{_commit(meta)}",
        **facts(used),
        "seed": str(meta.get("seed", "none")),
        "measured on": str(meta["measured"]) if "measured" in meta else "",
        "CPU time": f"{number(cpu_s)} s",
        "machine": ", ".join(str(system[k]) for k in ("processor", "system") if k in system),
        "not run yet": f"{run.missing} cases" if run.missing else "",
    }
    return {name: said for name, said in found.items() if said}


def _commit(meta: Mapping[str, object]) -> str:
    commit = meta.get("commit")
    return f", commit {commit}" if commit else ""


def _again(run: StoredRun) -> tuple[str, ...]:
    """The commands that do it again, from the study below."""
    if "measured" in run.meta:
        return (str(run.meta.get("command", "")),)
    verb = "estimate" if "estimated" in run.meta else "run"
    return f"sojourn {verb} study.toml --out out/again", "sojourn show out/again"


def _claims(path: Path) -> tuple[Claim, ...]:
    try:
        verdicts = json.loads(path.read_text(encoding="utf-8"))
        return tuple(_claim(verdict) for verdict in verdicts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not the claims of a reproduced paper ({error})") from None


def _claim(verdict: Mapping[str, object]) -> Claim:
    claim, source, says, ours, measured, ci95, holds, note = (verdict[name] for name in _JUDGED)
    ends = f" [{', '.join(number(end) for end in ci95)}]" if isinstance(ci95, list) else ""
    return Claim(
        figure=str(verdict["figure"]),
        text=str(claim),
        source=str(source),
        says=f"we expect: {ours}"
        if says is None
        else f"\N{LEFT DOUBLE QUOTATION MARK}{says}\N{RIGHT DOUBLE QUOTATION MARK}",
        measured=_value(measured) + ends,
        holds=bool(holds),
        note=str(note),
    )


def _value(value: object) -> str:
    if isinstance(value, list):
        return " to ".join(_value(one) for one in value)
    return number(value) if isinstance(value, float) else str(value)
