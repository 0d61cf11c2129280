"""Unsubscribing from a list of `sojourn mail serve`: the links in what a real Postfix received."""

import http.client
import json
import mailbox
import re
import smtplib
import ssl
from contextlib import closing
from email.message import Message
from pathlib import Path

from test_serve_postfix import receiver, the_list

from certificates import self_signed
from listserver import Server, message, sojourn
from nameserver import everybody_at
from postfix import free_port
from waiting import PATIENCE_S, until

LIST = "news-bounces@lists.example"
PEOPLE = ["ann@there.example", "bob@there.example", "cid@elsewhere.example"]
SETTINGS = """
[unsubscribe]
url = "https://lists.example/leave"
address = "127.0.0.1:0"

[certificate]
chain = "{chain}"
key = "{key}"

[[dkim]]
domain = "lists.example"
selector = "s"
key = "{key}"
"""


def click(server: Server, chain: Path, link: str) -> tuple[int, str | None, bytes]:
    """What a mail program does where somebody clicks (RFC 8058, section 3.1).

    The status of the answer, its cookies, and the page.
    """
    assert server.unsubscribe is not None
    path = link.removeprefix("https://lists.example")
    context = ssl.create_default_context(cafile=chain)
    context.check_hostname = False
    head = {"Host": "lists.example", "Content-Type": "application/x-www-form-urlencoded"}
    client = http.client.HTTPSConnection(*server.unsubscribe, timeout=PATIENCE_S, context=context)
    with closing(client):
        client.request("POST", path, "List-Unsubscribe=One-Click", head)
        answer = client.getresponse()
        return answer.status, answer.getheader("Set-Cookie"), answer.read()


def copies(folder: Path, number: int) -> list[Message]:
    """What the Postfix in `folder` delivered, when it is so many."""

    def there() -> list[Message]:
        try:
            with closing(mailbox.mbox(folder / "mail" / "all", create=False)) as box:
                received = list(box)
        except mailbox.NoSuchMailboxError:
            return []
        return received if len(received) >= number else []

    return until(there)


def links(copy: Message) -> list[str]:
    """The URIs of `List-Unsubscribe`, after it was seen that one click is enough and is signed."""
    assert copy["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    signed = re.sub(r"\s", "", copy["DKIM-Signature"]).lower()
    fields = re.search(r";h=([^;]+);", signed)
    assert fields is not None
    assert {"list-unsubscribe", "list-unsubscribe-post"} <= set(fields[1].split(":"))
    return re.findall(r"<(.+?)>", copy["List-Unsubscribe"])


def refused(server: Server, recipient: str) -> bool:
    """Whether a message for this recipient is refused, as one that has left."""
    with server.trusted() as client:
        client.ehlo()
        client.mail(LIST)
        code, said = client.rcpt(recipient)
        assert code == 250 or (code, said) == (550, b"5.7.1 the subscriber has unsubscribed")
        return code == 550


def test_one_click_and_mail_unsubscribe(tmp_path):
    back = free_port()
    chain, key = self_signed(tmp_path, "DNS:lists.example")
    more = SETTINGS.format(chain=chain, key=key)
    with receiver(tmp_path / "postfix", back) as host, everybody_at("127.0.0.1") as resolver:
        path = the_list(tmp_path, back, host.port, resolver, more)
        text = path.read_text("utf-8")
        leave = f'bounces = "{LIST}"\nleave = "news-leave@lists.example"'
        path.write_text(text.replace(f'bounces = "{LIST}"', leave), "utf-8")
        with Server(path) as server:
            with server.trusted() as client:
                # All in one envelope: each copy has links of its own none the less.
                assert client.send_message(message(), LIST, PEOPLE) == {}
            received = {it["X-Original-To"]: it for it in copies(tmp_path / "postfix", 3)}
            assert sorted(received) == PEOPLE
            (ann, _), (bob, mail), (cid, _) = (links(received[who]) for who in PEOPLE)
            assert len({ann, bob, cid}) == 3
            # One character less leads nowhere.
            assert click(server, chain, ann[:-1])[0] == 404
            assert not refused(server, PEOPLE[0])
            status, cookies, page = click(server, chain, ann)
            assert (status, cookies) == (200, None)
            assert b"ann@there.example" in page
            assert [refused(server, who) for who in PEOPLE] == [True, False, False]
            # The other link, from an address that is not the subscriber's, as a stranger.
            to = mail.removeprefix("mailto:").replace("%2B", "+")
            with server.stranger() as client:
                client.sendmail("bob@phone.example", to, "From: bob@phone.example\n\nstop\n")
            assert [refused(server, who) for who in PEOPLE] == [True, True, False]
            shown = sojourn("mail", "list", path, "--left", "--json")
            assert {it["subscriber"] for it in json.loads(shown.stdout)} == set(PEOPLE[:2])
            assert sojourn("mail", "list", path, "--resume", LIST, PEOPLE[0]).returncode == 0
            assert not refused(server, PEOPLE[0])


def test_a_request_without_a_token_is_confirmed(tmp_path):
    back = free_port()
    with receiver(tmp_path / "postfix", back) as host, everybody_at("127.0.0.1") as resolver:
        path = the_list(tmp_path, back, host.port, resolver)
        text = path.read_text("utf-8")
        leave = f'bounces = "{LIST}"\nleave = "news-leave@lists.example"'
        path.write_text(text.replace(f'bounces = "{LIST}"', leave), "utf-8")
        with Server(path) as server:
            with server.trusted() as client:
                client.send_message(message(), LIST, PEOPLE[:1])
            server.await_log("status=sent")
            asks = "From: Ann <ann@there.example>\nSubject: x\n\nunsubscribe\n"
            with server.stranger() as client:
                for _ in range(3):
                    client.sendmail("x@forged.example", "news-leave@lists.example", asks)
            log = server.await_log("asked to confirm leaving")
            assert log.count("asked to confirm leaving") == 1
            assert not refused(server, PEOPLE[0])
            [_, question] = copies(tmp_path / "postfix", 2)
            assert question["Auto-Submitted"] == "auto-replied"
            [confirm] = re.findall("mailto:(.+)", str(question.get_payload()))
            yes = "From: ann@there.example\n\nyes\n"
            # An answer may be an absence note's.
            for to, is_over in [(question["From"].strip("<>"), False), (confirm.strip(), True)]:
                with smtplib.SMTP(*server.ports[2], timeout=PATIENCE_S) as client:
                    client.sendmail("ann@there.example", to, yes)
                assert refused(server, PEOPLE[0]) == is_over
