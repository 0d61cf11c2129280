"""Text files that a user names: studies, settings, worlds."""

from pathlib import Path

from sojourn.errors import InputError, reason

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
            read = file.read(_LARGEST + 1)
        if len(read) > _LARGEST:
            raise InputError(f"{path}: over {_LARGEST:,} bytes, that is no {what}")
        return read.decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read the {what}: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None
