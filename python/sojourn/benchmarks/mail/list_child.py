"""A list server that takes the messages by SMTP, and gives each recipient a separate copy."""

import base64
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sojourn._internal.units import NS_PER_S
from sojourn._mail import ListServer, ServeSettings, sign_often
from sojourn.benchmarks.child import peak_bytes
from sojourn.benchmarks.mail.process import SENDER, answer, cpu_s, message

_DOMAIN = SENDER.partition("@")[2]
_SETTINGS = """
[reception]
trusted = ["127.0.0.1"]
postmaster = "postmaster@[127.0.0.1]"

[[listener]]
address = "127.0.0.1:0"

[[list]]
bounces = "{sender}"
unsubscribe = ["https://lists.example/leave/{{recipient}}"]
one_click = true
"""
_SIGNED = """
[[dkim]]
domain = "{domain}"
selector = "s"
key = "{key}"
"""
# What the server puts before a copy, and signs.
_FIELDS = (
    "List-Unsubscribe: <https://lists.example/leave/{recipient}>\r\n"
    "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
)
# Of an Ed25519 key in PKCS #8 (RFC 8410): 32 octets of the key itself follow.
_KEY_HEAD = bytes.fromhex("302e020100300506032b657004220420")
_SIGNATURES = 2000


def serve(task: dict[str, Any], asked: Iterator[dict[str, Any]]) -> None:
    """Send what `task` says; the last answer has `signature_ns` too, where copies are signed."""
    key = Path(task["spool"]).with_name("dkim.pem")
    settings = f"spool = {task['spool']!r}\n{task['settings']}{_SETTINGS.format(sender=SENDER)}"
    signature_ns = None
    if task["hands_over"] == "signed list":
        coded = base64.b64encode(_KEY_HEAD + os.urandom(32)).decode()
        key.write_text(
            f"-----BEGIN PRIVATE KEY-----\n{coded}\n-----END PRIVATE KEY-----\n", "ascii"
        )
        settings += _SIGNED.format(domain=_DOMAIN, key=key)
        before = cpu_s()
        fields = _FIELDS.format(recipient=task["recipients"][0]).encode()
        sign_often(_DOMAIN, str(key), fields + message(0, task["size_bytes"]), _SIGNATURES)
        signature_ns = (cpu_s() - before) / _SIGNATURES * NS_PER_S
    parsed = ServeSettings.parse(settings, task["source"], [])
    log = Path(task["log"] or os.devnull)
    before = cpu_s()
    server = ListServer.start(parsed, "", log)
    submitted = time.time()
    for number in range(task["messages"]):
        _hand_over(server.addresses[0], task["recipients"], message(number, task["size_bytes"]))
    answer(submitted=submitted, accepted=time.time())
    for question in asked:
        if "progress" in question:
            answer()
            continue
        used_s = cpu_s() - before
        left, cut = server.stop()
        answer(
            cpu_s=used_s,
            peak_bytes=peak_bytes(),
            left=left,
            cut=cut,
            failed=[],
            signature_ns=signature_ns,
        )


def _hand_over(address: str, recipients: list[str], text: bytes) -> None:
    """By SMTP, all commands at once (RFC 2920)."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as client, client.makefile("rb") as replies:

        def say(commands: str, number: int) -> None:
            client.sendall(commands.encode())
            while number:
                line = replies.readline()
                if not line.startswith((b"2", b"354")):
                    raise OSError(f"the list server says {line!r}")
                number -= line[3:4] == b" "

        say("", 1)
        say("EHLO bench.example\r\n", 1)
        people = "".join(f"RCPT TO:<{who}>\r\n" for who in recipients)
        say(f"MAIL FROM:<{SENDER}>\r\n{people}DATA\r\n", 2 + len(recipients))
        client.sendall(text + b".\r\n")
        say("", 1)
