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
        ("a@x.example\n\n# no\nb.example\n", None, "list:4: 'b.example' is no address: no @"),
        ("email,name\na@x.example,Ann\nb@,Bob\n", None, "list:3: 'b@' is no address"),
        ("name,email\nAnn\n", None, "list:2: 1 columns, the address is in number 2"),
        ("name,mial\nAnn,a@x.example\n", None, "list:1: no column is called email"),
        ("name,mail\nAnn,a@x.example\n", "mial", "no column 'mial', did you mean 'mail'?"),
        ("a@x.example\n", "mail", "so none is called 'mail'"),
        ("# nobody\n", None, "no addresses in it"),
        ("a@x.example\nb@y.example\rRCPT TO:<c@z.example>\n", None, "list:2: 'b@y.example\\rRCPT"),
    ],
)
def test_what_is_no_list(tmp_path: Path, text: str, column: str | None, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(tmp_path, text, column)
    assert message in str(refused.value)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_bytes(b"a@x.example\n\xff@x.example\n")
    with pytest.raises(InputError, match="list:2: not UTF-8"):
        subscribers.read(path)
