"""Whom a message is sent to: files of addresses."""

from pathlib import Path

import pytest

from sojourn._internal.errors import InputError
from sojourn.mail import subscribers


def read(folder: Path, text: str, column: str | None = None) -> tuple[list[str], int]:
    path = folder / "list"
    path.write_bytes(text.encode())
    found = subscribers.read(path, column)
    return found.addresses, found.duplicates


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a@x.example\nb@y.example\n", None),
        ("\ufeff# subscribers\r\n\r\n a@x.example \r\nb@y.example", None),
        ("name,email\nAnn,a@x.example\n# gone: c@z.example\nBob,b@y.example\n", None),
        ("a@x.example,Ann\nb@y.example,Bob\n", None),
        ("home;work\np@x.example;a@x.example\nq@x.example;b@y.example\n", "work"),
        ('"E-Mail"\n"a@x.example"\n"b@y.example"\n', None),
        ('who\taddress\n"Ann, of X"\ta@x.example\nBob\tb@y.example\n', None),
    ],
)
def test_the_ways_to_write_a_list(tmp_path: Path, text: str, column: str | None) -> None:
    assert read(tmp_path, text, column) == (["a@x.example", "b@y.example"], 0)


def test_nobody_is_sent_to_twice(tmp_path: Path) -> None:
    text = 'A@X.example\na@x.example\n"a"@x.EXAMPLE\nb@bücher.example\nb@xn--bcher-kva.example\n'
    assert read(tmp_path, text) == (["A@x.example", "b@bücher.example"], 3)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("\n\n# no\nb.example\n", None, "list:4: 'b.example' is no address: no @"),
        ("email,name\nb@,Bob\n", None, "list:2: 'b@' is no address"),
        ("name,email\nAnn\n", None, "list:2: 1 columns, the address is in number 2"),
        ("name,mial\nAnn,a@x.example\n", None, "list:1: no column is named email"),
        ("name,mail\nAnn,a@x.example\n", "mial", "no column 'mial', did you mean 'mail'?"),
        ("a@x.example\n", "mail", "so none is called 'mail'"),
        ("# nobody\n", None, "no addresses in it"),
        ("# x\nb@y.example\rRCPT TO:<c@z.example>\n", None, "list:2: 'b@y.example\\rRCPT"),
    ],
)
def test_what_is_no_list(tmp_path: Path, text: str, column: str | None, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, text, column)
    assert message in str(refused.value)


def test_one_bad_row_refuses_itself_alone(tmp_path: Path) -> None:
    """Five thousand rows: the good ones are taken, and each bad one is named."""
    bad = {7: "b.example,Bob", 2500: "", 5001: "c@,Cid"}
    rows = ["email,name", *(bad.get(line, f"s{line}@x.example,S") for line in range(2, 5002))]
    path = tmp_path / "list"
    path.write_text("\n".join(rows), "utf-8")
    found = subscribers.read(path)
    assert found.addresses == [f"s{line}@x.example" for line in range(2, 5002) if line not in bad]
    assert [row.split(": ")[0] for row in found.refused] == [f"{path}:7", f"{path}:5001"]
    assert "'b.example' is no address: no @" in found.refused[0]
    assert found.duplicates == 0
    assert found.without({"s2@x.example"}).refused == found.refused
    short = tmp_path / "short"
    short.write_text("name,email\nAnn,a@x.example\nBob\n", "utf-8")
    said = f"{short}:3: 1 columns, the address is in number 2"
    assert subscribers.read(short).refused == (said,)


def test_a_bad_row_of_a_suppression_list_sends_nothing(tmp_path: Path) -> None:
    """It may be for one who is to get no mail."""
    path = tmp_path / "list"
    path.write_text("address\na@x.example\nb.example\nc@\n", "utf-8")
    with pytest.raises(InputError, match=r"list:3: 'b.example'.*; .*list:4: 'c@'"):
        subscribers.suppressed(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_bytes(b"a@x.example\n\xff@x.example\n")
    with pytest.raises(InputError, match="list:2: not UTF-8"):
        subscribers.read(path)
