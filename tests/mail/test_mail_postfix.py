"""A real Postfix takes what `sojourn mail deliver` sends."""

from collections.abc import Callable
from pathlib import Path

from conftest import Result
from postfix import postfix

# All users of its own are known, mail for them goes nowhere, and so many fit into one transaction.
SETTINGS = """\
local_recipient_maps =
local_transport = discard
smtpd_recipient_limit = 30
"""


def test_two_hundred_recipients(command: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "message").write_bytes(b"From: owner@lists.example\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n")
    people = [f"s{n}@[127.0.0.1]" for n in range(200)]
    (tmp_path / "list").write_text("\n".join(people), "utf-8")
    with postfix(tmp_path / "postfix", SETTINGS) as real:
        done = command(
            *("mail", "deliver", tmp_path / "message", "--list", tmp_path / "list"),
            *("--set", f"network.port={real.port}", "--set", "mail.hello=lists.example"),
            *("--spool", tmp_path / "spool", "--json"),
        )
        assert (done.code, done.document["delivered"]) == (0, 200)
        real.wait_for("status=sent", 200)
        for who in people:
            assert real.log.count(f"to=<{who}>") == 1
