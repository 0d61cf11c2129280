"""Signatures of `sojourn mail serve`: other people's verifiers take them, also after a relay."""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from listserver import Server, config
from sink import sink
from verifiers import VERIFIERS, verdicts
from waiting import until

KEYS = Path(__file__).parents[2] / "crates" / "list-server" / "server" / "tests" / "keys"
KINDS = ("rsa", "ed25519")
LIST = "news-bounces@lists.example"
HEADS = {
    "plain": "From: Ann <ann@lists.example>\nTo: news@lists.example\nSubject: The meeting\n"
    "Date: Mon, 05 Jan 2026 10:00:00 +0100\nMessage-ID: <1@lists.example>\n",
    "missing": "From: ann@lists.example\n",
    "folded": "From: Ann\n <ann@lists.example>\nTo: news@lists.example,\n\tbob@lists.example,\n"
    "  cid@lists.example\nSubject: =?utf-8?q?A_long_subject,_whose_first_line_is_f=C3=BCll?=\n"
    " =?utf-8?q?_and_the_second_is_not?= (was:\n the meeting)\nDate: Mon, 05 Jan 2026 10:00:00\n"
    "\t+0100 (CET)\nMessage-ID:\n <a-long-name-on-a-line-of-its-own@lists.example>\n",
    "lists": "From: ann@lists.example\nSubject: [news] x\nMessage-ID: <2@lists.example>\n"
    "List-Id: News of the lists <news.lists.example>\nList-Post: <mailto:news@lists.example>\n"
    "List-Help: <https://lists.example/help?list=news>\nList-Owner: <mailto:o@lists.example>\n"
    "List-Archive: <https://lists.example/archive/>\nPrecedence: list\n",
    "tabs": "FROM:\tann@lists.example\t \nsubject:   wide \t words  \nTo:news@lists.example\n"
    "Cc: \n bob@lists.example\nX-Empty:\nDate:  Mon,  5 Jan 2026 10:00:00 +0100\n",
    "reply": "Received: from client.example by mx.example; Mon, 5 Jan 2026 10:00:00 +0100\n"
    "From: \"Ann; the 'first'\" <ann@lists.example>\nReply-To: news@lists.example\n"
    "Subject: Re: Gr\xfc\xdfe; a=b; b=c\nIn-Reply-To: <1@lists.example>\nReferences: "
    + "\n ".join(f"<{number}.reference@lists.example>" for number in range(30))
    + f"\nSender: ann@lists.example\nX-Long: {'x' * 900}\n",
}
TYPE = "MIME-Version: 1.0\nContent-Type: {}\nContent-Transfer-Encoding: {}\n\n"
UTF8 = "text/plain; charset=utf-8"
BODIES = {
    "ascii": "\nA line.\n.\n..\n-- \nAnn\n",
    "utf8": TYPE.format(UTF8, "8bit") + "Gr\xfc\xdfe aus K\xf6ln \u2013 \u4f60\u597d\n",
    "quoted": TYPE.format(f'{UTF8};\n\tformat="flowed"', "quoted-printable")
    + "Gr=C3=BC=\n=C3=9F=20\n",
    "base64": TYPE.format(UTF8, "base64") + "R3LDvMOfZSBhdXMgS8O2bG4K\n" * 40,
    "parts": TYPE.format('multipart/alternative;\n boundary="=_b"', "7bit")
    + "--=_b\nContent-Type: text/plain\n\nx\n\n--=_b\nContent-Type: text/html\n\n<p>x\n\n--=_b--\n",
    "empty": "\n",
    "blank": "\nA line.\n\n   \n\t\n\n\n",
    "spaces": "\n \tindented  \twords \n\n   \nafter a line of spaces\t\n  \n",
}
CASES = {
    f"{head}-{body}": (HEADS[head] + BODIES[body]).replace("\n", "\r\n").encode()
    for head, body in product(HEADS, BODIES)
}


def record(kind: str) -> str:
    """The public key, as a name server has it."""
    return f"v=DKIM1; k={kind}; p={(KEYS / f'{kind}.public').read_text('ascii').strip()}"


def refolded(text: bytes, width: int = 50) -> bytes:
    """The same with other folds, and a field of the relay's own."""
    head, body = text.split(b"\r\n\r\n", 1)
    fields = re.sub(rb"\r\n(?=[ \t])", b"", head).split(b"\r\n")
    lines = [b"Received: from lists.example by relay.example; Mon, 5 Jan 2026 10:00:01 +0100"]
    for field in fields:
        line, *words = re.split(rb"[ \t]+", field.rstrip())
        for word in words:
            if len(line) + 1 + len(word) > width:
                lines.append(line)
                line = b" "
            line = line + b" " + word if line.strip() else line + word
        lines.append(line)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all cases as the server sends them, and of the same after a relay."""
    folder = tmp_path_factory.mktemp("signed")
    keys = "".join(
        f'[[dkim]]\ndomain = "lists.example"\nselector = "{kind}"\nkey = "{KEYS / kind}.pem"\n'
        for kind in KINDS
    )
    with sink("gone@") as host, Server(config(folder, port=host.port, more=keys)) as server:
        with server.trusted() as client:
            for case, text in CASES.items():
                client.sendmail(LIST, f"{case}@[127.0.0.1]", text, ["BODY=8BITMIME"])
        until(lambda: len(host.texts) == len(CASES), told=lambda: server.log.read_text("utf-8"))
    (folder / "all").mkdir()
    for recipient, text in host.texts.items():
        case = recipient.partition("@")[0]
        (folder / "all" / case).write_bytes(text)
        (folder / "all" / f"{case}-relayed").write_bytes(refolded(text))
    return folder / "all"


def test_lines_are_short_and_no_space_stands_before_a_semicolon(signed):
    for path in signed.iterdir():
        if path.name.endswith("-relayed"):
            continue
        fields = re.findall(rb"^DKIM-Signature: (?:.*\r\n[ \t])*.*\r\n", path.read_bytes(), re.M)
        assert len(fields) == len(KINDS), path.name
        for field in fields:
            assert max(map(len, field.splitlines())) <= 78, field
            assert field.endswith(b"==;\r\n"), field
            assert not re.search(rb"\s;", field), field


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verifier", VERIFIERS, ids=lambda it: it.__name__)
def test_others_take_48_usual_mails_before_and_after_a_relay(
    verifier: Callable[[str], list[str]], kind: str, signed: Path
) -> None:
    results = verdicts(verifier(kind), signed, {it: record(it) for it in KINDS}, kind)
    assert len(CASES) == 48
    assert results.keys() == {path.name for path in signed.iterdir()}
    assert {file: result for file, result in results.items() if result != "pass"} == {}
