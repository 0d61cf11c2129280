"""The one JSON document that `--json` prints."""

import json
import math


def dumps(value: object) -> str:
    """JSON text of plain Python values, in ASCII; a number that is not finite becomes null."""
    return json.dumps(_finite(value), allow_nan=False, indent=1)


def _finite(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value
