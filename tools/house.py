"""The borders of this repository that a command can see: `make house`.

How long a function or a file may be is left to clippy, to ruff and to who reads it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUST = sorted(ROOT.glob("crates/**/src/**/*.rs"))
PYTHON = sorted((ROOT / "python/sojourn").rglob("*.py"))

# Folders of a crate, folders above them that they do not use, and what of these they may use.
BORDERS = [
    (
        "crates/fabric/src",
        {"transport", "queue", "path", "switch_memory", "topology", "workload"},
        {"engine", "case", "rows", "estimate"},
        set(),
    ),
    ("crates/array/src", {"layout"}, {"device", "engine", "exact", "case", "run"}, {"Op"}),
    ("crates/array/src", {"device"}, {"layout", "engine", "case", "run"}, {"Access", "Approach"}),
    (
        "crates/list-server/engine/src",
        {"policy", "list", "bounce"},
        {
            *("attempt", "clock", "destination", "dispatch", "host", "journal", "message"),
            *("operator", "outcome", "queue", "session", "table"),
        },
        set(),
    ),
]

# The crate of studies, and its files that may name a model: the list, and a command for one model.
STUDY = "crates/study/src"
NAMES_MODELS = {"model", "fabric_estimate"}

# Comments and literals of Rust, in that order: a literal may contain the beginning of a comment.
_RUST_TOKEN = re.compile(
    r"(//[^\n]*|/\*.*?\*/)"
    r'|(r(?P<fence>#*)".*?"(?P=fence)|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\\\'])\')',
    re.DOTALL,
)


def name(path: Path) -> str:
    """The path from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


# Circles


def circles() -> Iterator[str]:
    """Files that import each other, directly or by others."""
    for crate in sorted(ROOT.glob("crates/**/src")):
        for circle in connected(rust_imports(crate)):
            yield f"{name(crate.parent)}: {', '.join(sorted(circle))}"
    for circle in connected(python_imports()):
        yield f"python/sojourn: {', '.join(sorted(circle))}"


def rust_imports(src: Path) -> dict[str, set[str]]:
    """For each file of a crate those that it imports from; what a `mod.rs` has is its folder's."""
    modules = {module(path, src): path for path in RUST if path.is_relative_to(src)}
    graph: dict[str, set[str]] = {}
    for own, path in modules.items():
        text = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", path.read_text())[0]
        code = rust_code(text)
        above = own.split("::")[:-1] if path.stem not in ("lib", "mod") else own.split("::")
        used = set()
        for tree in re.findall(r"\buse ((?:crate|super|self)::[^;]+);", code):
            for used_path in expanded(tree):
                steps = used_path.split("::")
                base: list[str] = [] if steps[0] == "crate" else [step for step in above if step]
                while steps and steps[0] in ("crate", "super", "self"):
                    if steps.pop(0) == "super" and path.stem in ("lib", "mod"):
                        base = base[:-1]
                found = [*base, *steps]
                while found and "::".join(found) not in modules:
                    found.pop()
                used.add("::".join(found))
        # What lies in a folder may use what its `mod.rs` has.
        graph[own] = {to for to in used if to != own and not own.startswith(f"{to}::") and to}
    return graph


def module(path: Path, src: Path) -> str:
    """The path of a file's module in its crate."""
    steps = list(path.relative_to(src).with_suffix("").parts)
    return "::".join(steps[:-1] if steps[-1] in ("lib", "mod") else steps)


def expanded(tree: str) -> Iterator[str]:
    """The paths of a `use`, braces taken apart."""
    tree = re.sub(r"\s+", "", re.sub(r"\bas \w+", "", tree))
    if "{" not in tree:
        yield tree
        return
    head, rest = tree.split("{", 1)
    depth, part, inner = 0, "", rest[: rest.rindex("}")]
    for letter in f"{inner},":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part:
                yield from expanded(head + part)
            part = ""
        else:
            part += letter


def python_imports() -> dict[str, set[str]]:
    """For each module those that it imports, wherever the import stands."""
    package = ROOT / "python"
    modules = {}
    for path in PYTHON:
        steps = path.relative_to(package).with_suffix("").parts
        modules[".".join(steps[:-1] if steps[-1] == "__init__" else steps)] = path
    graph: dict[str, set[str]] = {}
    for own, path in modules.items():
        used = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                used |= (inside & set(modules)) or {node.module}
        graph[own] = {to for to in used & set(modules) if to not in (own, "sojourn")}
    return graph


def rust_code(text: str) -> str:
    """Rust's `text` without its comments and literals."""
    return _RUST_TOKEN.sub(" ", text)


