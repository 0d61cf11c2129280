"""`sojourn mail spool check`: spools that are damaged, found out and repaired."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result
from smallnet import small_internet
from sojourn.mail.spools import HEADS, Queued

Command = Callable[..., Result]

WORLD = '[[domain]]\nname = "x.example"\nsubscribers = 4\nhost = [{ personality = "refused" }]\n'
UP = WORLD.replace("refused", "fast")


@pytest.fixture
def spool(command: Command, tmp_path: Path) -> Path:
    """One with a message that four recipients wait for."""
    (tmp_path / "message").write_text("From: owner@lists.example\n\nhello\n", "utf-8")
    path = tmp_path / "spool"
    with small_internet(tmp_path, WORLD) as net:
        whom = net.write_list(tmp_path / "list")
        given = ["mail", "deliver", tmp_path / "message", "--list", whom]
        where = ["--config", net.settings, "--spool", path, "--patience", "100ms"]
        assert command(*given, *where).code == 1
    return path


def damage(spool: Path, statement: str) -> None:
    with sqlite3.connect(spool) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute(statement)


def check(command: Command, spool: Path, *more: str) -> Result:
    return command("mail", "spool", "check", "--spool", spool, *more)


def test_sound(command: Command, spool: Path) -> None:
    done = check(command, spool)
    assert (done.code, done.out) == (0, f"{spool}: sound\n")
    assert check(command, spool, "--repair", "--json").document == {"findings": [], "kept": []}


def test_who_waits(command: Command, spool: Path) -> None:
    due_ms = round(time.time() * 1000) + 3_600_500
    deferred = f"SET state = 'deferred', times = 2, first_ms = {due_ms - 9}, due_ms = {due_ms}"
    tried = f"tried_ms = {due_ms - 3_600_500}, host = 'mx.x.example', status = '4.7.1'"
    said = "reason = '450 4.7.1 greylisted'"
    damage(spool, f"UPDATE recipient {deferred}, {tried}, {said} WHERE number = 1")
    waiting = command("mail", "late", "--spool", spool, "--json").document["recipients"]
    (refused,) = (one for one in waiting if not one["open"])
    assert (refused["messages"], refused["attempts"]) == (1, 2)
    assert [one["next"] is None for one in waiting].count(True) == 3
    assert refused["next"] is not None
    shown = command("mail", "late", "--spool", spool).out
    (line,) = (line for line in shown.splitlines() if refused["recipient"] in line)
    assert "mx.x.example" in line
    assert "in 60 min" in line
    assert line.rstrip().endswith("450 4.7.1 greylisted")
    assert "4 waiting, for 4 recipients" in shown


def test_a_host_that_defers_is_remembered(command: Command, tmp_path: Path) -> None:
    """What it said is in the spool when the server that heard it is gone."""
    (tmp_path / "message").write_text("From: owner@lists.example\n\nhello\n", "utf-8")
    spool = tmp_path / "spool"
    with small_internet(tmp_path, WORLD.replace("refused", "greylist")) as net:
        whom = net.write_list(tmp_path / "list")
        given = ["mail", "deliver", tmp_path / "message", "--list", whom]
        where = ["--config", net.settings, "--spool", spool, "--patience", "1s"]
        assert command(*given, *where).code == 1
    waiting = command("mail", "late", "--spool", spool, "--json").document["recipients"]
    assert len(waiting) == 4
    for one in waiting:
        assert (one["messages"], one["attempts"], one["open"]) == (1, 1, 0)
        assert one["host"].endswith("x.example")
        assert one["error"].startswith("450 4.2.0 Greylisted")
        assert one["since"] <= one["last"] < one["next"]


def test_whom_to_ask_is_said(command: Command, tmp_path: Path) -> None:
    done = command("mail", "late")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "no LOG and no --spool" in done.err
    for more in (["mail.log"], ["--since", "1h ago"]):
        both = command("mail", "late", *more, "--spool", tmp_path / "nowhere")
        assert (both.code, both.err.count("\n")) == (2, 1)
        assert "no LOG beside it" in both.err
    gone = command("mail", "late", "--spool", tmp_path / "nowhere")
    assert (gone.code, gone.err.strip()) == (2, f"sojourn: {tmp_path / 'nowhere'}: no spool there")


def test_found_and_repaired(command: Command, spool: Path, tmp_path: Path) -> None:
    damage(spool, "UPDATE recipient SET address = 'nowhere' WHERE number = 1")
    damage(spool, "DELETE FROM recipient WHERE number = 0")
    found = check(command, spool)
    assert found.code == 1
    assert found.out == (
        'message 1, recipient 1: "nowhere" is no address: removed: nothing can be sent there\n'
        "message 1: a recipient before others is missing: numbered anew\n"
        "nothing was changed; --repair does what each line says\n"
    )
    with small_internet(tmp_path, UP) as net:
        refused = command("mail", "deliver", "--config", net.settings, "--spool", spool)
        assert refused.code == 2
        assert f"the spool {spool} is damaged" in refused.err
        repaired = check(command, spool, "--repair", "--json")
        assert repaired.code == 0
        assert len(repaired.document["findings"]) == 2
        assert Path(*repaired.document["kept"]).exists()
        assert check(command, spool).code == 0
        # Who was left gets it.
        done = command(
            "mail", "deliver", "--config", net.settings, "--spool", spool, "--patience", "100s"
        )
        assert (done.code, net.copies.total()) == (0, 2)


@pytest.mark.parametrize("repair", [[], ["--repair"]])
def test_no_spool(command: Command, tmp_path: Path, repair: list[str]) -> None:
    done = check(command, tmp_path / "none", *repair)
    assert (done.code, done.err) == (2, f"sojourn: {tmp_path}/none: no spool there\n")
    with sqlite3.connect(tmp_path / "other") as database:
        database.execute("CREATE TABLE message (id)")
    done = check(command, tmp_path / "other", *repair)
    assert (done.code, done.err) == (2, f"sojourn: {tmp_path}/other is no spool of this version\n")


def test_pages_that_are_lost_are_named(command: Command, spool: Path) -> None:
    with sqlite3.connect(spool) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bytes_ = bytearray(spool.read_bytes())
    bytes_[:4096] = b"\xa5" * 4096
    spool.write_bytes(bytes_)
    found = check(command, spool)
    assert found.code == 1
    repaired = check(command, spool, "--repair")
    assert repaired.code == 0
    assert "recipients after the last that was found may be lost" in repaired.out
    assert check(command, spool).code == 0
    assert command("mail", "queue", "--spool", spool, "--json").document[0]["left"] == 4


def test_no_length_is_no_spool(command: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for verb in (["spool", "check"], ["queue"], ["late"]):
        done = command("mail", *verb, "--spool", tmp_path / "empty")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "zero length" in done.err


def test_files_are_their_owners(command: Command, spool: Path) -> None:
    """Whatever the umask, which is 022 where nothing sets it; an older file is told of."""
    log = spool.parent / "mail.log"
    queue = ["mail", "deliver", "--spool", spool, "--log", log, "--patience", "100ms"]
    with small_internet(spool.parent, WORLD) as net:
        command(*queue, "--config", net.settings)
    for file in [*spool.parent.glob("spool*"), log]:
        assert file.stat().st_mode & 0o777 == 0o600, file
    assert command("doctor", "--spool", spool, "--json").document["exposed"] == []
    spool.chmod(0o644)
    (said,) = command("doctor", "--spool", spool, "--json").document["exposed"]
    assert said.endswith(f"mode 0644: other users may read or write it; chmod 600 {spool}")
    assert "mode 0644" in command("doctor", "--spool", spool).out


def test_many_who_wait_are_listed_plainly(command: Command, spool: Path) -> None:
    with sqlite3.connect(spool) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        rows = ((1, number, f"r{number}@y.example") for number in range(4, 3004))
        insert = "INSERT INTO recipient (message, number, address) VALUES (?, ?, ?)"
        database.executemany(insert, rows)
    lines = command("mail", "late", "--spool", spool).out.splitlines()
    assert lines[0].split()[:2] == ["waiting", "recipient"]
    assert sum("y.example" in line for line in lines) == 3000
    assert "3,004 waiting, for 3,004 recipients" in lines[-2]


def test_no_age_is_negative():
    """The clock may have been set back since a message was taken over."""
    late = Queued(
        message=1, sender=None, size_bytes=9, accepted_ms=90_000, open=0, deferred=1, failed=0,
        ended=0, next_ms=95_000, held=0,
    )  # fmt: skip
    age = HEADS.index("age")
    assert [late.cells(now)[age] for now in (10.0, 90.0, 91.0)] == ["0 ps", "0 ps", "1 s"]
    assert late.cells(100.0)[HEADS.index("next try")] == "in 0 ps"
