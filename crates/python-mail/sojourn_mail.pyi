"""The list server of sojourn: delivery, reception, spool, and a small internet to try them in.

Whatever reads settings raises the `StudyError` of `sojourn._core`.
"""

from os import PathLike
from typing import final

import numpy as np
import numpy.typing as npt

from sojourn._core import InputError

__all__ = [
    "DeliveryServer",
    "ListServer",
    "MailSettings",
    "ServeSettings",
    "ServerError",
    "TestNet",
    "TestNetConfig",
    "__version__",
    "bounce_book",
    "erase_subscribers",
    "exposed_file",
    "mail_operate",
    "mail_password",
    "mail_queue",
    "mail_reload",
    "mail_shaping",
    "mail_spool_check",
    "mail_waiting",
    "registry",
    "resume_subscribers",
    "rotate_token_keys",
    "sign_often",
    "suppress_subscribers",
    "token_keys",
    "unsubscribed",
    "unverified_mail",
]

__version__: str

class ServerError(InputError):
    """A list server, or its files, cannot do what is asked."""

@final
class MailSettings:
    """How a list server is set: a file, read and checked."""

    @staticmethod
    def parse(text: str, source: str, overrides: list[tuple[str, str]]) -> MailSettings:
        """Read settings; arguments as of `Study.parse`.

        Raises:
            StudyError: the text or an override is nothing that a list server can be set to.
        """

    def timeouts_s(self, failures: int) -> list[tuple[str, float]]:
        """How long each step of a session may take after so many failures of a host in a row."""

@final
class DeliveryServer:
    """A running list server. It has threads of its own, and runs until it is stopped."""

    @staticmethod
    def start(
        settings: MailSettings, spool: PathLike[str], log: PathLike[str] | None = None
    ) -> DeliveryServer:
        """Start it on the spool at this path, and with it the delivery of what is there.

        Args:
            settings: how it is set.
            spool: an SQLite database; made where there is none.
            log: a file that lines are appended to as Postfix writes them.

        Raises:
            ServerError: the spool is in use, damaged or cannot be written; certificates or name
                servers are missing.
        """

    @property
    def notices(self) -> list[str]:
        """What was found at the start that whoever runs the server has to know."""

    def submit(self, sender: str | None, recipients: list[str], text: bytes) -> int:
        """Hand over a message; its number, when all of it is on stable storage.

        Raises:
            ServerError: it was not taken over; nothing of it is kept.
            ValueError: something is no address.
        """

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to deliver; False when something is after so many seconds."""

    def progress(self) -> dict[str, int | str | None]:
        """How far it is.

        `messages` that are not finished, recipients `delivered`, `deferred` and `failed`,
        `attempts`, the last `trouble` that there was.
        """

    def delivered_s(self, message: int | None = None) -> npt.NDArray[np.float64]:
        """How long after a message was accepted its recipients had it, in seconds.

        Those of all messages where none is named; in no order. Reports of failures are no message.
        """

    def troubled(self) -> list[tuple[int, str, bool, str, str]]:
        """Whom mail did not reach so far: message, recipient, whether for good, status, reason."""

    def stop(self) -> tuple[int, int]:
        """Stop it; how many messages are left in the spool, and how many sessions were cut."""

@final
class ServeSettings:
    """How a list server is set that takes mail from other programs: a file, read and checked."""

    @staticmethod
    def parse(text: str, source: str, overrides: list[tuple[str, str]]) -> ServeSettings:
        """Read settings; arguments as of `Study.parse`.

        Raises:
            StudyError: the text or an override is nothing that such a server can be set to.
        """

    @property
    def keys(self) -> PathLike[str]:
        """The file of the keys that sign return paths."""

    @property
    def spool(self) -> PathLike[str]:
        """The file that keeps what is to be delivered."""

    @property
    def log(self) -> PathLike[str] | None:
        """The file of the log; None where it goes to standard output."""

    @property
    def lists(self) -> list[str]:
        """The lists, by their return paths."""

    @property
    def book(self) -> PathLike[str]:
        """The file that keeps the lists' bounces."""

