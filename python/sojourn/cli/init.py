"""`sojourn init`: a study, or a class for its transport or queue, to start from."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options

SCHEMA = "study.schema.json"
CLASSES = ("queue", "transport")
"""What a class of Python can be for."""
_TEMPLATES = Path(__file__).with_name("templates")


def models() -> list[str]:
    """The models that have a study to start from."""
    return sorted(path.stem for path in _TEMPLATES.glob("*.toml"))


@click.command(short_help="Write a study, or a Python class, to start from.")
@click.argument("model", required=False, metavar="[fabric|array|mail|queue|transport]")
@click.argument("name", required=False)
@click.option("--ask", is_flag=True, help="Ask for missing arguments.")
def init(model: str | None, name: str | None, ask: bool) -> None:
    """Write NAME.toml, a study with comments that runs as it is, or NAME.py.

    The first word is the model: a fabric of switches, a disk array, or the mail of a list server.
    The command also writes `study.schema.json`, with which editors complete and check the study,
    if the folder has none. `transport` writes a congestion controller and `queue` an active queue
    management: Python classes that a study of a fabric can name.

    \b
    Examples:
      sojourn init fabric mine
      sojourn init transport my_cc.py
    """
    known = [*models(), *CLASSES]
    if ask:
        model = model or click.prompt("model", type=click.Choice(known))
        name = name or click.prompt("name")
    if model is not None:
        options.OneOf(known).convert(model, None, click.get_current_context())
    if model is None or name is None:
        raise InputError("init: expected a model and a name, such as `sojourn init fabric mine`")
    if not name.isprintable() or not name.rpartition("/")[2].strip(".") or name[0] in "-@":
        raise InputError(f"init: {name!r}: expected the name of a file, such as mine or tries/mine")
    if model in CLASSES:
        _write_class(model, Path(name if name.endswith(".py") else f"{name}.py"))
    else:
        _write_study(model, Path(name if name.endswith(".toml") else f"{name}.toml"))


def _write_study(model: str, path: Path) -> None:
    from sojourn import _core
    from sojourn._internal.files import write_text

    text = (_TEMPLATES / f"{model}.toml").read_text(encoding="utf-8")
    filled = text.replace("NAME", path.stem).replace('"TITLE"', _quoted(path.stem))
    schema = path.with_name(SCHEMA)
    beside = "" if schema.exists() else f", and {schema} for editors"
    with _new_file(path, filled):
        if beside:
            write_text(schema, f"{_core.schema()}\n")
    click.echo(f"wrote {path}{beside}")
    click.echo(f"next: sojourn run {shlex.quote(str(path))}")


def _write_class(purpose: str, path: Path) -> None:
    name = "".join(word.capitalize() for word in re.split(r"\W+|_", path.stem))
    if not name.isidentifier() or not name.isascii():
        raise InputError(
            f"init: {path.stem!r}: expected a name that a class can have, such as my_cc"
        )
    text = (_TEMPLATES / f"{purpose}.py.txt").read_text(encoding="utf-8")
    with _new_file(path, text.replace("NAME", path.stem).replace("CLASS", name)):
        pass
    click.echo(f"wrote {path}")
    click.echo(f"next: sojourn list {purpose}s {shlex.quote(str(path))}")


@contextmanager
def _new_file(path: Path, text: str) -> Iterator[None]:
    """Write a new file and its folders; remove them if the code that follows fails.

    Raises:
        InputError: it already exists.
    """
    made = [folder for folder in path.parents if not folder.exists()]
    with ExitStack() as undo:
        for folder in reversed(made):
            undo.callback(_remove, folder.rmdir)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:
            raise InputError(f"{path} already exists; not overwritten") from None
        undo.callback(_remove, path.unlink)
        with file:
            file.write(text)
        yield
        undo.pop_all()


def _remove(remove: Callable[[], None]) -> None:
    with suppress(OSError):
        remove()


def _quoted(text: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)
