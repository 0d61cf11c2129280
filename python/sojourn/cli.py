"""The command `sojourn`: its words, its one error boundary, its exit codes."""

import os
import shlex
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

import click

from sojourn.errors import InputError, did_you_mean, one_line, reason

# Each command imports what it needs when it is called: `sojourn --help` stays quick.

DONE, FAILED, REFUSED, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


class _Commands(click.Group):
    """A group that names the nearest command where there is none of that name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None:
            raise click.UsageError(f"no command {name!r}{did_you_mean(name, self.commands)}", ctx)
        return super().resolve_command(ctx, args)


class _OneOf(click.Choice[str]):
    """A choice that names the nearest valid value."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.choices:
            self.fail(
                f"{value!r} is not one of them{did_you_mean(value, self.choices)}", param, ctx
            )
        return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every expected failure is one line on standard error.

    Returns:
        0 done, 1 a check did not hold, 2 bad input, 130 stopped by Ctrl-C or SIGTERM.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    # a batch system that ends a run should lose as little as someone at a terminal
    terminate = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _refuse_bytes(given)
        with commands.make_context("sojourn", given.copy(), obj=given) as context:
            commands.invoke(context)
            sys.stdout.flush()
    except (click.exceptions.Exit, click.UsageError, KeyboardInterrupt, OSError, ValueError) as end:
        code, message = _ending(end)
        if message:
            click.echo(f"sojourn: {one_line(message)}", err=True)
        return code
    finally:
        signal.signal(signal.SIGTERM, terminate)
    return DONE


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
    from sojourn._core import SpecError

    code, message = REFUSED, str(error)
    match error:
        case click.exceptions.Exit():
            code, message = error.exit_code, ""
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message())
            code, message = DONE, ""
        case click.UsageError():
            message = _usage(error)
        case KeyboardInterrupt():
            code, message = INTERRUPTED, message or "interrupted"
        case BrokenPipeError():  # the reader has seen enough; what is left goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code, message = PIPE_CLOSED, ""
        case OSError():
            message = reason(error)
        case InputError() | SpecError():
            pass
        case _:
            raise error
    return code, message


def _usage(error: click.UsageError) -> str:
    """Click's message, with the nearest valid option in our words."""
    where = error.ctx.command_path.removeprefix("sojourn").strip() if error.ctx else ""
    if isinstance(error, click.NoSuchOption):
        options = [name for p in error.ctx.command.params for name in p.opts] if error.ctx else []
        said = f"no option {error.option_name}{did_you_mean(error.option_name, options)}"
    else:
        said = error.format_message()
    return f"{where}: {said}" if where else said


def _version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        from sojourn._core import build_info

        click.echo(f"sojourn {build_info()['version']}")
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Say it."
)
def commands() -> None:
    """How long does work stay in a system of queues? Simulate it, measure it, compare the two."""


