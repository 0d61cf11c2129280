"""The live page of `sojourn mail serve`, in a browser, while mail is delivered."""

import json
import os
import re
import socket
import socketserver
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from browser import browser
from listserver import Server, config, message
from smallnet import small_internet
from waiting import PATIENCE_S

LIVE = "[live]\naddress = '127.0.0.1:0'\n"


def fetch(address: str, token: str | None = None) -> tuple[int, str]:
    request = urllib.request.Request(address)  # noqa: S310 - our own server
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(config(tmp_path, more=LIVE)) as running:
        yield running


def test_who_may_see_it(server):
    assert server.live is not None
    address, _, token = server.live.partition("?token=")
    assert fetch(address)[0] == fetch(f"{address}metrics")[0] == 401
    assert fetch(f"{address}state", "x" * 32)[0] == 401
    assert fetch(f"{address}healthz") == (200, "well\n")
    assert json.loads(fetch(f"{address}state", token)[1])["totals"]["messages"] == 0
    said = server.stop()
    assert token not in said + server.log.read_text("utf-8")


def test_prometheus_can_read_its_metrics(server):
    assert server.live is not None
    address, _, token = server.live.partition("?token=")
    with server.trusted() as client:
        client.sendmail("a@b", ["x@[127.0.0.77]", "y@[127.0.0.77]"], b"x")
    server.await_log("status=deferred", times=2)
    status, text = fetch(f"{address}metrics", token)
    assert status == 200
    kinds, samples = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            found = re.fullmatch(r'([a-z_]+)(?:\{[a-z]+="[^"\\]*"\})? ([0-9.e+-]+)', line)
            assert found, line
            base = re.sub(r"_(bucket|sum|count)$", "", found[1])
            assert found[1] in kinds or kinds.get(base) == "histogram"
            samples[line.rsplit(" ", 1)[0]] = float(found[2])
    assert samples["sojourn_mail_messages_total"] == 1
    assert samples['sojourn_mail_attempts_total{outcome="deferred"}'] == 2
    assert samples["sojourn_mail_queue_recipients"] == 2
    assert samples["sojourn_mail_delay_seconds_count"] == 0


def test_clients_that_say_nothing_are_not_waited_for(server):
    assert server.live is not None
    host, port = re.findall(r"//(.+):(\d+)/", server.live)[0]
    silent = [socket.create_connection((host, int(port)), PATIENCE_S) for _ in range(32)]
    began = time.monotonic()
    for client in silent:
        assert client.recv(1000) in (b"", b"HTTP/1.1 408 Request Timeout\r\n")
        client.close()
    assert time.monotonic() - began < 30
    assert fetch(server.live)[0] == 200
    with socket.create_connection((host, int(port)), PATIENCE_S) as endless:
        try:
            endless.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000_000)
            answer = endless.recv(1000)
        except (BrokenPipeError, ConnectionResetError):
            # It answered and hung up while the rest was still under way, which may lose the answer.
            answer = b"431"
    assert b"431" in answer
    assert fetch(server.live)[0] == 200


WORLD = """\
[drawn]
subscribers = 1500
domains = 200
greylisting = "20s"
unreachable = 0.04
"""
TAGGED = '"<img/src=x>"@[127.0.0.77]'  # nobody is there

BLOCKED = "550 5.7.1 <img src=x> Your address is on our block list"


LIMIT = '[[mail.domain]]\nby = "mx"\nname = "[127.0.0.78]"\nper_minute = 300\n'


class BlockingHost(socketserver.StreamRequestHandler):
    """A host that takes mail from other senders."""

    def handle(self) -> None:
        self.wfile.write(b"220 x\r\n")
        for line in self.rfile:
            reply = BLOCKED if line.upper().startswith(b"RCPT") else "250 2.0.0 x"
            self.wfile.write(f"{reply}\r\n".encode())


