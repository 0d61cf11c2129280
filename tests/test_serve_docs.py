"""What docs/how-to/run-a-list-server.md says can be run as it stands."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn._core import ServeSettings, mail_password

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "run-a-list-server.md"


def block(language: str) -> str:
    """The first block in this language."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


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
