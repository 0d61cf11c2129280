"""`sojourn init`: a study to begin from."""

import json
import shlex
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import click

from sojourn._internal.errors import InputError
from sojourn.cli import options

SCHEMA = "study.schema.json"
_TEMPLATES = Path(__file__).with_name("templates")


def models() -> list[str]:
    """The models that have a study to begin from."""
    return sorted(path.stem for path in _TEMPLATES.glob("*.toml"))


@click.command(short_help="Write a study to begin from.")
@click.argument("model", required=False, metavar="[fabric|array|mail]")
@click.argument("name", required=False)
@click.option("--ask", is_flag=True, help="Ask for what is not given.")
def init(model: str | None, name: str | None, ask: bool) -> None:
    """Write NAME.toml, a commented study that runs as it is.

    The first word is the model: a fabric of switches, a disk array, or a list server's mail. Beside
    it `study.schema.json` lets editors complete and check it, where there is none yet.
    """
    from sojourn import _core
    from sojourn._internal.files import write_text

    if ask:
        model = model or click.prompt("model", type=click.Choice(models()))
        name = name or click.prompt("name")
    if model is not None:
        options.OneOf(models()).convert(model, None, click.get_current_context())
    if model is None or name is None:
        raise InputError("init: expected a model and a name, such as `sojourn init fabric mine`")
    if not name.isprintable() or not name.rpartition("/")[2].strip(".") or name[0] in "-@":
        raise InputError(f"init: {name!r}: expected the name of a file, such as mine or tries/mine")
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    text = (_TEMPLATES / f"{model}.toml").read_text(encoding="utf-8")
    filled = text.replace("NAME", path.stem).replace('"TITLE"', _quoted(path.stem))
    schema = path.with_name(SCHEMA)
    beside = "" if schema.exists() else f", and {schema} for editors"
    made = [folder for folder in path.parents if not folder.exists()]
    with ExitStack() as undo:
        for folder in reversed(made):
            undo.callback(_remove, folder.rmdir)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:
            raise InputError(f"{path}: it is there already, and is left as it is") from None
        undo.callback(_remove, path.unlink)
        with file:
            file.write(filled)
        if beside:
            write_text(schema, f"{_core.schema()}\n")
        undo.pop_all()
    click.echo(f"wrote {path}{beside}")
    click.echo(f"next: sojourn run {shlex.quote(str(path))}")


def _remove(remove: Callable[[], None]) -> None:
    with suppress(OSError):
        remove()


def _quoted(text: str) -> str:
    """A text as TOML writes it."""
    return json.dumps(text, ensure_ascii=False)
