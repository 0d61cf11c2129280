"""Reading of the pages that add a part (tools/pages.py), on small examples."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

PATH = Path(__file__).parent.parent / "tools/pages.py"
PAGE = """\
# Add a part

```rust title="src/part.rs"
pub struct Part;
```

```diff title="src/mod.rs"
@@
 mod other;
+mod part;
 mod third;
```

```toml
a = 1
```

Counted: 1 file, 1 line.
"""


@pytest.fixture
def pages_tool():
    spec = importlib.util.spec_from_file_location("pages_tool", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pages_tool"] = module
    spec.loader.exec_module(module)
    return module


def test_blocks_have_the_files_of_their_titles(pages_tool):
    found = [(block.kind, block.file) for block in pages_tool.blocks(PAGE)]
    assert found == [("rust", "src/part.rs"), ("diff", "src/mod.rs"), ("toml", None)]


def test_a_crate_of_a_page_is_tested(pages_tool):
    manifest = '```toml title="crates/part/Cargo.toml"\n[package]\nname = "sojourn-part"\n```\n'
    assert [*pages_tool.packages([*pages_tool.blocks(PAGE)])] == ["sojourn-study"]
    found = [*pages_tool.blocks(manifest + PAGE)]
    assert (found[0].kind, found[0].file) == ("toml", "crates/part/Cargo.toml")
    assert [*pages_tool.packages(found)] == ["sojourn-study", "sojourn-part"]


def test_a_hunk_is_found_by_its_lines(pages_tool, tmp_path):
    file = tmp_path / "src/mod.rs"
    file.parent.mkdir()
    file.write_text("//! Parts.\n\nmod first;\nmod other;\nmod third;\n\nfn f() {}\n")
    (_, block, _) = pages_tool.blocks(PAGE)
    command = ["git", "apply", "--recount", "-"]
    subprocess.run(command, cwd=tmp_path, input=pages_tool.patch(block), text=True, check=True)
    assert "mod other;\nmod part;\nmod third;" in file.read_text()
    file.write_text("//! Other parts.\n")
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(command, cwd=tmp_path, input=pages_tool.patch(block), text=True, check=True)


def test_what_was_added_is_counted(pages_tool):
    status = "?? src/part.rs\n M src/mod.rs\n"
    assert pages_tool.counted(status, "2\t0\tsrc/mod.rs\n") == "1 file, 2 lines"
    assert pages_tool.counted("", "1\t1\tsrc/mod.rs\n") == "0 files, 1 line"


@pytest.mark.parametrize(
    ("changed", "is_touched"),
    [
        (set(), False),
        ({"src/other.rs", "docs/how-to/add-b.md"}, False),
        ({"src/mod.rs"}, True),
        ({"docs/how-to/add-a.md"}, True),
    ],
)
def test_a_change_touches_a_page_or_what_it_edits(pages_tool, changed, is_touched):
    assert pages_tool.touches("docs/how-to/add-a.md", PAGE, changed) is is_touched


@pytest.fixture
def tree(pages_tool, tmp_path, monkeypatch):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/mod.rs").write_text("mod other;\nmod third;\n")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "a"]):
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *name, *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(pages_tool, "TREE", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("is_touched", "deadline", "how"),
    [
        (False, float("inf"), "can be applied"),
        (True, 0, "can be applied; no time is left to compile it"),
        (True, float("inf"), "can be applied and simulated"),
    ],
)
def test_how_far_a_page_is_followed(pages_tool, tree, is_touched, deadline, how):
    pages_tool.simulate = Mock()
    found = pages_tool.look_at(PAGE, is_touched=is_touched, deadline=deadline)
    assert found == ("", how)
    assert pages_tool.simulate.called == ("simulated" in how)
    assert "mod part;" in (tree / "src/mod.rs").read_text()


def test_a_page_that_does_not_fit_is_found_though_nothing_is_compiled(pages_tool, tree):
    (tree / "src/mod.rs").write_text("mod fourth;\n")
    with pytest.raises(subprocess.CalledProcessError):
        pages_tool.look_at(PAGE, is_touched=False, deadline=0)


@pytest.mark.usefixtures("tree")
def test_a_wrong_count_is_found(pages_tool):
    wrong, _ = pages_tool.look_at(PAGE.replace("1 line", "2 lines"), is_touched=False, deadline=0)
    assert wrong == "expected `Counted: 1 file, 1 line.`, not Counted: 1 file, 2 lines."
