"""The ways in which a claim can be measured: a closed set, each with a few parameters as data."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sojourn.reproduction.measures.cells import (
    Attained,
    Averaged,
    Choice,
    Lead,
    Level,
    Ratio,
    Steps,
)
from sojourn.reproduction.measures.measured import Measure
from sojourn.reproduction.measures.runs import FanOut, Hours, Share, Total, Waste
from sojourn.reproduction.results import Quantity

KINDS: dict[str, type[Measure]] = {
    "level": Level,
    "averaged": Averaged,
    "ratio": Ratio,
    "choice": Choice,
    "steps": Steps,
    "lead": Lead,
    "share": Share,
    "attained": Attained,
    "waste": Waste,
    "total": Total,
    "hours": Hours,
    "fan-out": FanOut,
}


def measure_of(table: Mapping[str, Any]) -> Measure:
    """The measure that a table of data names by `kind` and gives parameters to."""
    own = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in table.items()
        if name != "kind"
    }
    measure = KINDS[table["kind"]]
    if "what" in {field.name for field in fields(measure)}:  # type: ignore[arg-type]
        own["what"] = Quantity.taken_from(own)
    return measure(**own)
