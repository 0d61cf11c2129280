"""A fitted device as a study, and its predictions beside what was measured."""

from collections.abc import Sequence
from pathlib import Path

from sojourn._internal.errors import InputError, reason
from sojourn.analysis.comparison import Comparisons, compare
from sojourn.execution.studies import simulate
from sojourn.fitting import Fitted, study
from sojourn.store.run_directory import RunDirectory
from sojourn.store.stored_run import StoredRun

PREDICTED = "predicted"


def write(fitted: Fitted, measured: StoredRun, out: Path) -> Path:
    """Write the services and a study with them: the measured one, its disk the fitted one.

    Returns:
        The study.

    Raises:
        InputError: it cannot be written.
    """
    text = measured.directory.read_study()
    try:
        out.mkdir(parents=True, exist_ok=True)
        return study.write(
            out, text, fitted.service_ps, fitted.serving.servers, fitted.serving.slowdown
        )
    except OSError as error:
        raise InputError(f"cannot write there: {reason(error)}") from None


def predict(
    file: Path, measured: StoredRun, *, percentiles: Sequence[float] = (), command: str
) -> Comparisons:
    """Simulate a fitted study, and lay it beside the measurement, as `sojourn compare` does.

    Raises:
        InputError: the directory holds something else, or the study is not as it was written.
    """
    directory = RunDirectory(file.parent / PREDICTED)
    simulate(study.read(file), directory, jobs=None, command=command)
    predicted = StoredRun.open(directory.path)
    return compare(measured, predicted, metrics=["sojourn_ps"], percentiles=percentiles)
