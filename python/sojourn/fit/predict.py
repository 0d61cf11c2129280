"""A fitted device as a study, and its predictions beside what was measured."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from sojourn._core import Study
from sojourn.compare import Comparisons, compare
from sojourn.errors import InputError, reason
from sojourn.files import write_text
from sojourn.fit import Fitted
from sojourn.rundir import RunDirectory
from sojourn.runs import Run
from sojourn.studies import simulate

SERVICES, STUDY, PREDICTED = "service.csv", "fitted.toml", "predicted"


def write(fitted: Fitted, measured: Run, out: Path) -> Path:
    """Write the services and a study with them: the measured one, its disk the fitted one.

    Returns:
        The study.

    Raises:
        InputError: it cannot be written.
    """
    lines = ["op,service"]
    for op, services in fitted.service_ps.items():
        lines += [f"{op},{int(service)}ps" for service in services]
    study = tomllib.loads(measured.directory.read_study())
    disk = {"kind": "empirical", "file": SERVICES, "servers": fitted.servers}
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / SERVICES, "".join(f"{line}\n" for line in lines))
        write_text(out / STUDY, _toml({**study, "disk": disk}))
    except OSError as error:
        raise InputError(f"cannot write there: {reason(error)}") from None
    return out / STUDY


def predict(
    study: Path, measured: Run, *, percentiles: Sequence[float] = (), command: str
) -> Comparisons:
    """Simulate a fitted study, and lay it beside all rows of the measurement: it learnt from all.

    Raises:
        InputError: the directory holds something else, or the study is not as it was written.
    """
    text = study.read_text(encoding="utf-8")
    parsed = Study.parse(text, str(study), [])
    directory = RunDirectory(study.parent / PREDICTED)
    simulate(parsed, directory, jobs=None, command=command)
    predicted = Run.open(directory.path)
    return compare(
        measured, predicted, metrics=["sojourn_ps"], percentiles=percentiles, warmup=False
    )


def _toml(study: dict[str, object]) -> str:
    """A study as TOML, a line a part: JSON's values are TOML's, tables but for their colons."""

    def value(of: object) -> str:
        if isinstance(of, dict):
            return "{ " + ", ".join(f"{key} = {value(inner)}" for key, inner in of.items()) + " }"
        if isinstance(of, list):
            return "[" + ", ".join(map(value, of)) + "]"
        return json.dumps(of, ensure_ascii=False)

    return "".join(f"{key} = {value(part)}\n" for key, part in study.items())
