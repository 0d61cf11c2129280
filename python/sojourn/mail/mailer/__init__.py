"""How mailers are set: their files as a policy of the model, and a policy in their own words."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sojourn._internal.errors import InputError
from sojourn._internal.files import read_text
from sojourn.mail.mailer import exim, postfix, sendmail
from sojourn.mail.mailer.effects import Advice
from sojourn.mail.mailer.setting import Server, get

__all__ = ["Advice", "Server", "get", "names", "of", "with_defaults"]

_SERVERS: Mapping[str, Callable[[Sequence[Path]], Server]] = {
    postfix.NAME: postfix.server,
    sendmail.NAME: sendmail.server,
    exim.NAME: exim.server,
}
# What a folder of settings has, the first that is there.
_FILES = (
    ("main.cf", "master.cf"),
    ("sendmail.mc",),
    ("sendmail.cf",),
    ("exim4.conf",),
    ("exim.conf",),
    ("exim4.conf.template",),
)


def of(named: Sequence[str]) -> Server:
    """The mailer that files or folders set, or that is named and has its defaults.

    Args:
        named: files or folders of one mailer, told apart by what is in them; or its name.

    Raises:
        InputError: one cannot be read, is of no mailer that is known, or of another one.
    """
    if len(named) == 1 and named[0] in _SERVERS and not Path(named[0]).exists():
        return with_defaults(named[0])
    paths = [path for name in named for path in _paths(Path(name))]
    kinds = {path: _kind(path) for path in paths}
    first = kinds[paths[0]]
    for path, kind in kinds.items():
        if kind != first:
            raise InputError(f"--mailer {path}: of {kind}, expected {first} as in {paths[0]}")
    return _SERVERS[first](paths)


def names() -> list[str]:
    """The mailers that are known."""
    return [*_SERVERS]


def with_defaults(name: str) -> Server:
    """A mailer that is known, with its defaults."""
    return _SERVERS[name](())


def _paths(path: Path) -> list[Path]:
    if not path.exists():
        expected = f"expected a folder, files, or one of {', '.join(_SERVERS)} alone"
        raise InputError(f"--mailer {path}: no such file; {expected}")
    if not path.is_dir():
        return [path]
    for names in _FILES:
        if there := [path / name for name in names if (path / name).is_file()]:
            return there
    known = ", ".join(name for group in _FILES for name in group)
    raise InputError(f"--mailer {path}: none of {known} is in this folder")


def _kind(path: Path) -> str:
    text = read_text(path, "settings of a mailer")
    if sendmail.is_its(text):
        return sendmail.NAME
    if exim.is_its(text):
        return exim.NAME
    if postfix.is_its(text):
        return postfix.NAME
    raise InputError(
        f"--mailer {path}: expected settings of Postfix (main.cf, master.cf, postconf -n),"
        " sendmail (sendmail.cf, sendmail.mc) or Exim (exim.conf)"
    )
