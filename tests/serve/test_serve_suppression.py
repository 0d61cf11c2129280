"""`sojourn mail list` changes who gets mail: by hand, by file, as a list that goes elsewhere."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from listserver import Server, config, sojourn

LIST = "news-bounces@lists.example"
OTHER = "talk-bounces@lists.example"
ANN, BOB, CID = "ann@x.example", "bob@x.example", "cid@y.example"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(config(tmp_path, more=f'[[list]]\nbounces = "{OTHER}"\n')) as running:
        yield running


def refused(server: Server, list_: str = LIST) -> dict[str, str]:
    """Who gets no mail of a list, and the status."""
    with server.trusted() as client:
        client.ehlo()
        client.mail(list_)
        said = {who: client.rcpt(who) for who in (ANN, BOB, CID)}
        client.rset()
    return {who: text.split()[0].decode() for who, (code, text) in said.items() if code == 550}


def change(server: Server, verb: str, *options: object, code: int = 0) -> str:
    done = sojourn("mail", "list", server.config, verb, *options)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_by_hand(server):
    """In one list or in all, known to the server or not."""
    said = change(server, "suspend", "--address", ANN, "--address", '"Bob"@X.example')
    assert said == "4 subscribers suspended\n"
    change(server, "remove", "--address", CID, "--list", OTHER)
    assert refused(server) == {ANN: "5.2.1", BOB: "5.2.1"}
    assert refused(server, OTHER) == {ANN: "5.2.1", BOB: "5.2.1", CID: "5.7.1"}
    change(server, "resume", "--address", ANN, "--list", LIST)
    assert refused(server) == {BOB: "5.2.1"}
    change(server, "erase", "--address", BOB, "--yes")
    change(server, "resume", "--provider", "x.example")
    assert refused(server, OTHER) == {CID: "5.7.1"}
    assert change(server, "resume", "--address", "no@x.example", code=1) == ""


def test_by_file_and_elsewhere(server, tmp_path):
    """What one server exports another imports, and `mail deliver` takes."""
    people = tmp_path / "people.txt"
    people.write_text(f"{ANN}\n# a comment\n{BOB}\n", "utf-8")
    change(server, "suspend", "--file", people, "--list", LIST)
    change(server, "remove", "--address", CID, "--list", LIST)
    out = tmp_path / "out.csv"
    assert change(server, "export", "--file", out) == "3 subscribers written\n"
    rows = list(csv.DictReader(io.StringIO(out.read_text("utf-8"))))
    assert [(row["address"], row["state"]) for row in rows] == [
        (ANN, "suspended"),
        (BOB, "suspended"),
        (CID, "left"),
    ]
    assert rows[0]["reason"] == "suspended by the operator"
    assert out.read_text("utf-8") == change(server, "export", "--file", "-")
    assert "already exists" in change(server, "export", "--file", out, code=2)
    change(server, "erase", "--file", people, "--yes")
    change(server, "erase", "--address", CID, "--yes")
    assert refused(server) == {}
    change(server, "import", "--file", out)
    assert refused(server) == {ANN: "5.2.1", BOB: "5.2.1", CID: "5.7.1"}
    again = json.loads(sojourn("mail", "list", server.config, "--json").stdout)
    assert {it["suspended"] for it in again} == {row["date"] for row in rows[:2]}
    assert {it["fault"] for it in again} == {None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("address\n\nno address\n", "3: 'no address' is no address"),
        ("email\na@x.example\n", "1: no column 'email'"),
        ("list\nnews\n", "1: no column address"),
        ("address,state\na@x.example,gone\n", "2: state 'gone', expected suspended or left"),
        ("address,date\na@x.example,May\n", "2: date 'May', expected one such as 2026-11-28"),
        (f"address,list\na@x.example,new{LIST}\n", f"2: no list 'new{LIST}', did you mean"),
        ("address\na@x.example,b\n", "2: 2 cells, expected 1"),
    ],
)
def test_a_table_that_cannot_be_read_changes_nothing(server, tmp_path, text, expected):
    file = tmp_path / "in.csv"
    file.write_text(text, "utf-8")
    assert f"{file}:{expected}" in change(server, "import", "--file", file, code=2)
    assert refused(server) == {}


def test_rows_are_refused_one_by_one(server, tmp_path):
    """The good rows are taken, and all others are named."""
    file = tmp_path / "in.csv"
    bad = {
        3: ("no address", "'no address' is no address"),
        5: (f"{BOB},gone", "state 'gone', expected suspended or left"),
        6: (f"{BOB},left,x", "3 cells, expected 2"),
    }
    good = {2: f"{ANN},left", 4: f"{CID},"}
    lines = {1: "address,state", **good, **{line: text for line, (text, _) in bad.items()}}
    file.write_text("".join(f"{lines[line]}\n" for line in sorted(lines)), "utf-8")
    said = change(server, "import", "--file", file, "--list", LIST, code=1)
    for line, (_, why) in bad.items():
        assert f"{file}:{line}: {why}" in said
    assert len(said.splitlines()) == len(bad)
    assert refused(server) == {ANN: "5.7.1", CID: "5.2.1"}
    people = tmp_path / "people"
    people.write_text(f"{ANN}\nnobody\n{CID}\n@\n", "utf-8")
    said = change(server, "resume", "--file", people, code=1)
    assert [line.split(": ")[1] for line in said.splitlines()] == [f"{people}:2", f"{people}:4"]
    assert refused(server) == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("suspnd",), "no verb 'suspnd'"),
        (("suspend",), "expected one of --address, --file"),
        (("suspend", "--provider", "x"), "--provider and --fault choose whom to resume"),
        (("resume", "--fault", "polcy"), "no fault 'polcy', did you mean"),
        (("erase", "--address", ANN), "expected --yes"),
        (("suspend", "--address", ANN, "--list", "x@y"), "no list 'x@y'"),
        (("suspend", "--address", "x"), '"x"'),
        (("export",), "expected --file"),
        (("show", "--address", ANN), "expected none of the options that choose"),
    ],
)
def test_options_that_do_not_go_together(server, given, expected):
    assert expected in change(server, *given, code=2)
