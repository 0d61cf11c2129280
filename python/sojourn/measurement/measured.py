"""What came of one measured case."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sojourn.store.ledger import Value
from sojourn.store.rows import Column

Ints: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Measured:
    """Columns as the simulator's, further figures, and a series if asked for."""

    columns: dict[str, Column]
    figures: dict[str, Value]
    series: dict[str, Column] | None = None


def ints(columns: Mapping[str, Column], name: str) -> Ints:
    """A column of numbers."""
    column = columns[name]
    assert not isinstance(column, tuple)  # noqa: S101 - only kinds and the like are
    return column
