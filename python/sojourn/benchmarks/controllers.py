"""Benchmarks of users' congestion controllers: the same algorithm built in, and as a class.

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


def studies(case: str) -> dict[str, str]:
    """The studies of a benchmark by name: for each algorithm the built-in one, then the class."""
    found = {}
    for name, transport in _BUILT_IN.items():
        found[f"{name} built in"] = _study(transport)
        found[f"{name} {case}"] = _study(_class_of(name, compiled=CASES[case]))
    return found


def flows_at_once(study: str, flows: int) -> list[tuple[str, str]]:
    """The overrides by which so many flows of a controller arrive before any of them can end."""
    workload = {
        "kind": "incast",
        "fan_in": _FAN_IN,
        "size": "30KB",
        "rounds": flows // _FAN_IN,
        "every": "1ps",
    }
    tcp = "scheme.transport.tcp" if has_code(study) else "scheme.transport"
    timers = [(f"{tcp}.{name}", _LONG) for name in ("min_rto", "initial_rto")]
    return [("workload", toml_value(workload)), *timers]


def has_code(study: str) -> bool:
    """Whether a study has a transport of Python."""
    scheme = tomllib.loads(study).get("scheme")
    transport = scheme.get("transport") if isinstance(scheme, dict) else None
    return isinstance(transport, dict) and transport.get("kind") == "python"


def _class_of(name: str, *, compiled: bool) -> dict[str, object]:
    file = files("sojourn.control").joinpath("examples", f"{name.replace('-', '_')}.py")
    tcp = {**_TCP, **_OWN.get(name, {})}
    return {"kind": "python", "file": str(file), "compiled": compiled, "tcp": tcp}


def _study(transport: dict[str, object]) -> str:
    return toml_lines(
        {
            "title": "k=6 fat-tree, 54 hosts, a controller of congestion",
            "topology": {"kind": "fat-tree", "k": 6},
            "workload": {"kind": "poisson", "sizes": "websearch", "load": 0.6, "flows": 3000},
            "scheme": {
                "name": "controller",
                "queue": "ecn",
                "balance": "spray",
                "transport": transport,
            },
        }
    )
