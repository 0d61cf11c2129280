"""What an array is measured on: files and block devices, and what may be done to them."""

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn._internal.errors import InputError, MeasurementError, reason
from sojourn._internal.files import whole
from sojourn._internal.units import BYTES_PER_GB

_AT_ONCE = 1 << 20
_TELL_AFTER_S = 1
# what O_DIRECT wants offsets and lengths to be multiples of: the largest sector that disks have
SECTOR = 4096


@dataclass(frozen=True)
class Target:
    """A file or block device to issue requests to.

    `size_bytes` is its own; `direct` says that the page cache can be passed by; `whole` that no
    part of it is a hole, which is read without any disk.
    """

    path: Path
    size_bytes: int
    device: bool
    direct: bool
    whole: bool


@contextmanager
def created(paths: Sequence[Path], size_bytes: int, say: Callable[[str], None]) -> Iterator[None]:
    """Files that are made for a measurement, and removed again if it is refused.

    Before any is written it is known that all can be.

    Raises:
        MeasurementError: there is something of that name, too little space, or no permission.
    """
    for path in paths:
        _check_place(path)
    _check_space(paths, size_bytes)
    made: list[Path] = []
    try:
        for path in paths:
            create(path, size_bytes, say)
            made.append(path)
        yield
    except InputError:
        for path in made:
            path.unlink(missing_ok=True)
        raise


def _check_place(path: Path) -> None:
    if os.path.lexists(path):
        raise MeasurementError(
            f"--create: {path} is there already; name another file, or leave it out"
        )
    if not path.parent.is_dir():
        raise MeasurementError(f"--create: {path.parent} is no directory")
    if not os.access(path.parent, os.W_OK):
        raise MeasurementError(f"--create: {path.parent} cannot be written to")


def _check_space(paths: Sequence[Path], size_bytes: int) -> None:
    """Whether each file system has room for all that goes there."""
    needed: dict[int, int] = {}
    for path in paths:
        system = path.parent.stat().st_dev
        needed[system] = needed.get(system, 0) + size_bytes
        free = shutil.disk_usage(path.parent).free
        if needed[system] > free:
            raise MeasurementError(
                f"--create: {path.parent} has {free / BYTES_PER_GB:,.1f} GB free, and"
                f" {needed[system] / BYTES_PER_GB:,.1f} GB are asked for"
            )


def create(path: Path, size_bytes: int, say: Callable[[str], None] = lambda _: None) -> None:
    """Write a file of random bytes, so that no part of it is a hole or alike another.

    After a second, `say` is called with how long the rest will take.

    Raises:
        MeasurementError: it cannot be written.
    """
    try:
        with whole(path) as partial, partial.open("wb", buffering=0) as file:
            began, told = time.monotonic(), False
            for start in range(0, size_bytes, _AT_ONCE):
                passed = time.monotonic() - began
                if passed > _TELL_AFTER_S and not told:
                    told, left = True, passed / start * (size_bytes - start)
                    say(f"writing {size_bytes / 1e6:,.0f} MB to {path}: about {left:,.0f} s more")
                file.write(os.urandom(min(_AT_ONCE, size_bytes - start)))
            os.fsync(file.fileno())
    except OSError as error:
        raise MeasurementError(f"cannot create the target: {reason(error)}") from None


def find(path: Path, *, writes: bool, destroy_data: bool) -> Target:
    """The target at a path, if it may be measured.

    Args:
        path: of a file or a block device.
        writes: whether anything will be written to it.
        destroy_data: whether what is on it may be lost.

    Raises:
        MeasurementError: there is none, it is something else, it cannot be opened, or its data
            would be lost.
    """
    try:
        mode = path.stat().st_mode
        device = stat.S_ISBLK(mode)
        if not (device or stat.S_ISREG(mode)):
            raise MeasurementError(f"{path}: neither a file nor a block device")
        if writes and not destroy_data:
            what = "block device" if device else "file"
            raise MeasurementError(
                f"{path}: the study writes, and what this {what} holds would be lost;"
                " --destroy-data allows it"
            )
        # of a device that is mounted or part of another, Linux refuses the exclusive use
        exclusive = os.O_EXCL if device and writes else 0
        descriptor = os.open(path, (os.O_RDWR if writes else os.O_RDONLY) | exclusive)
        try:
            size = os.lseek(descriptor, 0, os.SEEK_END)
            held = os.fstat(descriptor).st_blocks * 512
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise MeasurementError(
            f"{path}: no such file or device; --create SIZE makes a file"
        ) from None
    except OSError as error:
        raise MeasurementError(f"cannot open the target: {reason(error)}") from None
    return Target(path, size, device, _is_direct(path), device or held >= size)


def _is_direct(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except (OSError, AttributeError):
        return False
    return True
