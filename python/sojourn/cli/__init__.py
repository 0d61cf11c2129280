"""The command `sojourn`: its words, its one error boundary, its exit codes."""

import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from sojourn._internal import trust
from sojourn._internal.errors import INTERRUPTED, Hint, InputError, did_you_mean, one_line, reason
from sojourn.cli import (
    array,
    bench,
    compare,
    completion,
    doctor,
    estimate,
    init,
    listing,
    mail,
    measure,
    plot,
    report,
    reproduce,
    run,
    schema,
    show,
)
from sojourn.cli.output import DONE, FAILED, PIPE_CLOSED, REFUSED, Commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every expected failure is one line on standard error.

    Returns:
        0 done, 1 a check did not hold, 2 bad input, 130 stopped by Ctrl-C or SIGTERM.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    if completion.complete(commands):
        return DONE
    # a batch system that ends a run should lose as little as someone at a terminal
    terminate = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _refuse_bytes(given)
        with (
            _hints(),
            trust.answering(_ask),
            commands.make_context("sojourn", given.copy(), obj=given) as context,
        ):
            commands.invoke(context)
            sys.stdout.flush()
    except (
        click.Abort, click.exceptions.Exit, click.UsageError, KeyboardInterrupt, OSError, ValueError
    ) as end:  # fmt: skip
        code, message = _ending(end)
        for note in getattr(end, "__notes__", ()):
            click.echo(note, err=True)
        for line in message.splitlines():
            click.echo(f"sojourn: {one_line(line)}", err=True)
        return code
    finally:
        signal.signal(signal.SIGTERM, terminate)
    return DONE


@contextmanager
def _hints() -> Iterator[None]:
    """Say each hint once, in a line; other warnings, which are a developer's, as Python does."""
    show, said = warnings.showwarning, set[str]()

    def say(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, Hint):
            if str(message) not in said:
                click.echo(f"sojourn: {message}", err=True)
            said.add(str(message))
        else:
            show(message, category, *where, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", Hint)
        warnings.showwarning = say
        yield


def _ask(code: trust.Code) -> bool:
    """Ask at a terminal whether code of another user may run; elsewhere it may not."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return False
    try:
        return click.confirm(f"{code.file} {code.words()}\nRun it?", err=True)
    except click.Abort:  # on its way through the compiled half it would become a refused value
        return False


def _prepare_streams() -> None:
    """What is closed leads nowhere; what standard output cannot encode becomes a question mark."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _refuse_bytes(arguments: Sequence[str]) -> None:
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise InputError(f"argument {argument!r} is not UTF-8 text")


def _ending(error: BaseException) -> tuple[int, str]:
    """Exit code and message of an expected end; anything else is a bug and goes on its way."""
    code, message = REFUSED, str(error)
    match error:
        case click.exceptions.Exit():
            code, message = error.exit_code, ""
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message())
            code, message = DONE, ""
        case click.UsageError():
            message = _usage(error)
        case KeyboardInterrupt() | click.Abort():
            code, message = INTERRUPTED, message or "interrupted"
        case BrokenPipeError():  # the reader has seen enough; what is left goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code, message = PIPE_CLOSED, ""
        case OSError():
            message = reason(error)
        case InputError():
            pass
        case _:
            raise error
    return code, message


def _usage(error: click.UsageError) -> str:
    """Click's message, with the nearest valid option in our words."""
    where = error.ctx.command_path.removeprefix("sojourn").strip() if error.ctx else ""
    if isinstance(error, click.NoSuchOption):
        options = _options(error.ctx.command) if error.ctx else []
        said = f"no option {error.option_name}{did_you_mean(error.option_name, options)}"
    else:
        said = error.format_message()
    return f"{where}: {said}" if where else said


def _options(of: click.Command) -> list[str]:
    return [name for p in of.params if isinstance(p, click.Option) for name in p.opts]


def _version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        from sojourn._internal import build

        click.echo(f"sojourn {build.described()}")
        context.exit()


_EXIT_CODES = (
    f"Exit codes: {DONE} done; {FAILED} done, and a check did not hold; {REFUSED} bad input, or a"
    f" failure that is reported in one line; {INTERRUPTED} stopped by Ctrl-C or SIGTERM, and can"
    " be continued.\n\nHandbook: docs/index.md in the repository; `make docs` builds its web pages."
)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show version, commit and build, and exit.",
)
def commands() -> None:
    """Find out how long work waits in networks, disk arrays and mailing lists.

    Simulate a system, measure the real one, and compare the two.

    \b
    Examples:
      sojourn init array mine
      sojourn run mine.toml
      sojourn show out/mine
    """


commands.add_section("Start", [init.init, listing.list_, schema.schema])
commands.add_section("Run a study", [run.run, estimate.estimate, measure.measure])
commands.add_section("Results", [show.show, plot.plot, compare.compare, report.report])
commands.add_section("One system or paper", [array.array, mail.mail, reproduce.reproduce])
commands.add_section("This installation", [doctor.doctor, bench.bench, completion.completion])
