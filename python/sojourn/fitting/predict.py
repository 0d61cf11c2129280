"""A fitted device as a study, and its predictions beside what was measured."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sojourn._internal.errors import InputError, reason
from sojourn.analysis.comparison import Comparisons, compare
from sojourn.execution.studies import simulate
from sojourn.fitting import Fitted, study
from sojourn.store.ledger import Ledger
from sojourn.store.run_directory import RunDirectory
from sojourn.store.service_list import SERVICES
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
            out,
            text,
            fitted.service_ps,
            fitted.serving.servers,
            fitted.serving.slowdown,
            learnt=fitted.range,
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
    simulate(study.read(file), directory, command=command)
    predicted = StoredRun.open(directory.path)
    return compare(
        _as_measured(measured), predicted, metrics=["sojourn_ps"], percentiles=percentiles
    )


def _as_measured(run: StoredRun) -> StoredRun:
    """A run whose rows are what a device did: of one that was simulated, the list is the device."""
    records = (
        replace(record, figures={k: v for k, v in record.figures.items() if k != SERVICES})
        for record in run.ledger
    )
    return replace(run, ledger=Ledger(records))
