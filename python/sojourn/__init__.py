"""How long does work stay in a system of queues?

    import sojourn

    run = sojourn.run("papers/pfabric/websearch-quick.toml", out="out/quick")
    run.summary(by=["scheme", "load"])
    run.plot()

`run` simulates a study, `sweep` with other values in place of its own, `load` opens a run
directory; all give a `Run`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sojourn._core import SpecError
    from sojourn._internal.errors import InputError, Interrupted
    from sojourn.analysis.precision import Precision
    from sojourn.api.handles import Run
    from sojourn.api.simulate import load, run, sweep

__all__ = ["InputError", "Interrupted", "Precision", "Run", "SpecError", "load", "run", "sweep"]


_HOMES = {
    "InputError": "sojourn._internal.errors",
    "Interrupted": "sojourn._internal.errors",
    "Precision": "sojourn.analysis.precision",
    "Run": "sojourn.api.handles",
    "SpecError": "sojourn._core",
    "load": "sojourn.api.simulate",
    "run": "sojourn.api.simulate",
    "sweep": "sojourn.api.simulate",
}


# The names are looked up when they are used: `import sojourn._core` alone stays light, which
# keeps a benchmark's memory its own and the command quick to start.
def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("sojourn._core").build_info()["version"]
    if name not in _HOMES:
        raise AttributeError(f"module 'sojourn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