@final
class ListServer:
    """A running list server that takes mail from other programs, on threads of its own."""

    @staticmethod
    def start(settings: ServeSettings, page: str, log: PathLike[str] | None = None) -> ListServer:
        """Open its ports, take on the rights that are set, and start.

        Args:
            settings: how it is set.
            page: the document that is shown where `live` is set.
            log: a file that lines are appended to as Postfix writes them; standard output
                without.

        Raises:
            ServerError: a port, a key, the user, the spool, the book of bounces or the log cannot
                be had.
        """

    @property
    def addresses(self) -> list[str]:
        """Where it listens, in the order of the settings."""

    @property
    def live(self) -> tuple[str, PathLike[str]] | None:
        """Where it is watched, and the file with the token to be shown there."""

    @property
    def unsubscribe(self) -> str | None:
        """Where recipients unsubscribe with one click."""

    @property
    def notices(self) -> list[str]:
        """What was found at the start that whoever runs the server has to know."""

    def reload(self) -> list[str]:
        """Read its configuration again and go by it; what is to be said about it.

        Raises:
            ServerError: it is refused; the server goes on as it was.
        """

    def is_running(self) -> bool:
        """Whether no part of it has come to an end by itself."""

    def reopen_log(self) -> None:
        """Go on with the log in a new file of the same name.

        Raises:
            ServerError: it cannot be opened; the log goes on in the old one.
        """

    def reload_keys(self) -> None:
        """Read its keys again: the last one signs from now on.

        Raises:
            ServerError: their file cannot be read, or has no keys; those from before are used on.
        """

    def stop(self) -> tuple[int, int]:
        """Stop it; how many messages are left in the spool, and how many sessions were cut."""

@final
class TestNetConfig:
    """What there is in a small internet: domains, mail servers, subscribers."""

    @staticmethod
    def parse(text: str, source: str, overrides: list[tuple[str, str]]) -> TestNetConfig:
        """Read a world.

        Args:
            text: the TOML text.
            source: the file's name, for messages.
            overrides: `(PATH, VALUE)` pairs put over the text.

        Raises:
            StudyError: the text or an override is no world.
        """

    def subscribers(self) -> list[tuple[str, str]]:
        """Everybody's address, and what can be expected of it.

        One of "fast", "slow", "deferring", "unreachable"; in an order drawn at random.
        """

    def start(self) -> TestNet:
        """Bring it to life on loopback; every address is answered when this returns.

        Raises:
            OSError: a port is taken, or there are not enough file descriptors.
        """

@final
class TestNet:
    """A small internet that runs, on a thread of its own, until it is stopped.

    Every method raises OSError after `stop`.
    """

    @property
    def resolver(self) -> str:
        """Where the name server is, `ADDRESS:PORT`."""

    @property
    def smtp_port(self) -> int:
        """The port of all mail servers."""

    @property
    def authority(self) -> str:
        """The certificate that all good certificates follow from, in PEM."""

    def accepted(self, known: int) -> list[tuple[float, str, str, str, int, int, int]]:
        """What was taken over so far, but for the first `known`.

        Each: Unix time in seconds, Message-ID, recipient, host, session, transaction.
        """

    def texts(self, known: int) -> list[bytes | None]:
        """The text of each of these, as it was given; None unless the world keeps texts."""

    def wait_for(self, accepted: int, patience_s: float) -> int:
        """Wait until so many are taken over, at most so long; how many there are then."""

    def set_names(self, up: bool) -> None:
        """Whether the name server answers from now on."""

    def set_hosts(self, up: bool) -> None:
        """Whether hosts answer from now on; when they go down, sessions are cut."""

    def stop(self) -> None:
        """Close everything."""

def bounce_book(
    path: PathLike[str],
) -> list[
    tuple[
        tuple[str, str, float, int, int | None, int | None],
        tuple[str | None, str, str, str | None],
    ]
]:
    """All whose mail came back, by list, those who are suspended first.

    Each with the list's return path, the subscriber, the score, when the last failure was heard of
    that counted, since when a probe is under way and since when delivery is suspended (seconds
    since 1970); and with the status, the reason, who runs the subscriber's host, and whose fault
    the reason is, or `None` for an operator's suspension without a status.

    Raises:
        ServerError: the book cannot be read.
    """

def erase_subscribers(path: PathLike[str], pairs: list[tuple[str, str]]) -> int:
    """Forget subscribers, each given with the list's return path.

    Returns:
        How many there were.

    Raises:
        ServerError: the book cannot be written.
        ValueError: something is no address.
    """

def exposed_file(path: PathLike[str]) -> str | None:
    """What to tell the operator where others than the owner may read or write a file."""

def mail_operate(
    spool: PathLike[str],
    operation: str,
    messages: list[int],
    lists: list[str],
    domains: list[str],
    addresses: list[str],
) -> tuple[int, int, int]:
    """Have an operation done with recipients in a spool, by the process that owns it, if one does.

    Args:
        spool: where they are.
        operation: `count`, `hold`, `release`, `delete`, `flush` or `requeue`.
        messages: only recipients of these.
        lists: only recipients of messages of lists with these return paths.
        domains: only recipients there.
        addresses: only these recipients.

    Returns:
        How many messages, how many recipients, and how many more are in a transaction.

    Raises:
        ServerError: the spool cannot be used, or the process that owns it does not answer.
        ValueError: something is no address, or there is no such operation.
    """

