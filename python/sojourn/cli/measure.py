"""`sojourn measure`: the real thing, into the same rows."""

import shlex
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sojourn.cli import log_options, options, output

if TYPE_CHECKING:
    from sojourn._core import Study
    from sojourn.store.run_directory import RunDirectory
    from sojourn.store.stored_run import StoredRun


@click.group(cls=output.Commands, short_help="Measure a real system, with the same rows as a run.")
def measure() -> None:
    """Measure a real system the way it is simulated: the same study, the same rows."""


def _of_a_study(command: Callable[..., None]) -> Callable[..., None]:
    """Options that every measurement has."""
    for option in (
        options.out("Run directory.  [default: out/STUDY's name-measured]"),
        options.trust_code,
        options.replications,
        options.seed,
        options.settings("Put a value over the study's."),
    ):
        command = option(command)
    return command


def _parsed(
    study: Path, settings: tuple[str, ...], seed: int | None, replications: int | None
) -> "Study":
    from sojourn.execution import studies

    pairs = [options.pair(setting) for setting in settings]
    text = studies.read(study)
    return studies.parse(
        text, studies.source_of(study), pairs, seed=seed, replications=replications
    )


def _directory(study: Path, out: Path | None) -> "RunDirectory":
    from sojourn.execution import studies
    from sojourn.store.run_directory import RunDirectory

    return RunDirectory(out or Path("out", f"{studies.name_of(study)}-measured"))


def _said(
    directory: "RunDirectory",
    ran: int,
    *,
    as_json: bool,
    more: Callable[["StoredRun"], dict[str, object]] = lambda _: {},
) -> "StoredRun | None":
    """Print what was measured; the run, for what else there is to say of it to people.

    `more` is what its document has beside that.
    """
    from sojourn.store.stored_run import StoredRun

    done = StoredRun.open(directory.path)
    if as_json:
        output.document({**done.to_dict(), **more(done)})
        return None
    before = "" if ran else ", all measured before"
    click.echo(f"{done.title}: {done.ledger.size()} in {done.path}{before}")
    return done


@measure.command()
@options.study
@_of_a_study
@click.option(
    "--kernel",
    "switches",
    metavar="NAME=VALUE",
    multiple=True,
    help="Put a switch of the kernel's TCP over what the study asks for: probes, rack, f_rto,"
    " timestamps or sack = on or off; control = one that the kernel has.",
)
@output.quiet
@output.as_json
@click.pass_context
def fabric(
    context: click.Context,
    *,
    study: Path,
    settings: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    out: Path | None,
    switches: tuple[str, ...],
    as_json: bool,
) -> None:
    """Measure a STUDY of one switch with this kernel's own TCP. Needs Linux, root and iproute2.

    \b
    Example:
      sojourn measure fabric study.toml --replications 5 --out out/kernel
    """
    from sojourn.analysis.cautions import disturbed
    from sojourn.analysis.spread import spreads
    from sojourn.measurement.fabric import measure as measure_study

    parsed = _parsed(study, settings, seed, replications)
    directory = _directory(study, out)
    ran = measure_study(
        parsed, str(study), directory, command=output.command(context), switches=switches
    )
    done = _said(directory, ran, as_json=as_json, more=lambda run: {"spread": [*spreads(run)]})
    if done is None:
        return
    for line in (*spreads(done), *disturbed(done.ledger)):
        click.echo(str(line))
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")


@measure.command(short_help="Measure an array: files or block devices.")
@click.argument("targets", nargs=-1, required=True, type=options.PATH)
@options.study
@_of_a_study
@click.option("--create", metavar="SIZE", help="Create the TARGETs as files of this size.")
@click.option(
    "--destroy-data", is_flag=True, help="Allow a study with writes to overwrite a TARGET."
)
@click.option(
    "--children",
    type=click.IntRange(1, 1024),
    help="Processes that issue accesses, each waiting for its own.  [default: 32]",
)
@output.quiet
@output.as_json
@click.pass_context
def array(
    context: click.Context,
    *,
    targets: tuple[Path, ...],
    study: Path,
    settings: tuple[str, ...],
    seed: int | None,
    replications: int | None,
    out: Path | None,
    create: str | None,
    destroy_data: bool,
    children: int | None,
    as_json: bool,
) -> None:
    """Measure a STUDY of an array on TARGETs: files or block devices, one per disk.

    Needs fio. The requests and their times are those that `sojourn run` simulates. Closed loops
    are fio's own, with the same depth and the same distributions.

    \b
    Example:
      sojourn measure array disk.img study.toml --create 2GiB --out out/disk
    """
    from sojourn.measurement import array as measuring
    from sojourn.measurement import target

    parsed = _parsed(study, settings, seed, replications)
    measuring.check(parsed, str(study), len(targets))
    writes, may_be_lost = measuring.writes(parsed), destroy_data or create is not None
    directory = _directory(study, out)
    with ExitStack() as made:
        if create is not None:
            size = options.size("--create", create)
            measuring.check_sizes(parsed, str(study), dict.fromkeys(targets, size))
            made.enter_context(target.created(targets, size, partial(click.echo, err=True)))
        found = [target.find(path, writes=writes, destroy_data=may_be_lost) for path in targets]
        ran = measuring.measure(
            parsed,
            str(study),
            found,
            directory,
            children=children or measuring.CHILDREN,
            command=output.command(context),
        )
    done = _said(directory, ran, as_json=as_json)
    if done is None:
        return
    for line in measuring.warnings(found, done):
        click.echo(line)
    click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")


@measure.command(short_help="Turn the log of a mail server into a run.")
@log_options.reads
@options.study
@options.out("Run directory.  [default: out/STUDY's name-measured]")
@output.quiet
@output.as_json
@click.pass_context
def mail(
    context: click.Context, /, *, study: Path, out: Path | None, as_json: bool, **asked: Any
) -> None:
    """Turn the LOG... of a mail server into a run of a STUDY, as if it had been simulated.

    STUDY is a study of mail with one case, such as `sojourn mail plan` writes. The server may be
    any whose logs `sojourn mail stats` reads.

    \b
    Example:
      sojourn measure mail mail.log plan/study.toml --out out/measured
    """
    from sojourn.measurement.mail import measure as measure_study

    parsed = _parsed(study, (), None, 1)
    directory = _directory(study, out)
    reading = log_options.reading(**asked)
    ran = measure_study(parsed, str(study), reading, directory, command=output.command(context))
    if done := _said(directory, ran, as_json=as_json):
        click.echo(f"next: sojourn show {shlex.quote(str(done.path))}")
