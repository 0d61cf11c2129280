"""Network namespaces that have no name, and iproute2 inside them.

A namespace lives as long as a file descriptor or a socket in it. No name is given to any, so that
there is nothing to clean up: when this process ends, whatever ends it, the kernel takes the
namespaces down, and with them their devices, queues and routes.
"""

import ctypes
import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from sojourn._internal.errors import MeasurementError

_NEW_NET = 0x40000000  # CLONE_NEWNET of linux/sched.h
_OWN = "/proc/thread-self/ns/net"
TOOLS = ("ip", "tc")


class Namespace:
    """A separate network namespace, with nothing in it but a loopback device.

    Raises:
        MeasurementError: this process may not make one, or this system has none.
    """

    def __init__(self) -> None:
        home = _open_own()
        try:
            if _libc().unshare(_NEW_NET):
                _refuse("unshare")
            self._descriptor = _open_own()
            _enter(home)
        finally:
            os.close(home)

    @property
    def path(self) -> str:
        """Where other processes find it, as long as this one lives."""
        return f"/proc/{os.getpid()}/fd/{self._descriptor}"

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Be in it: sockets, files of /proc/sys/net and processes made here belong to it."""
        home = _open_own()
        try:
            _enter(self._descriptor)
            try:
                yield
            finally:
                _enter(home)
        finally:
            os.close(home)

    def batch(self, tool: str, lines: Sequence[str]) -> None:
        """Let one of `TOOLS` run commands, a line each, inside.

        Raises:
            MeasurementError: one of them failed.
        """
        with self.inside():
            done = subprocess.run(  # noqa: S603 - ip or tc, by its name
                [tool, "-batch", "-"],
                input="".join(f"{line}\n" for line in lines),
                capture_output=True,
                check=False,
                text=True,
            )
        if done.returncode:
            said, *rest = [*done.stderr.splitlines(), ""]
            place = re.search(r"failed -:(\d+)", " ".join(rest))
            line = lines[int(place[1]) - 1] if place else lines[0]
            raise MeasurementError(f"{tool} {line}: {said.removeprefix('Error: ')}")

    def set(self, settings: Mapping[str, object]) -> None:
        """Write settings under /proc/sys/net inside; those that this kernel lacks are left out."""
        with self.inside():
            for name, value in settings.items():
                path = Path("/proc/sys/net", name)
                if path.exists():
                    path.write_text(f"{value}\n", encoding="ascii")

    def show(self, *command: str) -> str:
        """What a command of iproute2 prints inside.

        Raises:
            MeasurementError: it failed.
        """
        with self.inside():
            done = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603
        if done.returncode:
            raise MeasurementError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def close(self) -> None:
        """Let go of it; the kernel takes it down once its last socket is closed."""
        os.close(self._descriptor)


def check() -> None:
    """Refuse to go on where no namespace can be made, or iproute2 is missing.

    Raises:
        MeasurementError: why not.
    """
    if sys.platform != "linux":
        raise MeasurementError("measuring a fabric needs Linux: its TCP is what is measured")
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise MeasurementError(
                f"measuring a fabric needs iproute2: there is no command {tool!r}"
            )
    Namespace().close()


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _open_own() -> int:
    return os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)


def _enter(descriptor: int) -> None:
    if _libc().setns(descriptor, _NEW_NET):
        _refuse("setns")


def _refuse(call: str) -> NoReturn:
    number = ctypes.get_errno()
    if number == errno.EPERM:
        raise MeasurementError(
            "measuring a fabric needs root: it makes network namespaces and shapes links in them"
        )
    raise MeasurementError(f"no network namespace to be had: {call}: {os.strerror(number)}")
