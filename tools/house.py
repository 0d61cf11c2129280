"""What a command can tell of the order in this repository: `make house`.

Each rule has a list of what offends against it today, in house.toml, which may only get shorter:
the command fails at an offence that is not in the list, and at an entry that offends no more. Words
have ceilings, in words.toml, which hold exactly, so that each may only fall; what remains has its
reason there.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUST = sorted(ROOT.glob("crates/**/src/**/*.rs"))
PYTHON = sorted((ROOT / "python/sojourn").rglob("*.py"))
DOCS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    # Decisions are left as they were written, and reference/parts is made of docstrings.
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not {"decisions", "parts"} & set(page.parts)
    ),
]

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

# Types that know all parts of a crate, and how many files may have methods of theirs.
SPREAD = [("crates/list-server/engine/src", "Engine", 3)]

# The crate of studies, and its files that may name a model: the list, and a command for one model.
STUDY = "crates/study/src"
NAMES_MODELS = {"model", "fabric_estimate"}

LONGEST_FUNCTION = 70
RUST_LINES = (40, 450)
PYTHON_LINES = (30, 350)
MOST_FILES = 18
MOST_IN_PACKAGE = 21

# Comments and literals of Rust, in that order: a literal may contain the beginning of a comment.
_RUST_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r'|(?P<literal>r(?P<fence>#*)".*?"(?P=fence)|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\\\'])\')',
    re.DOTALL,
)
# Folders whose `mod` has one of these have a file for each variant, however short.
_LISTS = re.compile(r"variants!|queues!|transports!|MAILERS|FAULTS")


def name(path: Path) -> str:
    """The path from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def lines(path: Path) -> int:
    """How many lines a file has."""
    return len(path.read_text().splitlines())


# Sizes


def long_functions() -> Iterator[str]:
    """Python's; clippy counts those of Rust."""
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION:
                yield f"{name(path)}: {node.name}"


def long_files() -> Iterator[str]:
    """Files with more lines than are read at one sitting."""
    for paths, (_, most) in ((RUST, RUST_LINES), (PYTHON, PYTHON_LINES)):
        yield from (name(path) for path in paths if lines(path) > most)


def short_files() -> Iterator[str]:
    """Files with fewer lines than it takes to look for them; not variants, commands, examples."""
    for path in RUST:
        if path.stem not in ("lib", "mod") and lines(path) < RUST_LINES[0] and not is_variant(path):
            yield name(path)
    for path in PYTHON:
        is_own = path.stem == "__init__" or {"cli", "examples"} & {*path.parts}
        if not is_own and lines(path) < PYTHON_LINES[0]:
            yield name(path)


def is_variant(path: Path) -> bool:
    """Whether the folder of `path` has a list of variants that names it."""
    parent = path.parent / "mod.rs"
    text = parent.read_text() if parent.exists() else ""
    return bool(_LISTS.search(text)) and re.search(rf"\b{path.stem}\b", text) is not None


def spread_types() -> Iterator[str]:
    """Types whose methods stand in more files than they may."""
    for src, kind, most in SPREAD:
        of_kind = re.compile(rf"^impl {kind}\b", re.MULTILINE)
        files = [path for path in RUST if path.is_relative_to(ROOT / src)]
        if sum(bool(of_kind.search(path.read_text())) for path in files) > most:
            yield f"{src}: {kind}"


def full_folders() -> Iterator[str]:
    """Folders with more files than are seen at a glance, but for those of variants."""
    folders = {path.parent for path in (*RUST, *PYTHON)}
    for folder in sorted(folders):
        files = [path for path in folder.iterdir() if path.suffix in (".rs", ".py")]
        others = [path for path in files if path.stem != "mod" and not is_variant(path)]
        if len(files) > MOST_FILES and others:
            yield name(folder)
    package = ROOT / "python/sojourn"
    entries = [entry for entry in package.iterdir() if entry.suffix in ("", ".py", ".pyi")]
    if len([entry for entry in entries if entry.name != "__pycache__"]) > MOST_IN_PACKAGE:
        yield f"{name(package)}: entries"


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
        code = _RUST_TOKEN.sub(" ", text)
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


def borders() -> Iterator[str]:
    """Files of a crate that use a folder which stands above theirs."""
    for src, lower, upper, allowed in BORDERS:
        folder = ROOT / src
        for path in RUST:
            if not path.is_relative_to(folder) or "tests" in path.stem:
                continue
            own = path.relative_to(folder).with_suffix("").parts[0]
            code = _RUST_TOKEN.sub(" ", path.read_text().split("#[cfg(test)]")[0])
            trees = re.findall(r"\buse (crate::[^;]+);", code) if own in lower else []
            for used in (used for tree in trees for used in expanded(tree)):
                _, first, *rest = used.split("::")
                if first in upper and not {first, *rest} & allowed:
                    yield f"{name(path)}: {used}"


