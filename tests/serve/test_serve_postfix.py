"""`sojourn mail serve` before and behind a real Postfix: mail goes out, what fails comes back."""

import json
import os
import re
import smtplib
from pathlib import Path

import pytest

from listserver import Server, config, message, sojourn, tool
from nameserver import everybody_at
from postfix import free_port, postfix, user

# A host for all domains: mailboxes as files, but one address that nobody has.
SETTINGS = """\
mydestination =
virtual_mailbox_domains = static:all
virtual_mailbox_maps = static:all
virtual_mailbox_base = {folder}/mail
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
virtual_minimum_uid = 1
transport_maps = inline:{{ {{ gone@there.example = error:5.1.1 nobody has that address }},
    {{ lists.example = smtp:[127.0.0.1]:{back} }} }}
smtpd_recipient_limit = 20000
smtpd_reject_unlisted_recipient = {early}
"""
MORE = "virtual unix - n n - - virtual\n"


def receiver(folder: Path, back: int, early: str = "yes"):
    """A Postfix that takes everybody's mail; what comes back goes to the port `back`.

    Whom it does not know it refuses at once, or reports when it has the message.
    """
    keeper = user()
    mail = folder / "mail"
    mail.mkdir(parents=True)
    os.chown(mail, keeper.pw_uid, keeper.pw_gid)
    settings = SETTINGS.format(
        folder=folder, uid=keeper.pw_uid, gid=keeper.pw_gid, back=back, early=early
    )
    return postfix(folder, settings, MORE)


def the_list(folder: Path, back: int, port: int, resolver: str, more: str = "") -> Path:
    """A configuration whose first port is `back`."""
    path = config(folder, port=port, resolver=resolver, more=more)
    text = path.read_text("utf-8").replace("127.0.0.1:0", f"127.0.0.1:{back}", 1)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(("early", "sent"), [("yes", 2), ("no", 3)])
def test_a_list_message_and_the_bounce_that_suspends(tmp_path, early, sent):
    back = free_port()
    with (
        receiver(tmp_path / "postfix", back, early) as host,
        everybody_at("127.0.0.1") as resolver,
        Server(the_list(tmp_path, back, host.port, resolver)) as server,
    ):
        text = message("to everybody")
        people = ["ann@there.example", "bob@elsewhere.example", "gone@there.example"]
        with server.trusted() as client:
            assert client.send_message(text, "news-bounces@lists.example", people) == {}
        server.await_log("status=sent", times=sent)
        log = server.await_log(
            "suspended: list=<news-bounces@lists.example>, to=<gone@there.example>"
        )
        assert "bounced: list=<news-bounces@lists.example>, to=<gone@there.example>: " in log
        [member] = json.loads(sojourn("mail", "list", server.config, "--json").stdout)
        assert (member["subscriber"], member["status"]) == ("gone@there.example", "5.1.1")
        assert "nobody has that address" in member["reason"]
        assert "gone@there.example" in sojourn("mail", "list", server.config).stdout
        with server.trusted() as client:
            refused = client.send_message(text, "news-bounces@lists.example", people)
            assert list(refused) == ["gone@there.example"]
            assert refused["gone@there.example"][1].startswith(b"5.2.1 delivery is suspended")
        server.await_log("status=sent", times=sent + 2)
        assert "0 messages left" in server.stop()
        # The text as it was given, in an envelope that names its recipient.
        got = (tmp_path / "postfix" / "mail" / "all").read_text("utf-8")
        assert re.search(r"^Return-Path: <news-bounces\+[a-z2-7]{32}@lists\.example>$", got, re.M)
        assert "List-Id: <news.lists.example>\n" in got
        assert "A line.\n.\n..\n" in got


def test_thousands_in_one_envelope_reach_postfix(tmp_path):
    source = tool("smtp-source")
    back = free_port()
    with (
        receiver(tmp_path / "postfix", back) as host,
        everybody_at("127.0.0.1") as resolver,
        Server(the_list(tmp_path, back, host.port, resolver)) as server,
    ):
        # 3,000 recipients of one domain each their own, as smtp-source names them.
        to = ("-f", "a@b.example", "-N", "-t", "subscriber@there.example")
        source("-s", "1", "-m", "1", "-r", "3000", "-l", "4000", *to, f"inet:127.0.0.1:{back}")
        server.await_log("nrcpt=3000\n")
        server.await_log("status=sent", times=3000)
        server.await_log(": removed")
        assert "0 messages left" in server.stop()
        host.wait_for("status=sent", times=3000)


def test_postfix_as_the_sender(tmp_path):
    """A Postfix whose relay is the list server, as a list manager's machine has it."""
    back, out = free_port(), tmp_path / "sender"
    with (
        receiver(tmp_path / "postfix", back) as host,
        everybody_at("127.0.0.1") as resolver,
        Server(the_list(tmp_path, back, host.port, resolver)) as server,
        postfix(out, f"mydestination =\nrelayhost = [127.0.0.1]:{back}\n") as sender,
    ):
        people = [f"s{i}@there.example" for i in range(120)]
        with smtplib.SMTP("127.0.0.1", sender.port) as client:
            assert client.send_message(message(), "news-bounces@lists.example", people) == {}
        server.await_log("status=sent", times=120)
        sender.wait_for("status=sent (250 2.0.0 taken as", times=120)
        assert "0 messages left" in server.stop()
