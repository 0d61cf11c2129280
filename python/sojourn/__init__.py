"""Find out how long work waits in networks, disk arrays and mailing lists.

    import sojourn

    run = sojourn.run("papers/pfabric/websearch-quick.toml", out="out/quick")
    run.summary(by=["scheme", "load"])
    run.plot()

`run` simulates a study, `sweep` simulates it with several values, `estimate` computes a large
fabric link by link, and `load` opens a run directory; all return a `Run`. `compare` compares two
runs, `report` writes runs as one page, `plan` finds the cheapest array that meets a target,
`reproduce` judges the claims of a paper, and `list_parts` lists what a study can contain.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what `_HOMES` says, as type checkers read it
    from sojourn._core import InputError as InputError
    from sojourn._core import StudyError as StudyError
    from sojourn._internal.errors import Interrupted as Interrupted
    from sojourn._internal.errors import MeasurementError as MeasurementError
    from sojourn._internal.errors import RunDirectoryError as RunDirectoryError
    from sojourn.analysis.precision import Precision as Precision
    from sojourn.api.handles import Run as Run
    from sojourn.api.simulate import load as load
    from sojourn.api.simulate import run as run
    from sojourn.api.simulate import sweep as sweep
    from sojourn.api.verbs import compare as compare
    from sojourn.api.verbs import estimate as estimate
    from sojourn.api.verbs import list_parts as list_parts
    from sojourn.api.verbs import plan as plan
    from sojourn.api.verbs import report as report
    from sojourn.api.verbs import reproduce as reproduce

_HOMES = {
    name: f"sojourn.{module}"
    for module, names in {
        "_core": ["InputError", "StudyError"],
        "_internal.errors": ["Interrupted", "MeasurementError", "RunDirectoryError"],
        "analysis.precision": ["Precision"],
        "api.handles": ["Run"],
        "api.simulate": ["load", "run", "sweep"],
        "api.verbs": ["compare", "estimate", "list_parts", "plan", "report", "reproduce"],
    }.items()
    for name in names
}
__all__ = list(_HOMES)


# The names are looked up when they are used: `import sojourn._core` alone stays light, so that a
# benchmark's memory is the engine's and the command starts quickly.
def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("sojourn._core").build_info()["version"]
    if name not in _HOMES:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
