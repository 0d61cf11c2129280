"""What docs/how-to/run-a-list-server.md says can be run as it stands."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from certificates import self_signed
from listserver import Server, sojourn, tool
from nameserver import everybody_at
from sink import Sink, sink
from sojourn._mail import ServeSettings, mail_password

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-a-list-server.md"


# The test's folder and the user of a machine take the place of the page's.
PLACES = {"/etc/sojourn": "{}/etc", "/var/lib/sojourn": "{}/lib"}
USER = "nobody"
LIST = "announce-bounces@lists.example.org"
NEXT = '[[list]]\nbounces = "news-bounces@lists.example.org"\n\n[unsubscribe]'


def block(language: str, with_: str = "") -> str:
    """The first block in this language that has these words."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return next(it for it in found if with_ in it)


def in_place(text: str, folder: Path) -> str:
    """The same with the test's folders."""
    for page, own in PLACES.items():
        text = text.replace(page, own.format(folder))
    return text


def shell(commands: str, folder: Path) -> None:
    """Runs them, which have to succeed."""
    subprocess.run(["sh", "-e", "-c", commands], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def host() -> Iterator[Sink]:
    with sink("gone@") as there:
        yield there


@pytest.fixture
def served(host: Sink) -> Iterator[Server]:
    """The page's server, started by root in folders of its own, at ports of its own."""
    if os.geteuid() != 0:
        pytest.skip("only root can start a server that becomes another user")
    tool("openssl")
    with tempfile.TemporaryDirectory() as place, everybody_at("127.0.0.1") as resolver:
        folder = Path(place)
        folder.chmod(0o755)
        etc = folder / "etc"
        shell(in_place(block("sh", "install -d -m 755").splitlines()[-1], folder), folder)
        chain, _ = self_signed(etc, "DNS:lists.example.org")
        chain.rename(etc / "fullchain.pem")
        shell(block("sh", "openssl genpkey").replace("# or", "; : # or"), etc)
        made = block("sh", "install -d -o").splitlines()[0]
        shell(in_place(made, folder).replace("-o sojourn -g sojourn", f"-o {USER}"), folder)
        text = in_place(block("toml"), folder)
        text = text.replace("$argon2id$...", mail_password("the password"))
        text = text.replace('run_as = "sojourn"', f'run_as = "{USER}"')
        free = 'address = "127.0.0.1:0"'
        text = re.sub(r'^address = "[\d.]+:\d+"', free, text, flags=re.MULTILINE)
        for table in ("[live]", "[unsubscribe]"):
            text = text.replace(table, f"{table}\n{free}", 1)
        text += f'[network]\nport = {host.port}\nresolvers = ["{resolver}"]\nloopback = true\n'
        path = etc / "lists.toml"
        path.write_text(f'log = "{folder}/lib/log"\n{text}', "utf-8")
        for file in (path, etc / "key.pem", etc / "dkim.pem"):
            file.chmod(0o600)
        with Server(path, log=folder / "lib" / "log") as running:
            yield running


def alike(line: str) -> str:
    """A pattern for lines of the log that say the same with other numbers."""
    other = re.sub(r"[0-9A-F]{10}|\d[\d./]*", "#", line.strip())
    return re.escape(other).replace(r"\#", r"[0-9A-F][0-9A-F./]*")


def test_the_page_is_followed(served, host):
    """First message, bounce, one click and reload, as it says."""
    folder, config = served.config.parents[1], served.config
    send = block("python").replace("465", str(served.ports[2][1]))
    subprocess.run([sys.executable, "-c", send], check=True)
    log = served.await_log("removed")
    for line in block("text", "status=sent").splitlines():
        assert re.search(alike(line), log), (line, log)
    shown = sojourn("mail", "list", config).stdout
    assert re.search(r"gone@example\.com\s+1\b", shown), shown
    link = re.search(r"<(https://[^>]+)>", host.copies["you@example.com"]["List-Unsubscribe"])
    assert link
    click = block("sh", "curl").splitlines()[0]
    page, _, _ = click.rpartition(" ")[2].rpartition("/")
    assert link[1].startswith(page + "/")
    assert served.unsubscribe
    at = f"--connect-to ::127.0.0.1:{served.unsubscribe[1]} -k -sS -f"
    tool("curl")
    shell(f"{click.replace(page + '/TOKEN', link[1])} {at}", folder)
    served.await_log(f"left: list=<{LIST}>, to=<you@example.com>")
    assert "you@example.com" in sojourn("mail", "list", config, "--left").stdout
    # The next message is for the other one alone.
    subprocess.run([sys.executable, "-c", send], check=True)
    served.await_log("nrcpt=1")
    text = config.read_text("utf-8")
    config.write_text(text.replace("[unsubscribe]", NEXT), "utf-8")
    done = sojourn("mail", "reload", config)
    said = in_place(block("text", "reloaded"), folder).replace("as sojourn", f"as {USER}")
    assert (done.stdout, done.stderr) == (said, "")
    assert "0 messages left" in served.stop()


def test_the_configuration_is_one():
    text = block("toml").replace("$argon2id$...", mail_password("x"))
    settings = ServeSettings.parse(text, "page.toml", [])
    assert Path(settings.book) == Path("/var/lib/sojourn/spool.bounces")


def test_systemd_takes_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine")
    unit = tmp_path / "sojourn.service"
    # systemd wants to see the program.
    there = block("ini").replace("/opt/sojourn/bin/sojourn", shutil.which("true") or "")
    unit.write_text(there, "utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
