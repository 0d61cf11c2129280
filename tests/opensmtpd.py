"""A real OpenSMTPD, installed or merely unpacked, in mounts of its own.

Debian's package cannot be installed beside Postfix, and where its queue and its users are was
settled when it was built. So it runs among mounts that nobody else sees: its folders empty, its
helpers and its users where it looks for them. Nothing outside `folder` is changed.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from postfix import free_port, let_through
from waiting import PATIENCE_S, until

# Which users the package makes; and who keeps what comes.
_USERS = ("opensmtpd", "opensmtpq", "keeper")
_FIRST_ID = 60_900
_UNPACKED = Path(__file__).parent.parent / ".cache" / "opensmtpd"

_MAY_MOUNT = "unshare --mount mount --bind /etc/passwd /etc/passwd"
_MOUNT = """\
set -e
root=$1 folder=$2
mount --bind "$folder/passwd" /etc/passwd
mount --bind "$folder/group" /etc/group
mount -t tmpfs none /run
mount -t tmpfs -o mode=755 none /var/spool
mount -t tmpfs -o mode=755 none /var/lib
mkdir -m 711 /var/spool/smtpd
mkdir -m 711 -p /var/lib/opensmtpd/empty
[ "$root" = / ] || mount --bind "$root/usr/libexec" /usr/libexec
exec "$root/usr/sbin/smtpd" -d -f "$folder/smtpd.conf"
"""


class OpenSmtpd:
    """One that runs."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def kept(self) -> list[bytes]:
        """What it has kept, a file a recipient."""
        return [path.read_bytes() for path in (self.folder / "mail" / "new").glob("*")]


def _package() -> Path:
    """The folder in which the package lies as it would lie in `/`."""
    if Path("/usr/sbin/smtpd").exists():
        return Path("/")
    if not _UNPACKED.exists():
        _UNPACKED.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_UNPACKED.parent) as name:
            fetched = Path(name)
            _run(
                ["apt-get", "--quiet", "download", "opensmtpd"],
                "OpenSMTPD is not installed, and cannot be fetched",
                cwd=fetched,
            )
            (package,) = fetched.glob("*.deb")
            whole = fetched / "whole"
            _run(["dpkg-deb", "--extract", package, whole], "OpenSMTPD cannot be unpacked")
            whole.rename(_UNPACKED)
    return _UNPACKED


def _run(command: Sequence[str | Path], needed: str, cwd: Path | None = None) -> None:
    """Run it; skip, and say what it said, where it cannot be done."""
    try:
        subprocess.run(
            command, cwd=cwd, check=True, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except subprocess.CalledProcessError as failed:
        pytest.skip(f"{needed}: {failed.stderr.strip()}")
    except (OSError, subprocess.SubprocessError) as why:
        pytest.skip(f"{needed}: {why}")


@contextmanager
def opensmtpd(folder: Path, settings: str) -> Iterator[OpenSmtpd]:
    """Start one that keeps all mail for the users in `settings`; skip where that cannot be.

    `settings` are lines of smtpd.conf before those that make it listen and keep; they have a table
    `people`, who all are `keeper`. What stands in braces there is filled in: `{listen}`.
    """
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root on Linux gives OpenSMTPD mounts of its own")
    _run(_MAY_MOUNT.split(), "root may not mount here")
    root = _package()
    program = root / "usr/sbin/smtpd"
    needs = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    if "not found" in needs:
        pytest.skip(f"OpenSMTPD lacks a library:\n{needs}")
    mail = folder / "mail"
    mail.mkdir(parents=True)
    for name, number in zip(_USERS, range(_FIRST_ID, _FIRST_ID + len(_USERS)), strict=True):
        with _copy("passwd", folder).open("a") as users, _copy("group", folder).open("a") as groups:
            users.write(f"{name}:x:{number}:{number}::{mail}:/bin/sh\n")
            groups.write(f"{name}:x:{number}:\n")
    os.chown(mail, _FIRST_ID + len(_USERS) - 1, _FIRST_ID + len(_USERS) - 1)
    let_through(folder)
    running = OpenSmtpd(folder, free_port())
    keep = (
        f'action "keep" maildir "{mail}" virtual <people>\nmatch from any for any action "keep"\n'
    )
    listen = f"listen on 127.0.0.1 port {running.port} hostname real.example"
    (folder / "smtpd.conf").write_text(
        settings.replace("{listen}", listen) + keep, encoding="utf-8"
    )
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", _MOUNT, "sh", root, folder], stdout=log, stderr=log
        )
    try:
        until(lambda: process.poll() is not None or _answers(running.port), lambda: running.log)
        assert process.poll() is None, running.log
        yield running
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def _copy(name: str, folder: Path) -> Path:
    """The system's file of that name in `folder`, to be added to."""
    own = folder / name
    if not own.exists():
        shutil.copy(f"/etc/{name}", own)
    return own
