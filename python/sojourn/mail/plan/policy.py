"""A list server's policy as a table: what its settings and a study's `[policy]` have in common."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from sojourn._internal.files import read_text
from sojourn._internal.formats import toml_lines

Policy: TypeAlias = dict[str, Any]

# Of settings, not of what is simulated: names, and what a world has no hosts for.
_NOT_SIMULATED = ("hello", "verp", "tls")
# What only `sojourn mail serve` is set to, and always.
_SERVES = "[[listener]]"


def given(config: Path | None) -> Policy:
    """The policy of a file of settings, as it stands there; nothing without one.

    Senders with VERP are not simulated: each recipient of theirs has a separate transaction,
    which `split = "each"` is.

    Raises:
        InputError: the file cannot be read.
        StudyError: it has what no list server can be set to.
        NotInstalledError: the list server, which checks it, is missing.
    """
    if config is None:
        return {}
    from sojourn._mail import MailSettings, ServeSettings

    text = read_text(config, "settings file")
    kind = ServeSettings if _SERVES in text else MailSettings
    kind.parse(text, str(config), [])
    mail = tomllib.loads(text).get("mail", {})
    return {key: value for key, value in mail.items() if key not in _NOT_SIMULATED}


def resolved(study: str) -> Policy:
    """The policy of a study as resolved, with every default written out."""
    policy = tomllib.loads(study)["policy"]
    return {key: value for key, value in policy.items() if key not in _NOT_SIMULATED}


def changed(policy: Policy, changes: Mapping[str, Any]) -> Policy:
    """A policy with other parts, and with other values in a part that is called `PART.NAME`."""
    new = {**policy}
    for name, value in changes.items():
        part, _, key = name.partition(".")
        new[part] = {**new.get(part, {}), key: value} if key else value
    return new


def settings(policy: Policy, config: Path | None) -> str:
    """A file of settings with this policy, and the rest as the file has it.

    It is what `sojourn mail deliver` and `sojourn mail serve` take as their `--config`; the latter
    wants further tables beside it.
    """
    there: dict[str, Any] = {}
    if config is not None:
        there = tomllib.loads(read_text(config, "settings file"))
    own = {key: value for key, value in there.get("mail", {}).items() if key in _NOT_SIMULATED}
    tables = {"mail": {**own, **policy}}
    tables |= {name: it for name, it in there.items() if isinstance(it, dict) and name != "mail"}
    rest = {name: it for name, it in there.items() if not isinstance(it, dict)}
    written = [
        toml_lines(rest),
        *(f"[{name}]\n{toml_lines(table)}" for name, table in tables.items()),
    ]
    return "# sojourn mail plan\n" + "\n".join(text for text in written if text)
