"""A host that takes mail, for tests that look at what it got."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message


@dataclass
class Sink:
    """Its port, and the copies by recipient, as messages and as texts."""

    port: int
    copies: dict[str, Message] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)


@contextmanager
def sink(gone: str) -> Iterator[Sink]:
    """One at 127.0.0.1 that refuses the recipients whose address begins so."""

    class Session(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say("220 sink ESMTP")
            recipient = ""
            while line := self.rfile.readline().decode().strip():
                verb, address = line[:4].upper(), line.partition("<")[2].partition(">")[0]
                if verb == "RCPT" and address.startswith(gone):
                    self.say("550 5.1.1 no such user")
                elif verb == "DATA":
                    self.say("354 go on")
                    lines = iter(self.rfile.readline, b".\r\n")
                    text = b"".join(line.removeprefix(b".") for line in lines)
                    taken.copies[recipient] = message_from_bytes(text)
                    taken.texts[recipient] = text
                    self.say("250 2.0.0 Ok")
                elif verb == "EHLO":
                    self.say("250-sink\r\n250 8BITMIME")
                elif verb == "QUIT":
                    return self.say("221 2.0.0 bye")
                else:
                    recipient = address if verb == "RCPT" else recipient
                    self.say("250 2.0.0 Ok")
            return None

        def say(self, reply: str) -> None:
            self.wfile.write(reply.encode() + b"\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        taken = Sink(server.server_address[1])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield taken
        finally:
            server.shutdown()
