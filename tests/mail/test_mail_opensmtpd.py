"""A real OpenSMTPD takes what `sojourn mail deliver` sends.

It offers TLS. That of Debian 12 (6.8.0, built for another OpenSSL) then breaks off every handshake,
whoever asks: what comes after is in plain text.
"""

from collections.abc import Callable
from pathlib import Path

from certificates import self_signed
from conftest import Result
from opensmtpd import opensmtpd
from waiting import until

# It knows these people, and takes thirty recipients in a transaction.
PEOPLE = [f"s{n}@[127.0.0.1]" for n in range(200)]
SETTINGS = """\
smtp limit max-rcpt 30
pki real.example cert "{chain}"
pki real.example key "{key}"
table people file:{people}
{listen} tls pki real.example
"""
TEXT = b"From: owner@lists.example\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n.\r\n..\r\nlast\r\n"


def test_two_hundred_recipients_and_two_unknown(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    chain, key = self_signed(tmp_path, "IP:127.0.0.1")
    (tmp_path / "message").write_bytes(TEXT)
    unknown = ["nobody@[127.0.0.1]", "none@[127.0.0.1]"]
    (tmp_path / "list").write_text("\n".join(PEOPLE + unknown), "utf-8")
    (tmp_path / "people").write_text("".join(f"{who} keeper\n" for who in PEOPLE), "utf-8")
    settings = SETTINGS.replace("{chain}", str(chain)).replace("{key}", str(key))
    settings = settings.replace("{people}", str(tmp_path / "people"))
    with opensmtpd(tmp_path / "opensmtpd", settings) as real:
        done = command(
            *("mail", "deliver", tmp_path / "message", "--list", tmp_path / "list"),
            *("--set", f"network.port={real.port}", "--set", "mail.hello=lists.example"),
            *("--spool", tmp_path / "spool", "--patience", "60s", "--json"),
        )
        assert (done.code, done.document["delivered"]) == (1, 200)
        assert [trouble["recipient"] for trouble in done.document["failed"]] == unknown
        until(lambda: real.log.count("stat=Delivered") >= len(PEOPLE), lambda: real.log)
        kept = real.kept()
        assert len(kept) == len(PEOPLE)
        body = TEXT.partition(b"\r\n\r\n")[2].replace(b"\r\n", b"\n")
        assert all(text.endswith(b"\n\n" + body) for text in kept)
        for who in PEOPLE:
            assert real.log.count(f"rcpt=<{who}>") == 1
