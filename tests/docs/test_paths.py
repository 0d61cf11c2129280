"""Paths of this repository that a page names are there."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("papers/*/*.md")])
TOP = ("benches", "crates", "docs", "fuzz", "papers", "python", "tests", "tools")

# Names in code and in comments; what a page writes, builds or takes from elsewhere is no such name.
_CODE = re.compile(r"`([^`\n]+)`|<!-- ([^>]*) -->")
_PATH = re.compile(
    rf"(?<![\w./-])(?:(?:{'|'.join(TOP)})/[\w./*{{}}-]*[\w/*}}]|[\w/-]+\.rs)(?![\w/])"
)
_NEW_FILE = re.compile(r'^```\w+ title="([^"]+)"$', re.MULTILINE)
_PLACEHOLDER = re.compile(r"[A-Z]{2,}|N-")
# Folders that commands make.
BUILT = {"fuzz/artifacts", "docs/reference/parts"}
# A changelog names what there was.
HISTORY = {"CHANGELOG.md"}


def files():
    """All files and folders that are not built, by their paths from the root."""
    found = set()
    for top in TOP:
        for path in ROOT.joinpath(top).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            if not {"target", "__pycache__", "parts"} & set(path.parts[len(ROOT.parts) :]):
                found.add(name)
    return found


def dead(page, there):
    """Paths of a page that lead nowhere; `there` are all that there are."""
    new = _NEW_FILE.findall(page)
    for code in _CODE.finditer(page):
        for match in _PATH.finditer(code[1] or code[2]):
            name = match[0].rstrip("/")
            known = any(fnmatch(it, name) or it.endswith(f"/{name}") for it in {*there, *new})
            if not known and not _PLACEHOLDER.search(name) and name not in BUILT:
                yield name


@pytest.fixture(scope="module")
def there():
    return files()


@pytest.mark.parametrize(
    "page", [it for it in PAGES if it.name not in HISTORY], ids=lambda it: it.stem
)
def test_paths_on_a_page_are_there(page, there):
    assert [*dead(page.read_text(encoding="utf-8"), there)] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`tools/house.py` and `crates/fabric/src`", []),
        ("`tools/horse.py`", ["tools/horse.py"]),
        ("`crates/fabric/src/engine/wheels.rs`", ["crates/fabric/src/engine/wheels.rs"]),
        ("(`engine/wheels.rs`)", ["engine/wheels.rs"]),
        ("`crates/fabric/src/queue/NAME.rs`", []),
        ("`papers/*/claims.toml`", []),
        ("`papers/*/claim.toml`", ["papers/*/claim.toml"]),
        ("<!-- not run: tests/docs/test_none.py does -->", ["tests/docs/test_none.py"]),
        ('`src/part.rs`\n\n```rust title="crates/fabric/src/part.rs"\n```\n', []),
    ],
)
def test_a_path_that_leads_nowhere_is_found(text, wrong, there):
    assert [*dead(text, there)] == wrong
