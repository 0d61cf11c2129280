"""`sojourn mail queue`: what an operator holds, releases, deletes, flushes and requeues."""

import json
import os
import pty
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from listserver import Server, config, message, sojourn
from waiting import PATIENCE_S, until

LIST = "news-bounces@lists.example"
GONE, SLOW = "[127.0.0.77]", "[127.0.0.78]"
CHOOSE = ("--mailing", "--list", "--domain", "--address")


def people(n: int, domain: str) -> list[str]:
    return [f"s{i}@{domain}" for i in range(n)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """One with two messages that nobody takes: to 3 and 2 recipients at two domains."""
    with Server(config(tmp_path)) as running:
        with running.trusted() as client:
            client.send_message(message(), LIST, people(3, GONE) + people(2, SLOW))
            client.send_message(message(), "owner@elsewhere.example", people(4, GONE))
        running.await_log("status=deferred", times=9)
        yield running


def queue(server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    return sojourn("mail", "queue", server.config, *arguments)


def states(server: Server) -> list[tuple[str, int]]:
    """State and hold of each recipient that is not at its end, in a server's spool."""
    with sqlite3.connect(server.config.with_name("spool")) as database:
        rows = database.execute("SELECT state, held FROM recipient ORDER BY message, number")
        return [row for row in rows if row[0] != "ended"]


def test_what_is_held_stays_held(server):
    done = queue(server, "hold", "--list", LIST)
    assert (done.returncode, done.stdout) == (0, "5 recipients of 1 message held\n"), done.stderr
    assert [held for _, held in states(server)] == [1] * 5 + [0] * 4
    server.await_log("held by the operator, nrcpt=5")
    shown = queue(server)
    assert "2 messages, 9 recipients left, 5 of them held" in shown.stdout
    server.stop()
    with Server(server.config) as again:
        done = queue(again, "release", "--address", f"s0@{GONE}", "--json")
        counts = {"messages": 1, "recipients": 1, "under_way": 0}
        assert json.loads(done.stdout) == counts
        # Those released before are not held.
        assert "4 recipients of 1 message released" in queue(again, "release", "--all").stdout
        assert queue(again, "release", "--all").returncode == 1
        assert [held for _, held in states(again)] == [0] * 9


def test_what_is_deleted_is_gone(server):
    done = queue(server, "delete", "--domain", GONE, "--mailing", "0000000001", "--yes")
    assert (done.returncode, done.stdout) == (0, "3 recipients of 1 message deleted\n")
    log = server.await_log(f"to=<s2@{GONE}>, relay=none, status=deleted (by the operator)")
    assert log.count("status=deleted") == 3
    assert (
        "2 recipients of 1 message deleted"
        in queue(server, "delete", "--mailing", "1", "--yes").stdout
    )
    server.await_log("0000000001: removed")
    assert len(states(server)) == 4
    # Nobody was told.
    assert "from=<>" not in server.log.read_text("utf-8")


def test_a_question_with_the_count(server):
    done = queue(server, "delete", "--all")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected --yes" in done.stderr
    for answer, left in (("n\n", 9), ("y\n", 0)):
        leader, follower = pty.openpty()
        command = [sys.executable, "-m", "sojourn", "mail", "queue", server.config, "delete"]
        asking = subprocess.Popen(
            [*command, "--all"], stdin=follower, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        os.write(leader, answer.encode())
        _, said = asking.communicate(timeout=PATIENCE_S)
        assert "delete 9 recipients of 2 messages? [y/N]" in said
        assert asking.returncode == (2 if left else 0)
        os.close(leader)
        os.close(follower)
        until(lambda left=left: len(states(server)) == left)


@pytest.mark.parametrize("verb", ["flush", "requeue"])
def test_tried_again_at_once(server, verb):
    server.await_log(f"to=<s0@{SLOW}>", times=1)
    done = queue(server, verb, "--domain", SLOW)
    assert done.stdout.startswith("2 recipients of 1 message"), done
    server.await_log(f"to=<s0@{SLOW}>", times=2)


def test_what_cannot_be_meant(server):
    for arguments, why in [
        (("hold",), "hold: expected --mailing, --list, --domain, --address or --all"),
        (("hold", "--all", "--domain", "x.example"), "and --all alone"),
        (("hold", "--mailing", "0000000009"), "no such message, did you mean '000000000"),
        (("hold", "--address", "nowhere"), "nowhere"),
        (("hold", "--all", "--yes"), "--yes: hold asks nothing"),
        (("hodl", "--all"), "no verb 'hodl', did you mean 'hold'?"),
        (("--all",), "show has all"),
        (("--spool", "x"), "CONFIG and --spool: expected one of them"),
    ]:
        done = queue(server, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), (arguments, done)
        assert why in done.stderr
    done = queue(server, "hold", "--domain", "x.example")
    assert (done.returncode, done.stdout) == (1, "nothing fits\n")


def test_without_a_server(server):
    server.stop()
    spool = str(server.config.with_name("spool"))
    for verb, said in [
        ("hold", "3 recipients of 1 message held"),
        ("release", "3 recipients of 1 message released"),
        ("requeue", "3 recipients of 1 message requeued"),
        ("flush", "3 recipients of 1 message to be tried now"),
    ]:
        done = queue(server, verb, "--mailing", "1", "--domain", GONE)
        assert (done.returncode, done.stdout) == (0, said + "\n"), done
    done = sojourn("mail", "queue", "delete", "--spool", spool, "--mailing", "1", "--yes")
    assert done.stdout == "5 recipients of 1 message deleted\n"
    with Server(server.config) as again:
        again.await_log(f"to=<s3@{GONE}>", times=2)
        assert "1 message left" in again.stop()


def test_the_socket_is_its_owners_alone_and_goes_with_the_server(server):
    path = server.config.with_name("spool.control")
    mode = path.stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    for line in (b"\n", b"{}\n", b'{"do":"delete"}\n', b"x" * 10_000 + b"\n"):
        with socket.socket(socket.AF_UNIX) as client:
            # The address of a socket is short, the path may be long.
            folder = os.open(path.parent, os.O_RDONLY)
            client.connect(f"/proc/self/fd/{folder}/{path.name}")
            os.close(folder)
            answers = client.makefile("rb")
            assert answers.readline() == b"\n"
            client.sendall(line)
            assert b'"error"' in answers.readline()
    assert len(states(server)) == 9
    server.stop()
    assert not path.exists()
    # One that a killed server left is in nobody's way.
    with Server(server.config) as again:
        again.process.kill()
        again.process.wait()
        assert path.exists()
        assert "9 recipients of 2 messages held" in queue(again, "hold", "--all").stdout
    with Server(server.config) as again:
        assert "9 recipients of 2 messages released" in queue(again, "release", "--all").stdout
