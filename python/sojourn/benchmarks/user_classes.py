"""Benchmarks of users' classes for transports and queues: each beside the same one built in.

The classes are those of `sojourn.control.examples`; rows are the same to the byte.
"""

import tomllib
from importlib.resources import files

from sojourn._internal.formats import toml_lines, toml_value

CASES = {"python": False, "compiled": True}
"""The benchmarks by name, and whether their classes are compiled."""

BEGIN = [("workload.flows", "1")]
"""What makes a run of them so short that it does no more than compile the class."""

LIVE_FLOWS = 300_000
"""So many flows are under way at once where it is measured how much memory each has."""

_BUFFER: dict[str, object] = {"buffer": "225KB", "counting": "bytes"}
_FAN_IN = 50
_LONG = '"100s"'  # each of so many flows waits long, and should not be sent again

_TCP = {
    "initial_window": 12,
    "min_rto": "200us",
    "initial_rto": "200us",
    "fast_retransmit": False,
    "limited_transmit": False,
    "abc_limit": "none",
}
_OF_SWIFT = {key: _TCP[key] for key in ("initial_window", "min_rto", "initial_rto")}
_BUILT_IN: dict[str, dict[str, object]] = {
    "dctcp": {"kind": "dctcp", **_TCP},
    "new-reno": {"kind": "new-reno", **_TCP},
    "cubic": {"kind": "cubic", **_TCP},
    "swift": {"kind": "swift", **_OF_SWIFT, "fast_retransmit": False},
}
# What of a controller is TCP's and not the class's.
_OWN = {"dctcp": {"ecn": True}, "swift": {"paced": True}}
_CODEL: dict[str, object] = {"target": "50us", "interval": "1ms", "ecn": True}
# Queues by name: what is built in, and the file and the parameters of the class.
_QUEUES: dict[str, tuple[dict[str, object], str, dict[str, object]]] = {
    "marking queue": ({"kind": "ecn"}, "threshold.py", {}),
    "codel queue": ({"kind": "codel", **_CODEL, **_BUFFER}, "codel.py", _CODEL),
}


def studies(case: str) -> dict[str, str]:
    """The studies of a benchmark by name: for each algorithm the built-in one, then the class."""
    found = {}
    for name, transport in _BUILT_IN.items():
        found[f"{name} built in"] = _study(transport)
        own = _class_of(f"{name.replace('-', '_')}.py", case)
        found[f"{name} {case}"] = _study({**own, "tcp": {**_TCP, **_OWN.get(name, {})}})
    for name, (queue, file, parameters) in _QUEUES.items():
        found[f"{name} built in"] = _study(_BUILT_IN["dctcp"], queue)
        python = {**_class_of(file, case), "set": parameters, **_BUFFER}
        found[f"{name} {case}"] = _study(_BUILT_IN["dctcp"], python)
    return found


def live_flows(name: str, case: str | None) -> int:
    """How many flows are under way where their memory is measured; 0 for what is no transport."""
    return LIVE_FLOWS if case in CASES and not name.startswith(tuple(_QUEUES)) else 0


def flows_at_once(study: str, flows: int) -> list[tuple[str, str]]:
    """The overrides by which so many flows of a controller arrive before any of them can end."""
    workload = {
        "kind": "incast",
        "fan_in": _FAN_IN,
        "size": "30KB",
        "rounds": flows // _FAN_IN,
        "every": "1ps",
    }
    tcp = "scheme.transport.tcp" if _are_code(study)[0] else "scheme.transport"
    timers = [(f"{tcp}.{name}", _LONG) for name in ("min_rto", "initial_rto")]
    return [("workload", toml_value(workload)), *timers]


def has_code(study: str) -> bool:
    """Whether a study has a transport or a queue of Python."""
    return any(_are_code(study))


def _are_code(study: str) -> list[bool]:
    """Whether a study's transport is of Python, and whether its queue is."""
    scheme = tomllib.loads(study).get("scheme")
    parts = (
        [scheme.get(part) for part in ("transport", "queue")] if isinstance(scheme, dict) else []
    )
    return [isinstance(part, dict) and part.get("kind") == "python" for part in parts]


def _class_of(file: str, case: str) -> dict[str, object]:
    path = files("sojourn.control").joinpath("examples", file)
    return {"kind": "python", "file": str(path), "compiled": CASES[case]}


def _study(transport: dict[str, object], queue: str | dict[str, object] = "ecn") -> str:
    return toml_lines(
        {
            "title": "k=6 fat-tree, 54 hosts, a class of Python",
            "topology": {"kind": "fat-tree", "k": 6},
            "workload": {"kind": "poisson", "sizes": "websearch", "load": 0.6, "flows": 3000},
            "scheme": {
                "name": "class",
                "queue": queue,
                "balance": "spray",
                "transport": transport,
            },
        }
    )
