"""Files that a user names, read as text; files of results, written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sojourn._internal.errors import InputError, reason

_LARGEST = 10**7


def read_text(path: Path, what: str, *, largest: int | None = None) -> str:
    """The text of a file.

    Args:
        path: where it is.
        what: what it should be, such as "study".
        largest: the most bytes that such a file has; by default those of a study.

    Raises:
        InputError: it cannot be read, or is not text.
    """
    try:
        with path.open("rb") as file:
            return decoded(file, str(path), what, largest=largest)
    except OSError as error:
        raise InputError(f"cannot read the {what}: {reason(error)}") from None


def decoded(file: BinaryIO, name: str, what: str, *, largest: int | None = None) -> str:
    """The text of an open file, `name` for people.

    Raises:
        InputError: it is not text, or too long.
        OSError: it cannot be read.
    """
    most = _LARGEST if largest is None else largest
    read = file.read(most + 1)
    if len(read) > most:
        raise InputError(f"{name}: over {most:,} bytes, that is no {what}")
    try:
        return read.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text (byte {error.start})") from None


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; what is there after the block becomes `path`.

    Raises:
        OSError: it could not be written; nothing is left, and the error names `path`.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # what could not be made cannot be removed
            partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
