"""Users' classes in comparisons and reports: class, file, parameters, and in what they differ."""

from collections.abc import Callable
from pathlib import Path

import pytest

import sojourn
from controllers import STUDY
from sojourn.analysis.algorithms import algorithms, differing, facts
from sojourn.control import examples
from sojourn.reporting.sections import sections, with_other_files

DCTCP = Path(examples.__file__).with_name("dctcp.py").read_text()
# what stands in place of the first file, or below the study
CHANGES = {
    "class": ("class Dctcp", "class Other", ""),
    "code": ("self._marked = 0", "self._marked = 1 - 1", ""),
    "gain": ("", "", "set = { gain = 0.5 }"),
}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., sojourn.Run]:
    """Runs a study of a class."""

    def ran(name: str, old: str = "", new: str = "", more: str = "") -> sojourn.Run:
        (tmp_path / "mine.py").write_text(DCTCP.replace(old, new) if old else DCTCP)
        (tmp_path / "mine.toml").write_text(STUDY + more)
        return sojourn.run(tmp_path / "mine.toml", out=tmp_path / name, jobs=1)

    return ran


def test_class_file_and_all_parameters(run):
    (found,) = algorithms(run("a").ledger)
    words = facts([found])["transport"]
    assert words == (
        f"Dctcp of mine.py (SHA-256 {found.sha256[:16]}), not compiled,"
        " gain = 0.0625, initial_alpha = 1.0"
    )


def test_what_is_swept_has_all_its_values(run):
    swept = "[sweep]\nscheme.transport.set.gain = [0.0625, 0.5]\n"
    (found,) = algorithms(run("a", more=swept).ledger)
    assert "gain = [0.0625, 0.5], initial_alpha = 1.0" in found.words()


@pytest.mark.parametrize("trait", CHANGES)
def test_in_what_two_runs_differ(run, command, trait):
    one, other = run("a"), run("b", *CHANGES[trait])
    traits = ["class", "code"] if trait == "class" else [trait]
    assert differing(algorithms(one.ledger), algorithms(other.ledger)) == {"transport": traits}
    said = command("compare", one.path, other.path, "--metric", "slowdown").out
    assert f"transport differs in {', '.join(traits)}\n" in " ".join(said.split(" "))
    for own in (one, other):
        (found,) = algorithms(own.ledger)
        assert " ".join(found.words().split()) in " ".join(said.split())


def test_equal_ones_are_named_once(run, command):
    one = run("a")
    said = command("compare", one.path, one.path).out
    assert said.count("Dctcp of mine.py") == 1
    assert "both: transport: Dctcp" in said
    document = command("compare", one.path, one.path, "--json").document
    assert document["algorithms_differ_in"] == {}
    (used,) = document["a"]["algorithms"]
    assert used["parameters"] == {"gain": [0.0625], "initial_alpha": [1.0]}


def test_two_values_of_one_run(run):
    swept = run("a", more="[sweep]\nscheme.transport.set.gain = [0.0625, 0.5]\n")
    found = sojourn.compare(swept.path, between={"gain": ("0.0625", "0.5")})
    assert "transport differs in gain" in str(found)


def test_what_is_built_in_is_not_named(simulated):
    assert algorithms(simulated.ledger) == []


def test_a_report_names_them_and_says_that_a_file_has_changed(run):
    paths = [run("a").path, run("b", *CHANGES["code"]).path]
    changed = "mine.py is not the same file in all runs of this report"
    for section in with_other_files([one for path in paths for one in sections(path)]):
        assert section.facts["transport"].startswith("Dctcp of mine.py (SHA-256 ")
        assert changed in section.cautions
    (alone,) = with_other_files([*sections(paths[0])])
    assert changed not in alone.cautions