def named_models() -> Iterator[str]:
    """Files of the crate of studies that name a model's crate and may not."""
    for path in RUST:
        if path.is_relative_to(ROOT / STUDY) and path.stem not in NAMES_MODELS:
            code = _RUST_TOKEN.sub(" ", path.read_text())
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


# Words


def rust_text(text: str, where: str) -> str:
    """What of Rust's `text` is comments, or names."""
    if where == "comments":
        return "\n".join(found["comment"] or "" for found in _RUST_TOKEN.finditer(text))
    if where == "code":
        return text
    return _RUST_TOKEN.sub(" ", text) if where == "names" else ""


def python_text(text: str, where: str) -> str:
    """What of Python's `text` is comments and docstrings, or names."""
    if where == "names":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        return " ".join(token.string for token in tokens if token.type == tokenize.NAME)
    if where != "comments":
        return ""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds))
    return "\n".join([*found, *(ast.get_docstring(node) or "" for node in nodes)])


def page_text(text: str, where: str) -> str:
    """What of a page is text, without its examples."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.S | re.M) if where == "docs" else ""


def words() -> Iterator[str]:
    """What is said against words.toml."""
    of = {"rust": (rust_text, RUST), "python": (python_text, PYTHON), "docs": (page_text, DOCS)}
    texts = {
        (place, where): [text_of(path.read_text(), where) for path in paths]
        for place, (text_of, paths) in of.items()
        for where in ("comments", "names", "code", "docs")
    }
    for word in tomllib.loads((ROOT / "tools/words.toml").read_text())["word"]:
        pattern = re.compile(word["pattern"], re.MULTILINE)
        for place, (_, paths) in of.items():
            looked_at = [
                text
                for where in word["where"]
                for path, text in zip(paths, texts[place, where], strict=True)
                if name(path).startswith(word.get("under", ""))
            ]
            found = sum(len(pattern.findall(text)) for text in looked_at)
            ceiling = word.get(place, 0)
            if ceiling and "reason" not in word:
                yield f"{place} may have {word['pattern']}: expected a reason in tools/words.toml"
            if found > ceiling:
                much = f"{found} times, {ceiling} at most"
                yield f"{place} has {word['pattern']} {much}: say {word['say']}"
            elif found < ceiling:
                yield f"{place} has {word['pattern']} {found} times: lower the ceiling of {ceiling}"


RULES = {
    "long_functions": (long_functions, f"a function has at most {LONGEST_FUNCTION} lines"),
    "long_files": (long_files, "a file is longer than one sitting: cut it by its subjects"),
    "short_files": (short_files, "a file is too short to be found: merge it with what it serves"),
    "spread_types": (
        spread_types,
        "a type has methods in too many files: what needs one part of it is a method of that part",
    ),
    "full_folders": (
        full_folders,
        f"a folder has at most {MOST_FILES} files: group them by subject",
    ),
    "circles": (circles, "files import each other: move what both need below them"),
    "crate_edges": (
        crate_edges,
        "a crate uses another than the page says: is it below? `tools/house.py --table` prints it",
    ),
    "borders": (borders, "a folder uses one above it: move what it needs down"),
    "named_models": (
        named_models,
        "a study names a model: what it needs belongs to the trait Model of core",
    ),
    "second_places": (second_places, "a fact has one place: use it"),
}


def offences(rule: str, found: set[str], listed: set[str]) -> Iterator[str]:
    """What is said against a rule: what is found and not listed, and the other way round."""
    for offence in sorted(found - listed):
        yield f"{rule}: {offence}: {RULES[rule][1]}"
    for entry in sorted(listed - found):
        yield f"{rule}: {entry} offends no more: take it out of tools/house.toml"


def main() -> int:
    """Says what offends, or prints the table of crates; the exit code."""
    if "--table" in sys.argv:
        sys.stdout.write(crate_table(*crates()))
        return 0
    listed = tomllib.loads((ROOT / "tools/house.toml").read_text())
    said = [*words()]
    for rule, (find, _) in RULES.items():
        said += offences(rule, set(find()), set(listed.get(rule, [])))
    for line in said:
        sys.stderr.write(f"{line}\n")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
