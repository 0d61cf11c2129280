"""From a study's text to a finished run directory."""

import platform
from collections.abc import Sequence
from pathlib import Path

from sojourn._core import Study, build_info
from sojourn.errors import InputError, reason
from sojourn.execute import execute, processors
from sojourn.progress import reporter
from sojourn.rundir import RunDirectory


def read(path: Path) -> str:
    """The text of a study file.

    Raises:
        InputError: it cannot be read, or is not text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read the study: {reason(error)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from None


def parse(
    text: str,
    source: str,
    overrides: Sequence[tuple[str, str]],
    *,
    seed: int | None,
    replications: int | None,
) -> Study:
    """Check a study; `seed` and `replications` go before its own and before the overrides.

    Raises:
        SpecError: it cannot be run as written.
    """
    given = {"run.seed": seed, "run.replications": replications}
    more = [(path, str(value)) for path, value in given.items() if value is not None]
    return Study.parse(text, source, [*overrides, *more])


def simulate(study: Study, directory: RunDirectory, *, jobs: int | None, command: str) -> None:
    """Run what the directory does not hold of a study yet, with progress on a terminal.

    Raises:
        InputError: the directory cannot be written or holds something else.
        SpecError: a case turned out to be impossible.
        Interrupted: Ctrl-C; finished cases are kept.
    """
    build = build_info()
    meta = {
        "version": build["version"],
        "commit": build.get("commit"),
        "seed": study.seed,
        "command": command,
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "processors": processors(),
            "python": platform.python_version(),
        },
    }
    with directory.writing(study.resolved(), meta), reporter() as observer:
        execute(study, directory, jobs=jobs, observer=observer)


def _processor() -> str:
    """The processor's name where the system tells it, its architecture elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
