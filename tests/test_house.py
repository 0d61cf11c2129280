"""The rules of tools/house.py, on small examples."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parent.parent / "tools/house.py"


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


def test_files_that_reach_each_other_are_a_circle(house):
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"d2"}, "d2": set(), "e": {"a"}}
    assert [*house.connected(graph)] == [{"a", "b", "c"}]


def test_braces_of_a_use_are_taken_apart(house):
    tree = "crate::{a::B, c::{self, d as e, f::{G, H}},\n super_::I}"
    assert [*house.expanded(tree)] == [
        "crate::a::B",
        "crate::c::self",
        "crate::c::d",
        "crate::c::f::G",
        "crate::c::f::H",
        "crate::super_::I",
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('let a = "// no"; // no', "let a"),
        ("let c = '\"'; let b = 1; // \"no", "let b"),
        ('r#"a "quoted" // no"# + /* no */ x', "+"),
        ("fn f<'a>(x: &'a str) {} // no", "&'a str"),
    ],
)
def test_comments_and_literals_are_no_code(house, text, code):
    found = house.rust_code(text)
    assert code in found
    assert "no" not in found.split()


def test_two_test_files_of_one_name_are_found(house, tmp_path, monkeypatch):
    for file in ("api/test_verbs.py", "cli/test_verbs.py", "cli/test_cli.py"):
        (tmp_path / "tests" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / file).touch()
    monkeypatch.setattr(house, "ROOT", tmp_path)
    assert [*house.test_names()] == ["tests/cli/test_verbs.py: tests/api/test_verbs.py"]


def test_rust_that_imports_a_module_is_found(house, tmp_path, monkeypatch):
    files = {"plain.rs": "use a::import; // py.import(x)", "asks.rs": 'py.import("sojourn.x")?'}
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    monkeypatch.setattr(house, "ROOT", tmp_path)
    monkeypatch.setattr(house, "RUST", [tmp_path / file for file in files])
    assert [*house.python_modules()] == ["asks.rs"]


def test_a_crate_stands_above_all_that_it_uses(house):
    folders = {name: f"crates/{name}" for name in ("core", "model", "server", "net")}
    uses = {"core": [], "net": [], "model": ["core"], "server": ["model", "core", "net (tests)"]}
    assert house.crate_table(folders, uses) == (
        "floor  crate          uses\n"
        "3      crates/server  core, model, net (tests)\n"
        "2      crates/model   core\n"
        "1      crates/core    -\n"
        "1      crates/net     -\n"
    )


def test_a_folder_below_does_not_use_one_above(house, monkeypatch):
    rule = ("crates/fabric/src", {"queue"}, {"packet"}, set())
    monkeypatch.setattr(house, "BORDERS", [rule])
    assert any("queue/pfabric.rs: crate::packet::" in found for found in house.borders())
    monkeypatch.setattr(house, "BORDERS", [(*rule[:3], {"PacketArena", "PacketId", "Packet"})])
    assert not any("queue/pfabric.rs" in found for found in house.borders())


def test_studies_name_no_model(house, tmp_path, monkeypatch):
    for stem in ("model", "study"):
        text = "//! As `sojourn_array`.\nuse sojourn_core::Time;\nuse sojourn_fabric::FabricCase;\n"
        (tmp_path / f"{stem}.rs").write_text(text)
    monkeypatch.setattr(house, "ROOT", tmp_path)
    monkeypatch.setattr(house, "STUDY", ".")
    monkeypatch.setattr(house, "RUST", sorted(tmp_path.glob("*.rs")))
    assert [*house.named_models()] == ["study.rs: sojourn_fabric"]
