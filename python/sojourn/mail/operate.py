"""What an operator does with recipients that wait in a spool."""

from dataclasses import asdict, dataclass
from pathlib import Path

from sojourn._internal.errors import InputError, did_you_mean
from sojourn._internal.units import count
from sojourn._mail import mail_operate


@dataclass(frozen=True, slots=True)
class Selected:
    """Which recipients are meant: one of each kind that is given has to fit."""

    messages: list[int]
    lists: list[str]
    domains: list[str]
    addresses: list[str]

    @property
    def is_all(self) -> bool:
        """Whether nothing is asked of them."""
        return not (self.messages or self.lists or self.domains or self.addresses)


@dataclass(frozen=True, slots=True)
class Counts:
    """To how many an operation applied; `under_way` recipients more are in a transaction."""

    messages: int
    recipients: int
    under_way: int

    @property
    def nothing(self) -> bool:
        """Whether no recipient was meant."""
        return not (self.recipients or self.under_way)

    def to_dict(self) -> dict[str, int]:
        """For `--json`."""
        return asdict(self)

    def words(self) -> str:
        """How many recipients of how many messages."""
        return f"{count(self.recipients, 'recipient')} of {count(self.messages, 'message')}"

    def notes(self, verb: str) -> list[str]:
        """Notes about recipients in a transaction."""
        if not self.under_way:
            return []
        then = {"hold": "; what is not delivered is held then", "delete": "; or is deleted then"}
        what = "is" if self.under_way == 1 else "are"
        more = f"{self.under_way:,} more {what} in a transaction, which ends as it ends"
        return [more + then.get(verb, "")]


def select(
    spool: Path,
    mailings: tuple[str, ...],
    lists: tuple[str, ...],
    domains: tuple[str, ...],
    addresses: tuple[str, ...],
) -> Selected:
    """The recipients that are meant.

    Raises:
        InputError: there is no spool, or not such a message in it.
    """
    messages = [_message(spool, mailing) for mailing in mailings]
    return Selected(messages, list(lists), list(domains), list(addresses))


def operate(spool: Path, operation: str, selected: Selected) -> Counts:
    """Have it done by the process that owns the spool, or do it where none does.

    Raises:
        InputError: there is no spool, it cannot be used, its owner does not answer, or something
            is no address.
    """
    if not spool.exists():
        raise InputError(f"{spool}: no spool there")
    it = selected
    found = mail_operate(spool, operation, it.messages, it.lists, it.domains, it.addresses)
    return Counts(*found)


def _message(spool: Path, given: str) -> int:
    """The number of a message: as the log has it, ten hexadecimal digits, or as `--json` does."""
    from sojourn.mail import spools

    known = {queued.message: f"{queued.message:010X}" for queued in spools.queue(spool)}
    for number, name in known.items():
        if given.upper() == name or given == str(number):
            return number
    raise InputError(f"--mailing {given!r}: no such message{did_you_mean(given, known.values())}")
