"""Write the page of licences: what the package contains and asks for, and on which terms.

`make docs` runs this before it builds the handbook; the page is not kept in the repository. The
exit code is 1 where something comes with terms that `PERMISSIVE` does not know.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "parts" / "licences.md"

# Terms that ask for no more than their own text (and MPL's: for changes to its own files).
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "HPND",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Python-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}

# What packages say that name no SPDX expression.
SPOKEN = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}

EXTENSIONS = ("sojourn-python", "sojourn-python-mail")

Used = tuple[str, str, str]


def crates() -> list[Used]:
    """Name, version and licence of each crate that is compiled into one of the extensions."""
    asked = ["cargo", "metadata", "--format-version", "1", "--locked"]
    said = subprocess.run(asked, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout  # noqa: S603
    metadata = json.loads(said)
    packages = {package["id"]: package for package in metadata["packages"]}
    needs = {
        node["id"]: [
            need["pkg"]
            for need in node["deps"]
            if any(kind["kind"] is None for kind in need["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    seen = {each for each in packages if packages[each]["name"] in EXTENSIONS}
    waiting = [*seen]
    while waiting:
        found = set(needs[waiting.pop()]) - seen
        seen |= found
        waiting += found
    others = (packages[each] for each in seen if packages[each]["source"])
    return sorted((one["name"], one["version"], one["license"] or "") for one in others)


def distributions() -> list[Used]:
    """The same of each Python package that ours asks for, and those ask for in turn."""
    seen: dict[str, Used] = {}
    waiting = list(_asked("sojourn"))
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        try:
            found = distribution(name)
        except PackageNotFoundError:  # an extra, or of another system
            continue
        seen[name] = (found.name, found.version, _licence(found.metadata.json))
        waiting += _asked(name)
    return sorted(seen.values())


def uplot() -> Used:
    """The same of what draws the pictures of a report."""
    script = ROOT / "python" / "sojourn" / "presentation" / "uplot" / "uPlot.iife.min.js"
    found = re.search(r"\(v([\d.]+)\)", script.read_text(encoding="utf-8"))
    return "uPlot", found[1] if found else "", "MIT"


def experiments() -> Used:
    """The same of the experiments that `sojourn reproduce uet` repeats."""
    text = (ROOT / "papers" / "uet" / "paper.toml").read_text(encoding="utf-8")
    found = re.search(r"commit ([0-9a-f]+)", text)
    return "uet-htsim, its experiments", found[1] if found else "", "BSD-2-Clause"


def _asked(name: str) -> Iterator[str]:
    for requirement in requires(name) or []:
        head, _, condition = requirement.partition(";")
        if "extra" not in condition:
            yield re.split(r"[^A-Za-z0-9._-]", head.strip(), maxsplit=1)[0].lower()


def _licence(metadata: dict[str, str | list[str]]) -> str:
    if expression := metadata.get("license_expression"):
        return str(expression)
    named = [
        line.rsplit(" :: ", 1)[1]
        for line in metadata.get("classifier", [])
        if line.startswith("License :: OSI Approved :: ")
    ]
    said = named or str(metadata.get("license", "")).splitlines()[:1]
    return " AND ".join(SPOKEN.get(words, words) for words in said)


def permits(licence: str) -> bool:
    """Whether an SPDX expression lets us choose permissive terms, AND read as what binds last."""
    parts = licence.replace("/", " OR ").split(" AND ")
    options = [part.strip().strip("()").split(" OR ") for part in parts]
    return all(any(one.strip() in PERMISSIVE for one in part) for part in options)


def page(parts: dict[str, list[Used]]) -> str:
    """The page, in Markdown."""
    lines = [
        "# Licences",
        "",
        "sojourn is under the MIT licence. What it is made with, and on which terms:",
    ]
    for title, used in parts.items():
        lines += ["", f"## {title}", "", "| name | version | licence |", "|---|---|---|"]
        lines += [f"| {name} | {version} | {licence} |" for name, version, licence in used]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page; say what is not permissive."""
    parts = {
        "Compiled into the packages": crates(),
        "Asked for by the package": distributions(),
        "Kept in the repository": [uplot(), experiments()],
    }
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(parts), encoding="utf-8")
    strange = [one for used in parts.values() for one in used if not permits(one[2])]
    for name, version, licence in strange:
        said = f"{name} {version}: {licence or 'no licence'}, expected a permissive one"
        sys.stderr.write(f"{said}\n")
    return int(bool(strange))


if __name__ == "__main__":
    sys.exit(main())
