"""Benchmarks of users' congestion controllers: the same algorithm built in, and as a class.

The classes are those of `sojourn.control.examples`; rows are the same to the byte.
"""

from importlib.resources import files

from sojourn._internal.formats import toml_lines

CASES = {"python": False, "compiled": True}
"""The benchmarks by name, and whether their classes are compiled."""

BEGIN = [("workload.flows", "1")]
"""What makes a run of them so short that it does no more than compile the class."""

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
