"""Text files that a user names: studies, settings, worlds."""

from pathlib import Path
from typing import BinaryIO

from sojourn._internal.errors import InputError, reason

_LARGEST = 10**7


def read(path: Path, what: str) -> str:
    """The text of a file.

    Args:
        path: where it is.
        what: what it should be, such as "study".

    Raises:
        InputError: it cannot be read, or is not text.
    """
    try:
        with path.open("rb") as file:
            return decoded(file, str(path), what)
    except OSError as error:
        raise InputError(f"cannot read the {what}: {reason(error)}") from None


def decoded(file: BinaryIO, name: str, what: str) -> str:
    """The text of an open file, `name` for people.

    Raises:
        InputError: it is not text, or too long.
        OSError: it cannot be read.
    """
    read = file.read(_LARGEST + 1)
    if len(read) > _LARGEST:
        raise InputError(f"{name}: over {_LARGEST:,} bytes, that is no {what}")
    try:
        return read.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text (byte {error.start})") from None
