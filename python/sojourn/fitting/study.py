"""A measured study with a learnt device in place of its disk."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from sojourn._core import Study
from sojourn._internal.files import write_text
from sojourn._internal.formats import toml_lines
from sojourn.analysis.statistics import Values
from sojourn.execution import inputs
from sojourn.store.service_list import Range

SERVICES, STUDY = "service.csv", "fitted.toml"

# How a disk with platters positions, and in which order: a learnt one has neither.
_OF_A_HARD_DISK = ("positioning", "scheduling")


def write(
    out: Path,
    measured: str,
    service_ps: Mapping[str, Values],
    servers: int,
    slowdown: float = 0.0,
    *,
    learnt: Range | None = None,
) -> Path:
    """Write the services and a study with them: the measured one, its disk the learnt one.

    Args:
        out: an existing directory.
        measured: the measured study as TOML.
        service_ps: services of reads, of writes.
        servers: how many accesses the device serves at once.
        slowdown: by which share each other one makes one longer.
        learnt: what the services were learnt from, for the list to say.

    Returns:
        The study.
    """
    lines = [*(learnt.lines() if learnt else []), "op,service"]
    for op, services in service_ps.items():
        lines += [f"{op},{int(service)}ps" for service in services]
    write_text(out / SERVICES, "".join(f"{line}\n" for line in lines))
    disk = {"kind": "empirical", "file": SERVICES, "servers": servers, "slowdown": slowdown}
    study = {**tomllib.loads(measured), "disk": disk}
    for table in _OF_A_HARD_DISK:
        study.pop(table, None)
    write_text(out / STUDY, toml_lines(study))
    return out / STUDY


def read(file: Path, **disk: float) -> Study:
    """A study that was written; numbers of its disk by name, where they are to be others."""
    text = file.read_text(encoding="utf-8")
    return inputs.parse(
        Study, text, str(file), [(f"disk.{name}", str(of)) for name, of in disk.items()]
    )