def test_an_alarm_names_the_provider_and_its_reply(tmp_path):
    pictures = Path(os.environ.get("SOJOURN_PICTURES", tmp_path))
    with ExitStack() as stack:
        host = stack.enter_context(socketserver.ThreadingTCPServer(("127.0.0.78", 0), BlockingHost))
        threading.Thread(target=host.serve_forever, daemon=True).start()
        stack.callback(host.shutdown)
        server = Server(config(tmp_path, port=host.server_address[1], more=LIVE + LIMIT))
        stack.enter_context(server)
        assert server.live is not None
        page = stack.enter_context(browser(tmp_path / "profile"))
        page.open(server.live, height=2000)
        section = "document.getElementById('alarms-section')"
        page.await_("document.documentElement?.dataset.events > 1")
        assert page.value(f"{section}.hidden")
        with server.trusted() as client:
            recipients = [f"s{i}@[127.0.0.78]" for i in range(12)]
            client.sendmail("news-bounces@lists.example", recipients, b"Subject: x\n\nx")
        server.await_log("alarm: provider=127.0.0.78, fault=policy: 10 of 10")
        server.await_log("status=bounced", times=12)
        page.await_(f"!{section}.hidden")
        said = page.value(f"{section}.textContent")
        assert "127.0.0.78" in said
        assert BLOCKED in said
        page.await_("document.getElementById('shaping').textContent.includes('300')")
        page.picture(pictures / "live-alarm.png")
        assert page.complaints == []
        address, _, token = server.live.partition("?token=")
        metrics = fetch(f"{address}metrics", token)[1]
        assert "sojourn_mail_alarms_total 1\n" in metrics
        assert 'sojourn_mail_failures_total{fault="policy"} 12\n' in metrics


def test_a_browser_follows_a_delivery(tmp_path):
    pictures = Path(os.environ.get("SOJOURN_PICTURES", tmp_path))
    with ExitStack() as stack:
        net = stack.enter_context(small_internet(tmp_path, WORLD))
        internet = net.internet
        path = config(tmp_path, port=internet.smtp_port, resolver=internet.resolver, more=LIVE)
        server = stack.enter_context(Server(path))
        page = stack.enter_context(browser(tmp_path / "profile"))
        page.open(server.live)
        page.await_("document.documentElement?.dataset.events > 1")
        assert page.value("document.querySelectorAll('canvas').length") == 1
        with server.trusted() as client:
            for i in range(4):
                sent = client.send_message(
                    message(str(i)), "news-bounces@lists.example", [*net.subscribers, TAGGED]
                )
                assert sent == {}
        number = "it => Number(it.textContent.replaceAll(',', ''))"
        tiles = (
            "Object.fromEntries([...document.querySelectorAll('#tiles div')].map("
            f"it => [it.firstChild.textContent, ({number})(it.lastChild)]))"
        )
        page.await_(f"({tiles})['delivered'] > 200")
        page.picture(pictures / "live-light.png")
        page.await_(f"({tiles})['delivered'] > 4000 && ({tiles})['of these deferred'] > 0")
        page.dark(dark=True)
        page.await_("document.querySelectorAll('#slow tbody tr').length == 20")
        page.await_("document.querySelectorAll('#late tbody tr').length > 1")
        page.value("document.querySelector('[data-range=minutes]').click()")
        seen = page.value("document.documentElement.dataset.events")
        page.await_(f"document.documentElement.dataset.events > {seen}")
        page.picture(pictures / "live-dark.png")
        page.dark(dark=False)
        # What others say is text.
        page.await_(f"document.body.textContent.includes({json.dumps(TAGGED)})")
        assert page.value("document.querySelector('main img')") is None
        # The page counts what the hosts took.
        taken = len(internet.accepted(0))
        page.await_(f"({tiles})['delivered'] >= {taken}")
        page.open(server.live, width=400, height=2400)
        page.await_("document.querySelectorAll('#errors tbody tr').length > 1")
        wide = "document.documentElement.scrollWidth"
        assert page.value(wide) <= 400
        page.picture(pictures / "live-narrow.png")
        assert page.complaints == []
        server.stop()
        page.await_("document.getElementById('status').className == 'lost'")
