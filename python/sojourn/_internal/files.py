"""Files that are whole or not there."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
