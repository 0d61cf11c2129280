"""A real Postfix with a private configuration, on an unprivileged port of loopback."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from waiting import until

# What an instance that takes mail over SMTP and hands it on needs; nothing runs in a chroot.
_MASTER = """\
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 1 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 1 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
{smtp}
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""


# Its delivery agent, as many processes as `default_process_limit` has.
SMTP = "smtp unix - - n - - smtp"

# A port that was free may be somebody's when Postfix comes to it.
_ATTEMPTS = 3


class Postfix:
    """One that runs."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str, times: int = 1) -> None:
        """Wait until its log has `text` so often."""
        until(
            lambda: self.log.count(text) >= times,
            told=lambda: f"{text!r} is not there {times} times:\n{self.log[-3000:]}",
        )


def user() -> pwd.struct_passwd:
    """The user that a Postfix runs as; skip where none can be started."""
    if shutil.which("postfix") is None:
        pytest.skip("Postfix is not installed")
    if os.geteuid() != 0:
        pytest.skip("only root can start a Postfix")
    return pwd.getpwnam("postfix")


def let_through(folder: Path) -> None:
    """Let other users pass through `folder`; pytest's folders are for their owner alone."""
    for path in (folder, *folder.parents):
        if path.owner() == "root" and not path.stat().st_mode & 0o001:
            path.chmod(path.stat().st_mode | 0o011)


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def postfix(folder: Path, settings: str, services: str = "", smtp: str = SMTP) -> Iterator[Postfix]:
    """Start one with `settings` (main.cf) beside what makes it private; skip where that cannot be.

    `smtp` is the line of its delivery agent in master.cf, `services` are further lines.
    """
    owner = user()
    config, queue, data = (folder / name for name in ("config", "queue", "data"))
    for path in (config, queue, data):
        path.mkdir(parents=True)
    os.chown(data, owner.pw_uid, owner.pw_gid)
    let_through(folder)
    (config / "main.cf").write_text(
        f"compatibility_level = 3.6\nqueue_directory = {queue}\ndata_directory = {data}\n"
        f"maillog_file = {folder}/log\nmaillog_file_prefixes = {folder}\n"
        "inet_interfaces = 127.0.0.1\ninet_protocols = ipv4\nmyhostname = real.example\n"
        "alias_maps =\nalias_database =\nmynetworks = 127.0.0.0/8\n" + settings,
        encoding="utf-8",
    )
    for attempt in range(1, _ATTEMPTS + 1):
        port = free_port()
        master = _MASTER.format(port=port, smtp=smtp) + services
        (config / "master.cf").write_text(master, encoding="utf-8")
        start = ["postfix", "-c", config, "start"]
        started = subprocess.run(start, check=False, capture_output=True, text=True)
        if started.returncode == 0:
            break
        log = folder / "log"
        said = log.read_text(encoding="utf-8") if log.exists() else ""
        assert attempt < _ATTEMPTS, f"Postfix does not start: {started.stderr}{said}"
        # One that came up after all would be in the way of the next.
        subprocess.run(["postfix", "-c", config, "stop"], check=False, capture_output=True)
    running = Postfix(folder, port)
    try:
        running.wait_for("daemon started")
        yield running
    finally:
        subprocess.run(["postfix", "-c", config, "stop"], check=True, capture_output=True)
