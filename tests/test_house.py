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


def test_a_list_may_only_get_shorter(house):
    said = [*house.offences("circles", {"a, b", "new"}, {"a, b", "old"})]
    assert len(said) == 2
    assert said[0].startswith("circles: new: files import each other")
    assert said[1] == "circles: old offends no more: take it out of tools/house.toml"


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
    ("text", "comments", "names"),
    [
        ('let a = "// no"; // yes', "yes", "let a"),
        ("let c = '\"'; let b = 1; // \"x", "x", "let b"),
        ('r#"a "quoted" // no"# + /* yes */ x', "yes", "+"),
        ("fn f<'a>(x: &'a str) {} // yes", "yes", "&'a str"),
    ],
)
def test_comments_and_names_of_rust_are_told_apart(house, text, comments, names):
    found = house.rust_text(text, "comments")
    assert comments in found
    assert "no" not in found
    code = house.rust_text(text, "names")
    assert names in code
    assert not {"yes", "no"} & set(code.split())


def test_comments_and_names_of_python_are_told_apart(house):
    text = 'def f(x):\n    """Says it."""\n    return "no"  # because\n'
    assert house.python_text(text, "comments").split() == ["#", "because", "Says", "it."]
    assert house.python_text(text, "names") == "def f x return"


def test_examples_of_a_page_are_not_its_text(house):
    assert house.page_text("said\n```sh\nnot\n```\nsaid\n", "docs") == "said\n\nsaid\n"


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


def test_methods_of_a_type_stand_in_few_files(house, tmp_path, monkeypatch):
    texts = {"a": "impl Engine {}", "b": "impl Engine {\n}", "c": "impl Engines {}\n// impl Engine"}
    files = [tmp_path / f"{stem}.rs" for stem in texts]
    for path, text in zip(files, texts.values(), strict=True):
        path.write_text(text)
    monkeypatch.setattr(house, "RUST", files)
    for most, said in ((1, [f"{tmp_path}: Engine"]), (2, [])):
        monkeypatch.setattr(house, "SPREAD", [(str(tmp_path), "Engine", most)])
        assert [*house.spread_types()] == said


def test_studies_name_no_model(house, tmp_path, monkeypatch):
    for stem in ("model", "study"):
        text = "//! As `sojourn_array`.\nuse sojourn_core::Time;\nuse sojourn_fabric::FabricCase;\n"
        (tmp_path / f"{stem}.rs").write_text(text)
    monkeypatch.setattr(house, "ROOT", tmp_path)
    monkeypatch.setattr(house, "STUDY", ".")
    monkeypatch.setattr(house, "RUST", sorted(tmp_path.glob("*.rs")))
    assert [*house.named_models()] == ["study.rs: sojourn_fabric"]