def mail_password(password: str) -> str:
    """The Argon2 hash of a password, as it stands in a configuration."""

def mail_queue(
    spool: PathLike[str],
) -> list[tuple[int, str | None, int, int, int, int, int, int, int | None, int]]:
    """The messages of a spool, the oldest first, whoever owns it.

    Each with its number, sender, octets, when it was accepted, its recipients that are open,
    deferred, failed and ended, when the next is tried, and how many of them are held; times in
    milliseconds since 1970.

    Raises:
        ServerError: there is no spool; it cannot be read.
    """

def mail_reload(spool: PathLike[str], config: str, text: str) -> list[str]:
    """Have the server with this spool take on this file, of this text, as its configuration.

    Returns:
        What it has to say about it.

    Raises:
        ServerError: there is no server; it refuses the configuration, and goes on as it was.
    """

def mail_shaping(spool: PathLike[str], domain: str) -> str:
    """The limits that a domain has in the server with this spool.

    Returns:
        A list in JSON, the provider's limits last; empty if there was no mail for it lately.

    Raises:
        ServerError: there is no server.
    """

def mail_spool_check(
    spool: PathLike[str], repair: bool, new: bool, now: int
) -> tuple[list[tuple[str, str]], list[PathLike[str]]]:
    """What is wrong with a spool, and with its server's register and keys, each with its remedy.

    With `repair` it is done at `now`, in seconds since 1970. With `new` a register or keys that are
    lost with their backup are made new.

    Returns:
        What was found, and where the damaged files are kept.

    Raises:
        ServerError: it cannot be read; somebody has it that is to be repaired; something is lost.
    """

def mail_waiting(
    spool: PathLike[str],
) -> list[tuple[str, int, int, int, int, int | None, tuple[int, str | None, str, str] | None]]:
    """Whom the messages of a spool wait for, by address, whoever owns it.

    Each with how many messages wait, how many of them were never refused, since when the oldest
    does, how often they were refused, when the first that was is tried again, and the last
    attempt: when, with which host, the status and the words. Times in milliseconds since 1970.

    Raises:
        ServerError: there is no spool; it cannot be read.
    """

def resume_subscribers(path: PathLike[str], pairs: list[tuple[str, str]]) -> int:
    """Serve subscribers again, each given with the list's return path.

    Returns:
        How many got no mail, or had a score.

    Raises:
        ServerError: the book cannot be written.
        ValueError: something is no address.
    """

def rotate_token_keys(path: PathLike[str], now: int) -> list[int]:
    """Add a key, made at `now` (seconds since 1970), and drop those beyond the eighth.

    Returns:
        When each was made.

    Raises:
        ServerError: the file cannot be read or replaced, or has no keys.
    """

def sign_often(domain: str, key: str, text: bytes, times: int) -> None:
    """Sign a text so many times with the DKIM key in the file `key`, to learn what that costs.

    Raises:
        ServerError: the key cannot be used, or the text cannot be signed.
    """

def suppress_subscribers(
    path: PathLike[str], rows: list[tuple[str, str, bool, int, str | None, str]]
) -> int:
    """Enter that subscribers get no mail, all or nothing.

    Each with the list's return path, the address, whether the subscriber has left (else is
    suspended), since when (seconds since 1970), the status and the reason.

    Returns:
        How many got mail before.

    Raises:
        ServerError: the book cannot be written.
        ValueError: something is no address.
    """

def token_keys(path: PathLike[str]) -> list[int]:
    """When each key in a file was made (seconds since 1970); the last one signs.

    Raises:
        ServerError: the file cannot be read, or has no keys.
    """

def unsubscribed(path: PathLike[str]) -> list[tuple[str, str, int]]:
    """Those who have unsubscribed, by list, the last one first.

    Each with the list's return path, the address, and when (seconds since 1970).

    Raises:
        ServerError: the book cannot be read.
    """

def unverified_mail(path: PathLike[str]) -> list[tuple[str, int, str, int]]:
    """Mail to return paths that is not verified, by list, the newest first.

    Each with the list's return path, the day (counted from 1970), why it is not verified
    (`no token`, `wrong`, `expired`), and how much came.

    Raises:
        ServerError: the book cannot be read.
    """

def registry() -> str:
    """Everything that a list server can be set to, as JSON, as `sojourn._core.registry` has it."""