@commands.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option(
    "--set", "settings", multiple=True, metavar="PATH=VALUE", help="Put a value over the study's."
)
@click.option("--seed", type=int, help="In place of the study's.")
@click.option("--replications", type=int, help="In place of the study's.")
@click.option("--jobs", type=int, help="Cases at a time.  [default: one a processor]")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Run directory.  [default: out/STUDY's name]"
)
@_json
@click.pass_context
def run(
    context: click.Context,
    *,
    study: Path,
    settings: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the cases of a STUDY (a TOML file), or those of them that are not finished yet."""
    from sojourn import document, studies
    from sojourn.rundir import RunDirectory
    from sojourn.runs import Run

    pairs = [_pair(setting) for setting in settings]
    text = studies.read(study)
    parsed = studies.parse(text, str(study), pairs, seed=seed, replications=replications)
    directory = RunDirectory(out or Path("out", study.stem))
    ran = studies.simulate(parsed, directory, jobs=jobs, command=_command(context))
    done = Run.open(directory.path)
    if as_json:
        click.echo(document.dumps(done.to_dict()))
        return
    before = "" if ran else ", all finished before"
    click.echo(f"{done.title}: {done.ledger.size()} in {done.path}{before}")
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")


@commands.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--by", metavar="COLUMN,...", help="Group by these.  [default: the swept axes]")
@click.option("--percentiles", metavar="50,90,99", help="In per cent.  [default: 50,90,95,99]")
@click.option("--no-warmup", is_flag=True, help="Keep the jobs that MSER-5 takes for warm-up.")
@_json
def show(
    run: Path, by: str | None, percentiles: str | None, no_warmup: bool, as_json: bool
) -> None:
    """Show slowdown and sojourn time of a RUN directory by group and size of job."""
    from sojourn import document
    from sojourn.runs import Run
    from sojourn.show import show as print_table

    summary = Run.open(run).summary(
        by=_names(by), percentiles=_percentiles(percentiles), warmup=not no_warmup
    )
    if as_json:
        click.echo(document.dumps(summary.to_list()))
    else:
        print_table(summary)


@commands.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    "kinds",
    type=_OneOf(["fct", "cdf", "missed"]),
    multiple=True,
    help="fct: against x; cdf: at one x; missed: deadlines, against x.  [default: all there are]",
)
@click.option(
    "--x", metavar="COLUMN", help="Along the axis.  [default: the load, or the first swept number]"
)
@click.option("--by", metavar="COLUMN,...", help="One line each.  [default: the other swept axes]")
@click.option(
    "--at", metavar="VALUE", help="The x whose distributions cdf draws.  [default: the largest]"
)
@click.option("--no-warmup", is_flag=True, help="Keep the jobs that MSER-5 takes for warm-up.")
@click.option(
    "--format", "formats", type=_OneOf(["png", "svg"]), multiple=True, help="[default: png]"
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="A file, or a directory for all.  [default: RUN/plots]",
)
def plot(
    *,
    run: Path,
    kinds: tuple[str, ...],
    x: str | None,
    by: str | None,
    at: str | None,
    no_warmup: bool,
    formats: tuple[str, ...],
    out: Path | None,
) -> None:
    """Draw completion times and missed deadlines of a RUN; print the files' names."""
    from sojourn import plots
    from sojourn.runs import Run

    opened = Run.open(run)
    files = plots.targets(out or opened.path / "plots", kinds or plots.kinds(opened), formats)
    columns = _names(by)
    pictures = {
        path: plots.draw(opened, kind, x=x, by=columns, at=at, warmup=not no_warmup)
        for path, kind in files.items()
    }
    for path, picture in pictures.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.write(path)
        click.echo(path)


@commands.command()
@click.argument("paper", default="all")
@click.option("--figure", "figures", metavar="ID", multiple=True, help="Only this one.")
@click.option("--reading", metavar="NAME", help="What the text leaves open, read otherwise.")
@click.option("--full", is_flag=True, help="All flows, loads and replications: hours.")
@click.option("--so-far", is_flag=True, help="Run nothing; judge what is finished.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="[default: out/PAPER[-READING][-full]]"
)
@_json
@click.pass_context
def reproduce(
    context: click.Context,
    *,
    paper: str,
    figures: tuple[str, ...],
    reading: str | None,
    full: bool,
    so_far: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run the studies of a PAPER, draw its figures, and say which of its claims hold."""
    from dataclasses import asdict

    from sojourn import document
    from sojourn.reproduce import papers
    from sojourn.reproduce import reproduce as reproduce_one
    from sojourn.reproduce.show import show as print_claims

    found = [one.under(reading) for one in papers.find(paper)]
    chosen = [one.chosen(figures) for one in found]
    done = []
    for one, wanted in zip(found, chosen, strict=True):
        kind = [one.name, *([reading] if reading else []), *(["full"] if full else [])]
        place = out or Path("out", "-".join(kind))
        if out and paper == papers.ALL:
            place = out / one.name
        done.append(
            reproduce_one(one, wanted, place, full=full, command=_command(context), so_far=so_far)
        )
        if not as_json:
            print_claims(done[-1])
    verdicts = [verdict for reproduction in done for verdict in reproduction.verdicts]
    if as_json:
        click.echo(document.dumps([asdict(verdict) for verdict in verdicts]))
    if not all(verdict.holds for verdict in verdicts):
        context.exit(FAILED)


@commands.command(name="list")
@click.argument("topic", required=False)
@click.argument("name", required=False)
@_json
def list_(topic: str | None, name: str | None, as_json: bool) -> None:
    """List what a study can name: a TOPIC's entries, or the parameters of one NAME."""
    from sojourn import document, listing

    if topic is None:
        known = listing.topics()
        click.echo(document.dumps(known)) if as_json else listing.print_topics(known)
    elif name is None:
        entries = listing.topic(topic)
        click.echo(document.dumps(entries)) if as_json else listing.print_topic(entries)
    else:
        entry = listing.entry(topic, name)
        click.echo(document.dumps(entry)) if as_json else listing.print_entry(entry)


@commands.command()
@click.argument("room")
@click.option("--case", metavar="NAME", help="Only this benchmark.")
@click.option(
    "--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Best of so many."
)
@click.option(
    "--instructions/--no-instructions",
    default=True,
    show_default=True,
    help="Count instructions, where valgrind is installed.",
)
@_json
def bench(*, room: str, case: str | None, repeat: int, instructions: bool, as_json: bool) -> None:
    """Measure what a unit of work in a ROOM (fabric: a packet-hop) costs the processor."""
    from dataclasses import asdict

    from sojourn import bench as benchmarks
    from sojourn import document
    from sojourn.terminal import doing

    chosen = benchmarks.studies(room, case)
    with doing() as say:
        costs = [
            benchmarks.measure(room, name, study, repeat=repeat, instructions=instructions, say=say)
            for name, study in chosen.items()
        ]
    if as_json:
        click.echo(document.dumps([asdict(cost) for cost in costs]))
    else:
        benchmarks.show(costs)


def _pair(setting: str) -> tuple[str, str]:
    path, equals, value = setting.partition("=")
    if not (equals and path.strip()):
        raise InputError(f"--set {setting!r}: expected PATH=VALUE")
    return path.strip(), value.strip()


def _names(given: str | None) -> list[str] | None:
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def _percentiles(given: str | None) -> list[float] | None:
    if given is None:
        return None
    try:
        return [float(name) for name in given.split(",")]
    except ValueError:
        raise InputError(f"--percentiles {given!r}: expected numbers like 50,90,99") from None


def _command(context: click.Context) -> str:
    return shlex.join(["sojourn", *context.find_root().obj])
