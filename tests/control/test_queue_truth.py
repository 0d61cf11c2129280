"""Three queues as classes, plain and compiled, beside ours: the same rows."""

import json
import random
from collections.abc import Iterator

import pytest

from random_fabrics import BUILT_IN, COMPILED, EXAMPLES, WAYS, columns, fabrics
from share import share
from sojourn._core import Study
from sojourn._internal.formats import toml_lines
from sojourn.execution import inputs

FABRICS = share(100)
FILES = {"ecn": "threshold.py", "codel": "codel.py", "pie": "pie.py"}


@pytest.mark.share
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("how", WAYS)
def test_a_queue_does_what_is_built_in(kind, how):
    differ = 0
    for parts in studies(kind):
        expected = columns(_study(parts, kind, BUILT_IN))
        assert columns(_study(parts, kind, how)) == expected, json.dumps(parts)
        differ += columns(_study(parts, kind, "keeps all")) != expected
    assert differ > FABRICS // 2, "in more than half of them, the queue marks or drops"


@pytest.mark.share
@pytest.mark.parametrize("how", WAYS)
def test_threads_change_nothing(how):
    parts = next(parts for parts in studies("pie") if parts["topology"]["kind"] == "fat-tree")
    study = _study(parts, "pie", how)
    assert columns(study, threads=2) == columns(study)


def studies(kind: str) -> Iterator[dict]:
    """Studies on random fabrics, with the parts of a queue: alone, in a class, in shared memory."""
    chance = random.Random(7)
    for fabric in fabrics(FABRICS, seed=3):
        parts = json.loads(json.dumps(fabric.parts))
        tcp = {**fabric.tcp, "min_rto": "20ms"}
        kinds = ["dctcp"] if kind == "ecn" else ["new-reno", "cubic", "dctcp"]
        transport = {"kind": chance.choice(kinds), **tcp}
        parts["workload"] |= {"load": 0.8, "flows": 60}
        shared = chance.random() < 0.3
        if shared:
            parts["buffer"] = {"kind": "shared", "size": "400KB"}
        if chance.random() < 0.3:
            parts["hosts"] = {"port": "backpressure"}
        queue = {"buffer": parts["scheme"]["queue"]["buffer"], "counting": "bytes"}
        far = parts["topology"]["delay"].endswith("us")
        own = _parameters(kind, chance, us=500 if far else 2)
        if kind == "ecn":
            own = {"threshold": parts["scheme"]["queue"]["threshold"]}
        scheme = {"name": "X", **parts["scheme"], "transport": transport}
        yield {**parts, "scheme": {**scheme, "queue": [queue, own, chance.random() < 0.3]}}


def _parameters(kind: str, chance: random.Random, us: int) -> dict[str, object]:
    target = us * chance.randint(1, 5)
    own: dict[str, object] = {"target": f"{target}us", "ecn": chance.random() < 0.5}
    if kind == "codel":
        return {**own, "interval": f"{target * chance.randint(2, 20)}us"}
    own["update"] = f"{us * chance.randint(1, 3)}us"
    own["max_burst"] = f"{target * chance.randint(0, 3)}us"
    factor = 15_000 / target
    return {**own, "alpha": 0.125 * factor, "beta": 1.25 * factor}


def _study(parts: dict, kind: str, how: str) -> Study:
    queue, own, in_class = parts["scheme"]["queue"]
    if how == BUILT_IN:
        made = {"kind": kind, **queue, **own}
    elif how == "keeps all":
        made = {"kind": "drop-tail", **queue}
    else:
        file = str(EXAMPLES / FILES[kind])
        made = {"kind": "python", "file": file, "compiled": how == COMPILED, "set": own, **queue}
    if in_class:
        made = {"kind": "classes", "inside": [made]}
    scheme = {**parts["scheme"], "queue": made}
    return inputs.study(toml_lines({**parts, "scheme": scheme}), "study.toml", [])
