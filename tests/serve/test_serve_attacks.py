"""`sojourn mail serve` under attack: relays, injections, smuggling, clients that never end."""

import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from certificates import self_signed
from listserver import Server, config, sojourn
from waiting import PATIENCE_S, until

pytestmark = pytest.mark.alone

NOBODY = "x@[127.0.0.77]"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(config(tmp_path)) as running:
        yield running


class Wire:
    """A client that says what it likes."""

    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream
        self.rest = b""

    def say(self, data: bytes) -> None:
        self.stream.sendall(data)

    def say_for_ever(self) -> None:
        """Say the same until it cannot be said any more; 32 MB at most."""
        for _ in range(512):
            self.say(b"x" * 65536)

    def hear(self) -> bytes:
        """A whole reply; nothing when the session is over."""
        reply = b""
        while True:
            while b"\r\n" not in self.rest:
                try:
                    more = self.stream.recv(65536)
                except ConnectionResetError:
                    more = b""
                if not more:
                    return reply + self.rest
                self.rest += more
            line, _, self.rest = self.rest.partition(b"\r\n")
            reply += line + b"\r\n"
            if line[3:4] != b"-":
                return reply

    def ask(self, data: bytes) -> bytes:
        self.say(data)
        return self.hear()


def wire(stack: ExitStack, address: tuple[str, int], source: str = "127.0.0.1") -> Wire:
    stream = socket.create_connection(address, PATIENCE_S, source_address=(source, 0))
    client = Wire(stack.enter_context(stream))
    assert client.hear().startswith(b"220 ")
    assert client.ask(b"EHLO x\r\n").startswith(b"250-")
    return client


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as open_:
        yield open_


RELAYED = [
    "victim@there.example",
    "victim%there.example@lists.example",
    "there.example!victim@lists.example",
    '"victim@there.example"@lists.example',
    "victim%there.example@[127.0.0.1]",
    "victim@[127.0.0.1]",
    "news-bounces%there.example@lists.example",
    "news-bounces+victim@there.example@lists.example",
    "news-bounces@lists.example@there.example",
    "@lists.example:victim@there.example",
    "@lists.example,@there.example:victim@there.example",
    "victim@there.example\0@lists.example",
    "news-bounces@lists.example> <victim@there.example",
    "news-bounces@lists.example>\nRCPT TO:<victim@there.example",
    "there.example!victim",
    "victim",
    "announce@lists.example",
]


@pytest.mark.parametrize("sender", ["", "news-bounces@lists.example", "ann@lists.example"])
def test_no_relay_for_strangers(server, stack, sender):
    for path in RELAYED:
        client = wire(stack, server.ports[2], "127.0.0.9")
        assert client.ask(f"MAIL FROM:<{sender}>\r\n".encode())[:3] == b"250"
        assert b"500" <= client.ask(f"RCPT TO:<{path}>\r\n".encode())[:3] < b"560", path
        client.say(b"DATA\r\n")
        assert client.hear()[:1] == b"5", path
        client.stream.close()
    assert "0 messages left" in server.stop()
    assert "status=" not in server.log.read_text("utf-8")


@pytest.mark.parametrize(
    "end",
    [
        b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r\n.\n",
        b"\r\n.\r", b"\n\n.\r\n", b"\r\n\x00.\r\n", b"\r.\r\n",
    ],
)  # fmt: skip
def test_no_message_is_smuggled_behind_another(server, stack, end):
    """To the trusted, whose line ends are mended, and to strangers all of it is one message."""
    evil = f"MAIL FROM:<hidden@b>\r\nRCPT TO:<{NOBODY}>\r\nDATA\r\nhidden\r\n.\r\nQUIT\r\n"
    for address, source, to, answer in [
        (server.ports[0], "127.0.0.1", NOBODY, b"250 2.0.0 taken as 0000000001"),
        (server.ports[2], "127.0.0.9", "news-bounces@lists.example", b"554 5.6.0 "),
    ]:
        client = wire(stack, address, source)
        client.say(f"MAIL FROM:<a@b>\r\nRCPT TO:<{to}>\r\nDATA\r\n".encode())
        assert [client.hear()[:3] for _ in range(3)] == [b"250", b"250", b"354"]
        client.say(b"Subject: x\r\n\r\ntext" + end + evil.encode())
        said = client.hear()
        assert said.startswith(b"250 " if b"\x00" in end else answer)
        assert client.hear().startswith(b"221 ")
    server.stop()
    log = server.log.read_text("utf-8")
    assert "from=<a@b>" in log
    assert "from=<hidden@b>" not in log


