"""A small internet around a list server, for tests of `sojourn mail`."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn._mail import TestNet, TestNetConfig


@dataclass
class Net:
    """One that runs, and a file of settings for a list server in it."""

    internet: TestNet
    subscribers: list[str]
    settings: Path

    @property
    def copies(self) -> Counter[str]:
        """How many messages each recipient has."""
        return Counter(recipient for _, _, recipient, *_ in self.internet.accepted(0))

    def write_list(self, path: Path) -> Path:
        """A file with all subscribers, one a line."""
        path.write_text("".join(f"{who}\n" for who in self.subscribers), "utf-8")
        return path


@contextmanager
def small_internet(folder: Path, world: str, mail: str = "") -> Iterator[Net]:
    """Start `world`; `mail` is added to the list server's settings of that table."""
    there = TestNetConfig.parse(world, "world", [])
    internet = there.start()
    settings = folder / "server.toml"
    settings.write_text(
        f'[mail]\nhello = "lists.example"\n{mail}\n'
        f'[network]\nport = {internet.smtp_port}\nresolvers = ["{internet.resolver}"]\n',
        "utf-8",
    )
    try:
        yield Net(internet, [who for who, _ in there.subscribers()], settings)
    finally:
        internet.stop()
