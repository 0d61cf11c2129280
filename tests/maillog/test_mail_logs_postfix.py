"""The tools on the log of a real Postfix, and beside pflogsumm."""

import shutil
import subprocess

import pytest

from postfix import postfix

SETTINGS = """\
mydestination =
default_transport = discard:silently
transport_maps = inline:{ { down.example = smtp:[127.0.0.1]:1 }, { no.example = error:gone } }
local_recipient_maps =
smtpd_relay_restrictions = permit_mynetworks, reject
"""


@pytest.mark.skipif(not shutil.which("pflogsumm"), reason="pflogsumm is not installed")
def test_mailtest_and_the_log_of_postfix(command, tmp_path):
    def send(recipient):
        sender = ["--from", "owner@lists.example", "--messages", 3, "--json"]
        return command("mail", "test", f"127.0.0.1:{real.port}", "--to", recipient, *sender)

    with postfix(tmp_path, SETTINGS) as real:
        ways = [
            (way["connection"], way["pipelining"], way["messages"])
            for way in send("you@far.example").document["ways"]
        ]
        assert ways == [("new", False, 3), ("kept", False, 3), ("new", True, 3), ("kept", True, 3)]
        assert send("you@down.example").code == 0
        refused = send("you@no.example")
        assert refused.code == 2
        assert "refused: 550 5.1.1 <you@no.example>" in refused.err
        real.wait_for(", status=", 24)
    log = tmp_path / "log"
    found = command("mail", "stats", log, "--json").document
    totals = found["totals"]
    assert found["log"]["malformed"] == 0
    assert sum(hour["arrived"] for hour in found["hours"]) == 24
    for of, number in (("delivered", 12), ("deferred", 12), ("bounced", 0)):
        assert totals[f"{of}_recipients"] == totals[f"{of}_hosts"] == number
    late = command("mail", "late", log, "--json").document
    (straggler,) = late["recipients"]
    assert (straggler["recipient"], straggler["messages"]) == ("you@down.example", 12)
    assert "Connection refused" in straggler["error"]
    traced = command("mail", "trace", "you@far.example", log, "--json").document
    assert traced["delivered"] == 12
    assert {copy["sender"] for copy in traced["copies"]} == {"owner@lists.example"}
    # what others count in it
    report = subprocess.run(["pflogsumm", log], capture_output=True, text=True, check=True).stdout
    counted = [" ".join(line.split()) for line in report.splitlines()]
    assert {"24 received", "12 delivered", "12 deferred (12 deferrals)"} <= {*counted}