def test_no_command_hides_in_a_command(server, stack):
    client = wire(stack, server.ports[0])
    for line in [
        b"MAIL FROM:<a@b\rRSET>\r\n",
        b"MAIL FROM:<a@b\x00>\r\n",
        b"MAIL FROM:<a@b>\nRCPT TO:<c@d>\r\n",
        b"MAIL FROM:<a@b\x7f>\r\n",
        b"MAIL FROM:<a@b\xff>\r\n",
        b"MAIL FROM:<a@b> X=\x1b[2J\r\n",
    ]:
        assert client.ask(line)[:1] == b"5", line
        while b"\n" in line[:-2] and client.rest:
            client.hear()
    assert client.ask(b"RSET\r\n").startswith(b"250 ")
    # Nothing of it stands in what a client is called.
    assert client.ask(b"EHLO x\tby y; z\r\n")[:1] == b"5"


def test_what_comes_in_plain_text_behind_starttls_counts_for_nothing(tmp_path, stack):
    chain, key = self_signed(tmp_path, "DNS:lists.example")
    more = f'[certificate]\nchain = "{chain}"\nkey = "{key}"\n'
    with Server(config(tmp_path, more=more)) as server:
        client = wire(stack, server.ports[0])
        injected = f"MAIL FROM:<injected@b>\r\nRCPT TO:<{NOBODY}>\r\n"
        assert client.ask(b"STARTTLS\r\n" + injected.encode()).startswith(b"220 ")
        assert client.rest == b""
        context = ssl.create_default_context(cafile=chain)
        context.check_hostname = False
        client.stream.settimeout(PATIENCE_S)
        secured = Wire(stack.enter_context(context.wrap_socket(client.stream)))
        # The first answer is to the first question asked under TLS; who it is has to be said anew.
        assert secured.ask(b"NOOP\r\n").startswith(b"250 2.0.0 here")
        assert secured.ask(b"DATA\r\n").startswith(b"503 ")
        assert secured.ask(b"MAIL FROM:<a@b>\r\n").startswith(b"503 ")
        assert b"STARTTLS" not in secured.ask(b"EHLO x\r\n")
        server.stop()


def test_garbage_ends_a_session_and_nothing_else(server, stack):
    for garbage in [b"\r\n" * 5000, b"\xff\xfe\r\n" * 5000, b"MAIL FROM:<\r\n" * 5000]:
        client = wire(stack, server.ports[0])
        client.say(garbage)
        replies = []
        while reply := client.hear():
            replies.append(reply[:3])
        assert replies[:-1] == [b"500"] * 20 or replies[:-1] == [b"501"] * 20
        assert replies[-1] == b"421"
    # A client of TLS where nobody speaks it.
    wire(stack, server.ports[0]).say(b"\x16\x03\x01\x02\x00\x01" * 5000)
    client = wire(stack, server.ports[0])
    assert client.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"421 ")
    with server.trusted() as good:
        assert good.sendmail("a@b", [NOBODY], b"x") == {}
    server.stop()


def test_memory_is_bounded(server, stack):
    before = server.resident_bytes()
    slow = [wire(stack, server.ports[0]) for _ in range(100)]
    for client in slow:
        client.say(b"MAIL FROM:<a@b")
    endless = wire(stack, server.ports[0])
    # The session ends, also where its reply is lost to what is still on its way.
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        endless.say_for_ever()
    assert server.resident_bytes() - before < 40e6
    many = wire(stack, server.ports[0])
    many.say(b"MAIL FROM:<a@b>\r\n")
    assert many.hear().startswith(b"250 ")
    said = []
    for i in range(0, 110_000, 500):
        lines = (f"RCPT TO:<subscriber-{j}@there.example>\r\n" for j in range(i, i + 500))
        many.say("".join(lines).encode())
        said += [many.hear()[:9] for _ in range(500)]
    assert said == [b"250 2.1.5"] * 100_000 + [b"452 4.5.3"] * 10_000
    assert server.resident_bytes() - before < 80e6
    # Others are served meanwhile.
    with server.trusted() as good:
        assert good.sendmail("a@b", [NOBODY], b"x") == {}


