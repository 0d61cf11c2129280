"""`sojourn mail spool check`: spools that are damaged, found out and repaired."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Result
from smallnet import small_internet

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
    assert check(command, spool, "--repair", "--json").document == {"findings": [], "copy": None}


def test_found_and_repaired(command: Command, spool: Path, tmp_path: Path) -> None:
    damage(spool, "UPDATE recipient SET address = 'nowhere' WHERE number = 1")
    damage(spool, "DELETE FROM recipient WHERE number = 0")
    found = check(command, spool)
    assert found.code == 1
    assert found.out == (
        'message 1, recipient 1: "nowhere" is no address: removed: nothing can be sent there\n'
        "message 1: a recipient before others is missing: numbered anew\n"
        "nothing was changed: --repair does what stands behind each\n"
    )
    with small_internet(tmp_path, UP) as net:
        refused = command("mail", "deliver", "--config", net.settings, "--spool", spool)
        assert refused.code == 2
        assert f"the spool {spool} is damaged" in refused.err
        repaired = check(command, spool, "--repair", "--json")
        assert repaired.code == 0
        assert len(repaired.document["findings"]) == 2
        assert Path(repaired.document["copy"]).exists()
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
