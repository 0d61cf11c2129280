"""`sojourn mail serve` and `spool check` where the register or the keys are lost."""

import json
from pathlib import Path

import pytest

from listserver import Server, config, sojourn


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """The configuration of a server that ran once."""
    path = config(tmp_path)
    with Server(path) as server:
        server.stop()
    return path


def check(served: Path, *more: str) -> tuple[int, list[str]]:
    done = sojourn("mail", "spool", "check", served, *more)
    return done.returncode, (done.stdout + done.stderr).splitlines()


@pytest.mark.parametrize("name", ["spool.bounces", "spool.keys"])
def test_it_refuses_to_start_and_is_repaired(served: Path, name: str) -> None:
    file = served.with_name(name)
    assert check(served) == (0, [f"{served.with_name('spool')}: sound"])
    file.write_bytes(bytes(4096))
    refused = sojourn("mail", "serve", served)
    remedy = f"restored from {file}-backup"
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert refused.stderr.startswith(f"sojourn: {file}: ")
    assert refused.stderr.endswith(f"; sojourn mail spool check CONFIG --repair: {remedy}\n")
    code, lines = check(served)
    assert code == 1
    assert lines[0].startswith(f"{file}: ")
    assert lines[0].endswith(f": {remedy}")
    # An operator may have begun with an empty spool.
    served.with_name("spool").unlink()
    code, lines = check(served, "--repair")
    assert (code, lines[-1]) == (0, f"repaired; as it was before: {file}-before-repair-1")
    assert check(served)[0] == 0
    with Server(served) as server:
        server.stop()


def test_what_is_lost_is_made_new_when_asked(served: Path) -> None:
    for name in ("spool.bounces", "spool.bounces-backup"):
        served.with_name(name).write_bytes(b"")
    code, lines = check(served, "--repair")
    assert (code, len(lines)) == (2, 1)
    assert lines[0].endswith("forget who has left: --new")
    assert check(served, "--new")[0] == 2
    done = sojourn("mail", "spool", "check", served, "--repair", "--new", "--json")
    assert done.returncode == 0
    assert len(json.loads(done.stdout)["kept"]) == 2
    with Server(served) as server:
        server.stop()
