"""Options and arguments of several commands, and readers of their values.

Each command is a file of this package and imports what it needs when it is called, so that
`sojourn --help` stays quick.
"""

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from sojourn._internal import trust
from sojourn._internal.errors import InputError, did_you_mean

_Command = TypeVar("_Command", bound=Callable[..., object] | click.Command)

_NOTHING = "expected a path, not nothing"


class _File(click.Path):
    """A path; no text at all would mean the present folder."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """As click does, or a refusal."""
        if value == "":
            self.fail(_NOTHING, param, ctx)
        return super().convert(value, param, ctx)


PATH = _File(path_type=Path)
PATH_OR_DASH = _File(path_type=Path, allow_dash=True)


class Time(click.ParamType[float]):
    """A time as studies write it, `10ms`, in seconds; between two."""

    name = "time"

    def __init__(self, least: str, most: str) -> None:
        self._least, self._most = least, most

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """In seconds, or a refusal."""
        from sojourn._internal.units import PS_PER_S, picoseconds

        least, most = (picoseconds(end, self.name) for end in (self._least, self._most))
        try:
            found = picoseconds(value, self.name)
        except InputError:
            found = -1
        if not least <= found <= most:
            self.fail(f"{value!r}: expected a time from {self._least} to {self._most}", param, ctx)
        return found / PS_PER_S


def starting(incomplete: str, names: Iterable[str]) -> list[CompletionItem]:
    """Completions for a shell: the names that start with what is typed."""
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _argument(context: click.Context, name: str) -> str | None:
    """An argument that is typed already; click leaves it aside where an option lacks its value."""
    given = context.params.get(name) or next(iter(context.args), None)
    return None if given is None else str(given)


def _complete_path(
    context: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The dotted paths of the STUDY's parameters, such as `workload.load=`."""
    study_file = _argument(context, "study")
    if study_file is None:
        return []
    from sojourn.execution import studies

    try:
        parsed = studies.parse(*_text(study_file), [], seed=None, replications=None)
        resolved = tomllib.loads(parsed.resolved())
    except (InputError, OSError, ValueError):
        return []
    return starting(incomplete, [f"{path}=" for path in _paths(resolved)])


def _text(study_file: str) -> tuple[str, str]:
    from sojourn.execution import studies

    path = studies.find(study_file)
    return studies.read(path), studies.source_of(path)


def _paths(table: Mapping[str, object], above: str = "") -> Iterator[str]:
    """The dotted paths of all values of a table; `[sweep]` names the same parameters again."""
    for key, value in table.items():
        if isinstance(value, dict):
            if key != "sweep":
                yield from _paths(value, f"{above}{key}.")
        else:
            yield above + key


def settings(words: str) -> Callable[[_Command], _Command]:
    """The option that overrides values of a file, in a command's words."""
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="PATH=VALUE",
        help=words,
        shell_complete=_complete_path,
    )


