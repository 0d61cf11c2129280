"""The schema of study files: what is in the repository is of it, mistakes are not."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from sojourn._core import Study, schema
from sojourn.cli.init import SCHEMA
from sojourn.execution import inputs

ROOT = Path(__file__).parents[2]
STUDIES = sorted(
    path
    for pattern in (
        "papers/*/*.toml",
        "docs/examples/*.toml",
        "docs/gallery/*.toml",
        "python/sojourn/benchmarks/*/*.toml",
        "python/sojourn/cli/templates/*.toml",
    )
    for path in ROOT.glob(pattern)
    if path.name not in ("paper.toml", "claims.toml")
)
FABRIC = """\
[topology]
kind = "single-switch"
hosts = 4
[workload]
kind = "poisson"
load = 0.5
flows = 100
[scheme]
name = "DCTCP"
"""
ARRAY = """\
model = "array"
disk = "ST3500630NS"
layout = "single"
[workload]
kind = "synthetic"
blocks = 1
requests = 100
arrivals = { kind = "poisson", rate = "1/s" }
"""
PLAN = """\
model = "array"
[workload]
kind = "synthetic"
blocks = 1
requests = 100
arrivals = { kind = "poisson", rate = "1/s" }
[plan]
target = "p99 <= 40 ms"
[[plan.offer]]
name = "fast"
disk = { kind = "exponential", mean = "2ms" }
disks = [4, 8]
layouts = ["raid10", { kind = "raid0" }]
price = 100
[[plan.offer]]
disk = "ST3500630NS"
disks = { from = 4, to = 12, step = 4 }
layouts = ["raid10"]
price = 10
capacity = "500GB"
"""


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    document = json.loads(schema())
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


def test_every_study_is_of_the_schema(validator):
    assert len(STUDIES) > 50
    wrong = {
        path.name: [error.message for error in validator.iter_errors(tomllib.loads(text))]
        for path in STUDIES
        if not validator.is_valid(tomllib.loads(text := path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


def test_so_is_a_study_with_all_its_defaults(validator):
    for path in STUDIES:
        if path.parent.name == "templates":
            continue
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        if not {"plan", "estimate"} & document.keys():
            resolved = inputs.parse(
                Study, path.read_text(encoding="utf-8"), str(path), []
            ).resolved()
            assert validator.is_valid(tomllib.loads(resolved)), path


@pytest.mark.parametrize(
    ("study", "change", "place"),
    [
        (FABRIC, ("hosts = 4", 'hosts = "four"'), "topology/hosts"),
        (FABRIC, ('"single-switch"', '"single-svitch"'), "topology/kind"),
        (FABRIC, ("load = 0.5", "lode = 0.5"), "workload"),
        (FABRIC, ("[scheme]", "[skeme]"), ""),
        (FABRIC, ("flows = 100", 'drain = "1 second"'), "workload"),
        (FABRIC, ("[topology]", 'drain = "1 second"\n[topology]'), "drain"),
        (FABRIC, ("[topology]", 'model = "fabrik"\n[topology]'), "model"),
        (FABRIC, ('"DCTCP"', '"DCTCP"\nqueue = { buffer = "much" }'), "scheme/queue"),
        (FABRIC, ('"DCTCP"', '"DCTCP"\nqueues = "ecn"'), "scheme"),
        (
            FABRIC,
            ('"DCTCP"', '"ours"\nqueue = { kind = "ecn", buffer = "1" }'),
            "scheme/queue/buffer",
        ),
        (FABRIC, ('"DCTCP"', '"Ideal"\ntransport = "dctcp"'), "scheme"),
        (FABRIC, ("[scheme]", "[sweep]\nworkload.load = 0.5\n[scheme]"), "sweep/workload/load"),
        (FABRIC, ("[scheme]", "[sweep]\nworkload.lode = [0.5]\n[scheme]"), "sweep/workload"),
        (ARRAY, ("1/s", "1"), "workload/arrivals/rate"),
        (ARRAY, ("ST3500630NS", "ST3500630SN"), "disk"),
        (ARRAY, ("blocks = 1", "blocks = 0"), "workload/blocks"),
        (ARRAY, ("blocks = 1", "blocks = 1\nreads = 1.5"), "workload/reads"),
        (ARRAY, ("blocks = 1", "blocks = 1\nload = 0.5"), "workload"),
        (PLAN, ("p99 <=", "p99 ="), "plan/target"),
        (PLAN, ("price = 10\n", "prise = 10\n"), "plan/offer/1"),
        (PLAN, ('"500GB"', "500"), "plan/offer/1/capacity"),
        (PLAN, ('"ST3500630NS"', '"ST3500630SN"'), "plan/offer/1/disk"),
        (PLAN, ("[4, 8]", "[4, 0]"), "plan/offer/0/disks"),
        (PLAN, ("step = 4", "steps = 4"), "plan/offer/1/disks"),
        (PLAN, ('{ kind = "raid0" }', '{ kind = "raid0", fail = 1 }'), "plan/offer/0/layouts"),
    ],
)
def test_a_mistake_is_told_where_it_is(validator, study, change, place):
    assert validator.is_valid(tomllib.loads(study))
    assert change[0] in study
    wrong = tomllib.loads(study.replace(*change))
    places = {"/".join(map(str, error.path)) for error in validator.iter_errors(wrong)}
    assert place in places


def test_a_path_of_the_sweep_may_be_quoted(validator):
    for swept in ('"workload.arrivals.rate"', 'workload."arrivals.rate"', "workload.arrivals.rate"):
        study = f'{ARRAY}[sweep]\n{swept} = ["1/s", "2/s"]\n'
        inputs.study(study, "study.toml", [])
        assert validator.is_valid(tomllib.loads(study)), swept


def taplo(*words: object) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("taplo")
    return subprocess.run(
        [program, "check", *map(str, words)], capture_output=True, text=True, check=False
    )


def test_taplo_says_the_same(command, tmp_path, monkeypatch):
    """The checker behind an editor: of all studies here, and of one that init wrote."""
    monkeypatch.chdir(tmp_path)
    Path(SCHEMA).write_text(command("schema").out, encoding="utf-8")
    checked = taplo("--schema", f"file://{tmp_path / SCHEMA}", *STUDIES)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.chdir(own)
    assert command("init", "array", "mine").out.startswith(f"wrote mine.toml, and {SCHEMA}")
    assert taplo("mine.toml").returncode == 0
    study = Path("mine.toml")
    text = study.read_text(encoding="utf-8")
    study.write_text(text.replace('disk = "', 'disc = "'), encoding="utf-8")
    wrong = taplo("mine.toml")
    assert wrong.returncode != 0
    assert "mine.toml" in wrong.stderr
    assert "disc" in wrong.stderr
    # a schema that is there is left alone
    Path(SCHEMA).write_text("{}", encoding="utf-8")
    assert SCHEMA not in command("init", "mail", "other").out
    assert Path(SCHEMA).read_text(encoding="utf-8") == "{}"
