"""Where a log's bytes come from: files, packed or not, and standard input."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from sojourn._internal.errors import InputError

STDIN = "-"
PIECE = 1 << 20
_SECOND_US = 10**6


def _zstd(raw: BinaryIO) -> object:
    return pa.CompressedInputStream(raw, "zstd")


_PACKED: dict[bytes, Callable[[BinaryIO], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
    b"\x28\xb5\x2f\xfd": _zstd,
}
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)


def pieces(name: str) -> Iterator[bytes]:
    """The bytes of a log, unpacked, in pieces; `-` is standard input.

    Raises:
        InputError: it is packed, and damaged.
        OSError: it cannot be read.
    """
    with _opened(name) as raw:
        file = _unpacked(raw)
        try:
            while piece := file.read(PIECE):
                yield piece
        except _DAMAGED as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the file, not of what is packed in it
            raise InputError(f"{name}: packed, and damaged: {error}") from None


def newest_us(name: str, year: int | None) -> int:
    """A time before which the first line of a log was written, but not by a year or more.

    By the file's own time, or within `year`; now for standard input.
    """
    if year is not None:
        return wall_us(datetime(year, 12, 31, 23, 59, 59))  # noqa: DTZ001 - of the log's own clock
    if name == STDIN:
        return now_us()
    return wall_us(datetime.fromtimestamp(Path(name).stat().st_mtime))  # noqa: DTZ006 - likewise


def now_us() -> int:
    """Now, by this machine's clock as it is shown."""
    return wall_us(datetime.now())  # noqa: DTZ005 - the clock on the wall


def wall_us(time: datetime) -> int:
    """Microseconds from 1970 to a time of a clock without a time zone."""
    since = time.replace(tzinfo=UTC) - datetime.fromtimestamp(0, UTC)
    return since.days * 86_400 * _SECOND_US + since.seconds * _SECOND_US + since.microseconds


def wall(time_us: int) -> datetime:
    """The time so many microseconds after 1970, without a time zone."""
    whole, micros = divmod(time_us, _SECOND_US)
    return datetime.fromtimestamp(whole, UTC).replace(tzinfo=None, microsecond=micros)


def _opened(name: str) -> AbstractContextManager[BufferedReader]:
    if name == STDIN:
        return nullcontext(cast(BufferedReader, sys.stdin.buffer))
    return Path(name).open("rb")


def packed(raw: BufferedReader) -> bool:
    """Whether what is at the beginning says that it is packed."""
    return _unpacked(raw) is not raw


def _unpacked(raw: BufferedReader) -> BinaryIO:
    for magic, opening in _PACKED.items():
        if raw.peek(len(magic)).startswith(magic):
            return cast(BinaryIO, opening(raw))
    return raw