def connected(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """The sets of two and more that reach each other."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = [start]
        while left:
            for to in graph.get(left.pop(), set()) - seen:
                seen.add(to)
                left.append(to)
        return seen

    reach = {own: reached(own) for own in graph}
    done: set[str] = set()
    for own in graph:
        if own not in done and own in reach[own]:
            circle = {to for to in reach[own] if own in reach[to]}
            done |= circle
            yield circle


# Borders


def crate_edges() -> Iterator[str]:
    """The page of the architecture, where its table of crates is not that of cargo."""
    page = (ROOT / "docs/architecture.md").read_text()
    if f"```text\n{crate_table(*crates())}```" not in page:
        yield "docs/architecture.md"


def crates() -> tuple[dict[str, str], dict[str, list[str]]]:
    """The folder of each crate, and which others it uses; `(tests)` where only its tests do."""
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(said.stdout)["packages"]
    folders = {package["name"]: name(Path(package["manifest_path"]).parent) for package in packages}
    uses = {
        package["name"]: [
            f"{needed['name']} (tests)" if needed["kind"] else needed["name"]
            for needed in package["dependencies"]
            if needed["name"] in folders
        ]
        for package in packages
    }
    return folders, uses


def crate_table(folders: dict[str, str], uses: dict[str, list[str]]) -> str:
    """A line a crate, the topmost floor first: a crate stands above all that it uses."""

    def floor(crate: str) -> int:
        return 1 + max((floor(needed) for needed in uses[crate] if needed in uses), default=0)

    rows = [("floor", "crate", "uses")]
    for crate in sorted(folders, key=lambda crate: (-floor(crate), folders[crate])):
        needed = [
            Path(folders[one.split()[0]]).name + one[len(one.split()[0]) :] for one in uses[crate]
        ]
        rows.append((str(floor(crate)), folders[crate], ", ".join(sorted(needed)) or "-"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}\n" for a, b, c in rows)


# A call that has Python look up a module, and what stands for one in Python's C interface.
_IMPORT = re.compile(r"\.import\(|\bPyModule::import\b|\bPyImport_\w+|\.import_bound\(")


def python_modules() -> Iterator[str]:
    """Lines of Rust that import a module of Python."""
    for path in RUST:
        if _IMPORT.search(rust_code(path.read_text())):
            yield name(path)


def shared_features() -> Iterator[str]:
    """Crates of both extensions with other features in the one: they are compiled twice."""
    one, other = features("sojourn-python"), features("sojourn-python-mail")
    yield from (crate for crate in one.keys() & other.keys() if one[crate] != other[crate])


def features(extension: str) -> dict[str, set[str]]:
    """The crates of an extension, by name and version, each with its sets of features."""
    command = ["cargo", "tree", "--offline", "--package", extension, "--edges", "normal,build"]
    shown = ["--prefix", "none", "--format", "{p}|{f}"]
    said = subprocess.run([*command, *shown], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for line in said.stdout.splitlines():
        crate, _, used = line.removesuffix(" (*)").partition("|")
        found.setdefault(" ".join(crate.split()[:2]), set()).add(used)
    return found


def cache_keys() -> Iterator[str]:
    """Crates of `sojourn._core` that pyproject.toml does not name, and others that it names."""
    folders, uses = crates()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    needed: set[str] = set()
    waiting = [crate for crate, folder in folders.items() if folder == "crates/python"]
    while waiting:
        crate = waiting.pop()
        needed.add(crate)
        waiting += [one for one in uses[crate] if one in folders and one not in needed]
    files = (key["file"] for key in project["uv"]["cache-keys"])
    named = {file.removesuffix("/**/*") for file in files if file.startswith("crates/")}
    for folder in named ^ {folders[crate] for crate in needed}:
        yield f"pyproject.toml: cache-keys: {folder}"


def borders() -> Iterator[str]:
    """Files of a crate that use a folder which stands above theirs."""
    for src, lower, upper, allowed in BORDERS:
        folder = ROOT / src
        for path in RUST:
            if not path.is_relative_to(folder) or "tests" in path.stem:
                continue
            own = path.relative_to(folder).with_suffix("").parts[0]
            code = rust_code(path.read_text().split("#[cfg(test)]")[0])
            trees = re.findall(r"\buse (crate::[^;]+);", code) if own in lower else []
            for used in (used for tree in trees for used in expanded(tree)):
                _, first, *rest = used.split("::")
                if first in upper and not {first, *rest} & allowed:
                    yield f"{name(path)}: {used}"


def named_models() -> Iterator[str]:
    """Files of the crate of studies that name a model's crate and may not."""
    for path in RUST:
        if path.is_relative_to(ROOT / STUDY) and path.stem not in NAMES_MODELS:
            code = rust_code(path.read_text())
            for crate in sorted({*re.findall(r"\bsojourn_(?!core\b)\w+", code)}):
                yield f"{name(path)}: {crate}"


def second_places() -> Iterator[str]:
    """Where a fact stands that has a place of its own."""
    picoseconds = re.compile(r"\b1e9\b|\b1e12\b|10\*\*9\b|10\*\*12\b")
    for path in PYTHON:
        text = path.read_text()
        if path.stem != "units" and picoseconds.search(text):
            yield f"{name(path)}: picoseconds"
        if path.stem != "formats" and re.search(r"def _?toml", text):
            yield f"{name(path)}: TOML"
        if name(path) != "python/sojourn/store/rows.py" and "== -1" in text:
            yield f"{name(path)}: -1 for null"


def test_names() -> Iterator[str]:
    """Test files with the name of another: pytest imports them under that name, and stops."""
    first: dict[str, Path] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if first.setdefault(path.name, path) != path:
            yield f"{name(path)}: {name(first[path.name])}"


RULES = [
    (circles, "files import each other: move what both need below them"),
    (
        crate_edges,
        "a crate uses another than the page says: is it below? `tools/house.py --table` prints it",
    ),
    (cache_keys, "make build compiles sojourn._core when one of its crates changed, and only then"),
    (shared_features, "make build compiles it twice: let both extensions have the same features"),
    (python_modules, "Rust imports no module of Python: Python hands in what it needs"),
    (borders, "a folder uses one above it: move what it needs down"),
    (named_models, "a study names a model: what it needs belongs to the trait Model of core"),
    (test_names, "two test files have one name: give one of them another"),
    (second_places, "a fact has one place: use it"),
]


def main() -> int:
    """Says what offends, or prints the table of crates; the exit code."""
    if "--table" in sys.argv:
        sys.stdout.write(crate_table(*crates()))
        return 0
    said = [f"{found}: {why}\n" for find, why in RULES for found in sorted({*find()})]
    sys.stderr.writelines(said)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
