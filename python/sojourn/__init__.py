"""How long does work stay in a system of queues?

    import sojourn

    run = sojourn.run("papers/pfabric/websearch-quick.toml", out="out/quick")
    run.summary(by=["scheme", "load"])
    run.plot()

`run` simulates a study, `sweep` with other values in place of the study's, `estimate` a large
fabric link by link, and `load` opens a run directory; all give a `Run`. `compare` lays two runs
beside each other, `report` writes runs as one page, `plan` finds the cheapest array that meets a
target, `reproduce` judges the claims of a paper, and `list_parts` says what a study can name.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn._core import SpecError
    from sojourn._internal.errors import InputError, Interrupted
    from sojourn.analysis.precision import Precision
    from sojourn.api.handles import Run
    from sojourn.api.simulate import load, run, sweep
    from sojourn.api.verbs import compare, estimate, list_parts, plan, report, reproduce

__all__ = [
    "InputError",
    "Interrupted",
    "Precision",
    "Run",
    "SpecError",
    "compare",
    "estimate",
    "list_parts",
    "load",
    "plan",
    "report",
    "reproduce",
    "run",
    "sweep",
]

_HOMES = {
    "InputError": "sojourn._internal.errors",
    "Interrupted": "sojourn._internal.errors",
    "Precision": "sojourn.analysis.precision",
    "Run": "sojourn.api.handles",
    "SpecError": "sojourn._core",
    **dict.fromkeys(("load", "run", "sweep"), "sojourn.api.simulate"),
    **dict.fromkeys(
        ("compare", "estimate", "list_parts", "plan", "report", "reproduce"), "sojourn.api.verbs"
    ),
}


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
