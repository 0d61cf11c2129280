"""Random fabrics, and the same transport in them as it is built in, plain and compiled."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sojourn._core import Progress, Study
from sojourn._internal.formats import toml_lines
from sojourn.control import examples
from sojourn.execution import inputs

EXAMPLES = Path(examples.__file__).parent
CLASSES = {"new-reno": "NewReno", "dctcp": "Dctcp", "cubic": "Cubic", "swift": "Swift"}
BUILT_IN, PLAIN, COMPILED = "built in", "plain", "compiled"
NEEDS_NUMBA = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")
WAYS = [PLAIN, pytest.param(COMPILED, marks=NEEDS_NUMBA)]
"""How a class runs."""


@dataclass(frozen=True)
class Fabric:
    """A fabric without a transport: its parts, and what TCP does below a controller."""

    parts: Mapping[str, object]
    tcp: Mapping[str, object]

    def study(self, kind: str, how: str, folder: Path = EXAMPLES) -> Study:
        """A study of it, with a transport that is built in or a class of a folder."""
        scheme = {
            "name": "X",
            **self.parts["scheme"],
            "transport": self._transport(kind, how, folder),
        }
        parts = {**self.parts, "scheme": scheme, "window_digest": True}
        return inputs.study(toml_lines(parts), "study.toml", [])

    def _transport(self, kind: str, how: str, folder: Path) -> dict[str, object]:
        tcp = dict(self.tcp)
        if kind == "swift":
            for other in ("dupthresh", "limited_transmit", "ack_delay", "abc_limit", "handshake"):
                tcp.pop(other, None)
        if how == BUILT_IN:
            return {"kind": kind, **tcp}
        of = {"ecn": kind == "dctcp", "paced": kind == "swift"}
        if kind == "swift":  # built in, it has no such choice
            of["limited_transmit"] = False
        name = kind.replace("-", "_")
        return {
            "kind": "python",
            "file": str(folder / f"{name}.py"),
            "class": CLASSES[kind],
            "compiled": how == COMPILED,
            "tcp": {**tcp, **of},
        }


def columns(study: Study, threads: int = 1) -> dict[str, bytes]:
    """The rows of the study's only case as bytes, column by column."""
    (case,) = study.cases()
    found = case.run(0, Progress(), threads=threads).columns
    return {
        name: (column[0] if isinstance(column, tuple) else np.asarray(column)).tobytes()
        for name, column in found.items()
    }


def fabrics(number: int, seed: int = 1) -> Iterator[Fabric]:
    """Random fabrics: every other one with round trips of 10 ms or more."""
    chance = random.Random(seed)
    for place in range(number):
        far = place % 2 == 1
        yield Fabric(_parts(chance, far=far), _tcp(chance, far=far))


def _parts(chance: random.Random, *, far: bool) -> dict[str, object]:
    rate = chance.choice([100, 1000] if far else [1000, 10_000, 25_000, 40_000])
    delay = f"{chance.randint(2500, 12_000)}us" if far else f"{chance.randint(50, 5000)}ns"
    kind = "single-switch" if far else chance.choice(["single-switch", "leaf-spine", "fat-tree"])
    topology: dict[str, object] = {"kind": kind, "rate": f"{rate}Mbps", "delay": delay}
    sizes = "websearch" if far else chance.choice(["websearch", "imc10"])
    workload: dict[str, object] = {"kind": "poisson", "sizes": sizes}
    workload |= {"load": round(chance.uniform(0.3, 0.9), 3), "flows": chance.randint(15, 60)}
    if far:  # a slow link, at which windows of hundreds of packets lose some
        topology |= {"hosts": chance.randint(3, 9), "uplink": f"{rate // 2}Mbps"}
        workload |= {"pairs": "to-last", "flows": chance.randint(6, 16)}
    elif kind == "single-switch":
        topology |= {"hosts": chance.randint(3, 9)}
    elif kind == "leaf-spine":
        topology |= {"racks": chance.randint(2, 3), "hosts": chance.randint(2, 5), "spines": 2}
        topology |= {"uplink_rate": f"{2 * rate}Mbps"}
    else:
        topology |= {"k": 4}
    buffer = chance.randint(15, 225) * (4 if far else 1)
    queue: dict[str, object] = {"kind": "ecn", "buffer": f"{buffer}KB"}
    queue["threshold"] = f"{max(3, buffer * chance.randint(5, 40) // 100)}KB"
    balance = chance.choice(["ecmp", "spray"])
    return {
        "title": "random",
        "topology": topology,
        "workload": workload,
        "scheme": {"queue": queue, "balance": balance},
        "run": {"seed": chance.randint(1, 10**6)},
    }


def _tcp(chance: random.Random, *, far: bool) -> dict[str, object]:
    tcp: dict[str, object] = {
        "initial_window": chance.choice([1, 2, 10, 12]),
        "min_rto": f"{chance.choice([20, 200]) if far else chance.choice([1, 5])}ms",
        "fast_retransmit": chance.random() < 0.7,
        "sack": chance.random() < 0.7,
        "limited_transmit": chance.random() < 0.5,
        "dupthresh": chance.choice([2, 3, 5]),
        "abc_limit": chance.choice(["none", 1, 2, 8]),
        "handshake": chance.random() < 0.2,
    }
    if chance.random() < 0.3:
        tcp["ack_delay"] = "40ms" if far else "50us"
    if chance.random() < 0.3:
        tcp["window_cap"] = chance.randint(20, 400)
    return tcp


def described(fabric: Fabric) -> str:
    """A fabric for the message of a test that fails."""
    return json.dumps({"parts": fabric.parts, "tcp": fabric.tcp}, default=str)