def complete_columns(
    context: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The columns of a RUN by which a table can be grouped; the last of several is completed."""
    run = _argument(context, "run")
    if run is None:
        return []
    from sojourn.store.stored_run import StoredRun

    try:
        ledger = StoredRun.open(Path(run)).ledger
    except (InputError, OSError):
        return []
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(before + comma + it.value) for it in starting(last, ledger.axes())]


def out(
    words: str, name: str = "out", default: Path | None = None
) -> Callable[[_Command], _Command]:
    """The option that says where to write, in a command's words; with its argument's name."""
    shown = default is not None
    return click.option(
        "-o", "--out", name, type=PATH, default=default, show_default=shown, help=words
    )


seed = click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), help="Seed, instead of the study's."
)
replications = click.option(
    "--replications", type=click.IntRange(min=1), help="Replications, instead of the study's."
)

_SPOOL = Path("out", "mail", "spool")
spool = click.option(
    "--spool",
    type=PATH,
    default=_SPOOL,
    show_default=True,
    help="Database of undelivered mail.",
)
config = click.argument("config", required=False, type=PATH)
config_option = click.option(
    "--config",
    "config",
    type=PATH,
    help="Configuration of a server, which names its spool.",
)
config_spool = click.option(
    "--spool",
    type=PATH,
    help=f"Spool, instead of a CONFIG that names one.  [default: {_SPOOL}]",
)
"""What the verbs take that are about a spool: the CONFIG of its server, or its own path. CONFIG is
an option where a verb has other arguments."""


def spool_of(config: Path | None, spool: Path | None) -> Path:
    """The spool that is meant: of the server whose configuration is given, or itself.

    Raises:
        InputError: both are given, or the configuration cannot be read.
        StudyError: the configuration has what no server can be set to.
    """
    if config is None:
        return spool or _SPOOL
    if spool is not None:
        raise InputError("CONFIG and --spool: expected one of them; CONFIG names its spool")
    from sojourn.mail import serving

    return Path(serving.settings(config, []).spool)


def _left_out(_context: click.Context, _option: click.Parameter, given: str | None) -> bool | str:
    return given != "none" and (True if given is None else given)


warmup = click.option(
    "--warmup",
    metavar="TIME",
    callback=_left_out,
    help="Leave out this time at the start, or none.  [default: the first 5 % of the jobs]",
)
"""The argument is a time, True for the first 5 % of the jobs, or False."""


def _trust(context: click.Context, _option: click.Parameter, given: bool) -> None:
    if given:
        context.with_resource(trust.answering(trust.always))


trust_code = click.option(
    "--trust-code",
    is_flag=True,
    expose_value=False,
    callback=_trust,
    help="Run Python code from another user's run directory without asking.",
)


asked_percentiles = click.option(
    "--percentiles",
    metavar="50,90,99",
    help="Percentiles to show.  [default: the usual ones for such jobs]",
)
"""As text, for `percentiles`."""


class OneOf(click.Choice[str]):
    """A choice that names the nearest valid value."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """As click does, or a refusal that names the nearest value."""
        if value not in self.choices:
            self.fail(
                f"{value!r} is not one of them{did_you_mean(value, self.choices)}", param, ctx
            )
        return value


def _located(context: click.Context, argument: click.Parameter, given: str) -> Path:
    if not given:
        raise click.BadParameter(_NOTHING, context, argument)
    from sojourn.execution import studies

    return studies.find(given)


def _completed(
    _context: click.Context, _argument: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of bundled studies after `@`, files otherwise."""
    if not incomplete.startswith("@"):
        return [CompletionItem(incomplete, type="file")]
    from sojourn.execution import studies

    return starting(incomplete, studies.bundled())


study = click.argument("study", callback=_located, shell_complete=_completed)
"""The path of a study: `@PAPER/NAME` is one that comes with sojourn, `-` standard input."""
study_or_none = click.argument(
    "study",
    metavar="STUDY",
    required=False,
    callback=lambda context, argument, given: (
        None if given is None else _located(context, argument, given)
    ),
    shell_complete=_completed,
)
"""The same for a command that can do without one."""


def pair(setting: str) -> tuple[str, str]:
    """What `--set` was given, as path and value.

    Raises:
        InputError: it is no `PATH=VALUE`.
    """
    path, equals, value = setting.partition("=")
    if not (equals and path.strip()):
        raise InputError(f"--set {setting!r}: expected PATH=VALUE")
    return path.strip(), value.strip()


def names(given: str | None) -> list[str] | None:
    """The names of a list with commas; None where nothing was given."""
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def percentiles(given: str | None) -> list[float] | None:
    """The numbers of a list with commas; None where nothing was given.

    Raises:
        InputError: something in it is no number.
    """
    if given is None:
        return None
    try:
        return [float(name) for name in given.split(",")]
    except ValueError:
        raise InputError(f"--percentiles {given!r}: expected numbers like 50,90,99") from None


def size(option: str, given: str) -> int:
    """The bytes of a size such as `1GiB`.

    Raises:
        InputError: it is none, or zero.
    """
    return _quantity(option, given, "B", "a size such as 1GiB")


def rate(option: str, given: str) -> int:
    """The bits a second of a rate such as `1Gbps`.

    Raises:
        InputError: it is none, or zero.
    """
    return _quantity(option, given, "bps", "a rate such as 100Mbps")


def _quantity(option: str, given: str, unit: str, expected: str) -> int:
    from sojourn._core import quantity

    try:
        found = quantity(given.strip()) if given.strip().endswith(unit) else 0
    except ValueError:
        found = 0
    if not found:
        raise InputError(f"{option} {given!r}: expected {expected}")
    return found
