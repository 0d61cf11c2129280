"""Other people's simulators, which are in the repository and not in the package."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sojourn._internal.errors import InputError

_FOLDER = Path(__file__).parents[3] / "benches"


def peers() -> Any:
    """The package `benches/peers` of the repository.

    Raises:
        InputError: this is an installed package, without the repository around it.
    """
    if not (_FOLDER / "peers").is_dir():
        raise InputError(
            "--beside: ns-3, SimPy and Ciw are compared by programs in sojourn's repository, in"
            " benches/peers, which this package does not have; expected a checkout of it"
        )
    if str(_FOLDER) not in sys.path:
        sys.path.insert(0, str(_FOLDER))
    return import_module("peers")
