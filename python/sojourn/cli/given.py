"""The study that a command is given: a file, or the arguments of another simulator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn._internal.errors import InputError
from sojourn.cli import output

if TYPE_CHECKING:
    from sojourn._core import Study
    from sojourn.htsim import Made
    from sojourn.store.flow_tables import Table
    from sojourn.store.stored_run import StoredRun

_MOST_LINES = 32  # of connections that are printed


@dataclass(frozen=True)
class Given:
    """A study's text, where it is from, and what its run is called.

    `tables` are flows that are in no file. `made` is there if it comes from htsim_uec's arguments.
    """

    text: str
    source: str
    name: str
    tables: "Mapping[str, Table]"
    made: "Made | None" = None

    @property
    def parse(self) -> "Callable[..., Study]":
        """Checks the study; takes overrides, `seed` and `replications`."""
        from sojourn.execution import studies

        return partial(studies.parse, self.text, self.source, tables=self.tables)


def given(study: Path | None, htsim: str | None) -> Given:
    """What is to be run: a study, or what htsim_uec's arguments ask for.

    Raises:
        InputError: there is neither, or both; or it cannot be read.
    """
    from sojourn.execution import inputs, studies

    if study is None and htsim is None:
        raise InputError("run: Missing argument 'STUDY', or --htsim")
    if study is not None:
        if htsim is not None:
            raise InputError("expected either a STUDY or --htsim, not both")
        return Given(
            text=studies.read(study),
            source=studies.source_of(study),
            name=studies.name_of(study),
            tables=inputs.NO_TABLES,
        )
    from sojourn.htsim import made

    found = made(htsim or "")
    inputs.warn(found.notes)
    text, tables = found.as_table()
    name = Path(found.matrix.file).stem
    return Given(text=text, source="--htsim", name=name, tables=tables, made=found)


def print_study(found: Given, out: Path | None, *, as_json: bool) -> None:
    """Print the study that was made, and write its flows into a file that it names.

    Raises:
        InputError: it was not made; or the file cannot be written, or holds something else.
    """
    from sojourn._internal.errors import reason
    from sojourn._internal.files import write_text
    from sojourn.htsim.connections import csv_text

    if found.made is None:
        raise InputError("--as-study: expected --htsim, from whose arguments a study is made")
    flows = found.made.flows
    file = out or Path(f"{found.name}.csv")
    text = csv_text([*flows], zip(*flows.values(), strict=True))
    try:
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise InputError(f"{file} already exists; not overwritten: --out names another file")
        write_text(file, text)
    except OSError as error:
        raise InputError(f"cannot write the flows: {reason(error)}") from None
    study = found.made.text({"kind": "csv", "file": str(file)})
    if as_json:
        output.document({"study": study, "flows": file})
    else:
        click.echo(study, nl=False)


def connections(found: Given, done: "StoredRun") -> tuple[dict[str, object], Sequence[str]]:
    """What became of each connection of a matrix: for a document, and as lines for people.

    Raises:
        InputError: a file of the run cannot be read or written.
    """
    from sojourn._internal.errors import reason
    from sojourn.htsim import connections as of

    if found.made is None:
        return {}, ()
    outcomes = of.outcomes(found.made, done)
    try:
        path = of.write(outcomes, done.path)
    except OSError as error:
        raise InputError(f"cannot write results: {reason(error)}") from None
    lines = []
    if len(outcomes) <= _MOST_LINES:
        table = [of.HEADS, *(one.cells() for one in outcomes)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in table
        ]
    lines += of.summary(found.made, outcomes)
    lines.append(f"in the matrix's order: {path}")
    return {"connections": outcomes}, lines
