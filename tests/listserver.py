"""`sojourn mail serve` in a process of its own, and what its tests send."""

import os
import re
import shutil
import signal
import smtplib
import subprocess
import sys
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from sojourn._mail import mail_password
from waiting import PATIENCE_S, until

# Trusted is who comes from 127.0.0.1 alone. Nobody is asked for names, and nobody is at port 9.
CONFIG = """\
spool = "{folder}/spool"

[mail]
hello = "lists.example"

[network]
port = {port}
resolvers = ["{resolver}"]
loopback = true

[reception]
trusted = ["127.0.0.1"]
postmaster = "admin@[127.0.0.77]"
grace = "1s"

[[listener]]
address = "127.0.0.1:0"

[[listener]]
address = "127.0.0.1:0"
protocol = "lmtp"

[[listener]]
address = "127.0.0.2:0"
auth = "loopback"

[[user]]
name = "ann"
password = "{password}"
lists = ["*"]
senders = ["*"]

[[list]]
bounces = "news-bounces@lists.example"
id = "news.lists.example"

[bounces]
threshold = 1.0
"""


def config(folder: Path, *, port: int = 9, resolver: str = "127.0.0.1:9", more: str = "") -> Path:
    """A configuration in `folder`."""
    password = mail_password("right")
    text = CONFIG.format(folder=folder, port=port, resolver=resolver, password=password)
    path = folder / "lists.toml"
    path.write_text(text + more, "utf-8")
    return path


class Server:
    """A running server: what it listens at, and its log."""

    def __init__(self, config: Path, listeners: int = 3, log: Path | None = None) -> None:
        """`log`: where its log goes by the configuration."""
        self.config, self.log = config, log or config.with_name("log")
        command = [sys.executable, "-m", "sojourn", "mail", "serve", config]
        command += [] if log else ["--log", self.log]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.ports: list[tuple[str, int]] = []
        self.live: str | None = None
        self.unsubscribe: tuple[str, int] | None = None
        text = config.read_text("utf-8")
        for _ in range(listeners + ("[live]" in text) + ("[unsubscribe]" in text)):
            line = self.process.stderr.readline()
            if found := re.fullmatch(r"sojourn: listening at (.+):(\d+)\n", line):
                self.ports.append((found[1], int(found[2])))
            elif found := re.fullmatch(r"sojourn: live page at (\S+), token in (.+)\n", line):
                self.live = f"{found[1]}?token={Path(found[2]).read_text('utf-8').strip()}"
            elif found := re.fullmatch(r"sojourn: unsubscribing at (.+):(\d+)\n", line):
                self.unsubscribe = (found[1], int(found[2]))
            else:
                pytest.fail(line + self.process.stderr.read())

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self) -> str:
        """SIGTERM; what it says at its end."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, said
        return said

    def await_log(self, wanted: str, times: int = 1) -> str:
        """Wait until the log has `wanted`; all of it."""

        def there() -> str:
            text = self.log.read_text("utf-8")
            if text.count(wanted) >= times:
                return text
            assert self.process.poll() is None, text
            return ""

        return until(there, told=lambda: self.log.read_text("utf-8"))

    def trusted(self) -> smtplib.SMTP:
        """A client whom it trusts."""
        return smtplib.SMTP(*self.ports[0], timeout=PATIENCE_S)

    def stranger(self) -> smtplib.SMTP:
        """A client at an address that it does not trust."""
        return smtplib.SMTP(*self.ports[2], source_address=("127.0.0.9", 0), timeout=PATIENCE_S)

    def resident_bytes(self) -> int:
        """What it holds of memory."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text("utf-8").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def message(subject: str = "x") -> EmailMessage:
    """One with lines that begin with dots, and letters beyond ASCII."""
    made = EmailMessage()
    made["From"] = "owner@lists.example"
    made["Subject"] = subject
    made.set_content("A line.\n.\n..\nÄ\n")
    return made


def sojourn(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "sojourn", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def tool(name: str) -> Callable[..., str]:
    """Calls a program that has to succeed; skips where it is not installed."""
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed")

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [path, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