def test_messages_without_an_end_are_asked_to_come_again(tmp_path, stack):
    path = config(tmp_path)
    less = 'grace = "1s"\nmemory = "20MB"\nbounds.message = "10MB"'
    text = path.read_text("utf-8").replace('grace = "1s"', less)
    path.write_text(text, "utf-8")
    with Server(path) as server:
        before = server.resident_bytes()
        clients = [wire(stack, server.ports[0]) for _ in range(20)]
        for client in clients:
            client.say(f"MAIL FROM:<a@b>\r\nRCPT TO:<{NOBODY}>\r\nDATA\r\n".encode())
            assert [client.hear()[:3] for _ in range(3)] == [b"250", b"250", b"354"]
        for _ in range(80):  # 100 MB in all
            for client in clients:
                client.say(b"x" * 65534 + b"\r\n")
        for client in clients:
            client.say(b".\r\n")
        answers = [client.hear()[:9] for client in clients]
        assert set(answers) == {b"250 2.0.0", b"452 4.3.1"}
        assert answers.count(b"250 2.0.0") <= 4
        assert server.resident_bytes() - before < 120e6
        server.stop()


def test_strangers_leave_room_for_others(server, stack):
    """Fifty strangers who begin no message give way to one who does."""
    address = server.ports[2]
    for source in range(11, 16):
        for _ in range(10):
            wire(stack, address, f"127.0.{source}.1")
    began = time.monotonic()
    last = wire(stack, address, "127.0.99.1")
    assert last.ask(b"MAIL FROM:<>\r\n").startswith(b"250 ")
    with server.trusted() as good:
        assert good.sendmail("a@b", [NOBODY], b"x") == {}
    assert time.monotonic() - began < 10


def test_a_report_on_everybody_is_read_in_time(server):
    """A stranger's report of 200,000 recipients, and one whose parts hold each other: no row."""
    head = (
        b"MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status;"
        b" boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n"
        b"Reporting-MTA: dns; x\r\n\r\n"
    )
    groups = b"".join(
        b"Final-Recipient: rfc822; s%d@x.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n" % i
        for i in range(200_000)
    )
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (i, i)
        for i in range(20_000)
    )
    began = time.monotonic()
    with server.stranger() as client:
        back = "news-bounces@lists.example"
        assert client.sendmail("", [back], head + groups + b"--b--\r\n") == {}
        assert client.sendmail("", [back], nested) == {}
    assert time.monotonic() - began < 30
    server.stop()
    assert "suspended: " not in server.log.read_text("utf-8")
    assert sojourn("mail", "list", server.config).stdout == "no mail came back\n"


def test_a_process_that_may_open_no_more_files_says_so_once(server, stack):
    with server.trusted():
        pass  # what the first connection opens stays open
    files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
    before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (files, before[1]))
    why = "no connection can be accepted: Too many open files"
    waiting = [
        stack.enter_context(socket.create_connection(server.ports[0], PATIENCE_S)) for _ in range(3)
    ]
    server.await_log(why)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
    for client in waiting:
        assert Wire(client).hear().startswith(b"220 ")
    assert server.log.read_text("utf-8").count(why) == 1


def test_an_operator_who_cannot_be_answered_is_told_of_once(server, stack):
    with server.trusted():
        pass  # what the first connection opens stays open
    files = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
    before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (files, before[1]))
    why = "no operator can be answered: Too many open files"
    operator = stack.enter_context(socket.socket(socket.AF_UNIX))
    operator.connect(str(server.config.with_name("spool.control")))
    server.await_log(why)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
    assert sojourn("mail", "queue", server.config).returncode == 0
    assert server.log.read_text("utf-8").count(why) == 1


@pytest.mark.parametrize("said", [b"DATA\r\n", b"BDAT 0\r\n"])
def test_who_says_nothing_of_a_text_keeps_nobody_out(server, stack, said):
    address = server.ports[2]
    sources = [f"127.1.{network}.{host}" for network in (1, 2, 3) for host in (1, 2)][:5]
    for source in sources:
        for _ in range(10):
            client = wire(stack, address, source)
            assert client.ask(b"MAIL FROM:<>\r\n").startswith(b"250 ")
            assert client.ask(b"RCPT TO:<news-bounces@lists.example>\r\n").startswith(b"250 ")
            assert client.ask(said)[:3] in (b"354", b"250")
    began = time.monotonic()

    def is_answered() -> bool:
        with socket.create_connection(address, PATIENCE_S, source_address=("127.9.9.9", 0)) as one:
            return Wire(one).hear().startswith(b"220 ")

    until(is_answered)
    # Sooner than the first of them runs out of time.
    assert time.monotonic() - began < 8
