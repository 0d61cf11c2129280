"""Code of a run directory that belongs to another user: it is run only after a decision.

People take a run directory for data, and repeat one that a colleague made. So its code is not even
compiled before it is allowed, as Git does not run hooks of a repository that another user owns. It
is the owner of the file that counts: who else may write to it is a matter of file systems, some of
which know no such thing.
"""

import hashlib
import os
import pwd
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeAlias

from sojourn._internal.errors import InputError, one_line

_STUDY = "study.toml"
_BESIDE = ("meta.json", "code")  # one of which a run has beside its study


@dataclass(frozen=True)
class Code:
    """Code of a run directory that belongs to another user."""

    file: Path
    owner: str
    sha256: str

    def words(self) -> str:
        """What there is to say of it before it is run."""
        return f"is code of a run and belongs to {self.owner} (SHA-256 {self.sha256})"


Answer: TypeAlias = Callable[[Code], bool]


@dataclass(frozen=True)
class _Decisions:
    answer: Answer
    known: dict[str, bool] = field(default_factory=dict)

    def allow(self, code: Code) -> bool:
        """Whether code may run; the same code is asked for once."""
        if code.sha256 not in self.known:
            self.known[code.sha256] = self.answer(code)
        return self.known[code.sha256]


def never(_code: Code) -> bool:
    """The answer of a program that was not asked."""
    return False


def always(_code: Code) -> bool:
    """The answer where the user has decided."""
    return True


_decisions: ContextVar[_Decisions | None] = ContextVar("decisions", default=None)


@contextmanager
def answering(answer: Answer) -> Iterator[None]:
    """Have `answer` decide, within this block, what code of other users may run."""
    before = _decisions.set(_Decisions(answer))
    try:
        yield
    finally:
        _decisions.reset(before)


def expect_trusted(path: Path, opened: BinaryIO, data: bytes) -> None:
    """Refuse code that is about to be run, if it is of another user's run and was not allowed.

    Args:
        path: where it was found.
        opened: the file of which `data` was read, so that no other can be put in its place.
        data: the code.

    Raises:
        InputError: it may not run.
    """
    owner = os.fstat(opened.fileno()).st_uid
    if owner == os.geteuid() or not _in_a_run(path):
        return
    code = Code(path, _name(owner), hashlib.sha256(data).hexdigest())
    decisions = _decisions.get()
    if decisions is None or not decisions.allow(code):
        option = "--trust-code (in Python trust_code=True)"
        text = f"{path} {code.words()}: read it, and allow it by {option}"
        raise InputError(one_line(text))


def _in_a_run(path: Path) -> bool:
    """Whether a file lies below a run directory, by the way that leads there or in the end."""
    folders = {*path.absolute().parents, *path.resolve().parents}
    return any(
        (folder / _STUDY).exists() and any((folder / name).exists() for name in _BESIDE)
        for folder in folders
    )


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:  # of another machine, or gone
        return f"user {user}"
