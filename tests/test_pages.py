"""Reading of the pages that add a part (tools/pages.py), on small examples."""

import importlib.util
import subprocess
import sys
from pathlib import Path

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


@pytest.fixture(scope="module")
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


def test_the_lines_of_each_page_fit_into_their_files(pages_tool):
    """`make pages` compiles what the pages add, for minutes; whether it can be added is quick to see."""
    for page in pages_tool.PAGES:
        for block in pages_tool.blocks(page.read_text()):
            if block.kind == "diff":
                done = subprocess.run(
                    ["git", "apply", "--check", "--recount", "-"],
                    cwd=pages_tool.ROOT,
                    input=pages_tool.patch(block),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, f"{page.name}: {done.stderr}"
