"""Whether the words that claims put into a paper's mouth are in it.

    python papers/quotations.py FOLDER

looks up every `paper_says` of the four `claims.toml` in the papers' texts, which are not in this
repository (`FOLDER/pfabric.txt`, ...), and writes the hashes of those that it found to
`quotations.sha256`: a quotation that is not listed there was never seen in the text.
Exit code 1: one was not found.

Case, typography, line breaks and the notation of formulas do not count; ` ... ` stands for words
that are left out.
"""

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
LISTED = HERE / "quotations.sha256"
LEFT_OUT = " ... "
_ALIKE = str.maketrans({
    "\N{RIGHT SINGLE QUOTATION MARK}": "'", "\N{LEFT SINGLE QUOTATION MARK}": "'", "`": "'",
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"', "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{MULTIPLICATION SIGN}": "x",
    "\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u", "*": "", "$": "",
})  # fmt: skip
_FORMULAS = [
    (r"\\text\s*\{([^}]*)\}", r"\1"), (r"\\sim\s*", "~"), (r"\s*\\times", "x"), (r"\\mu\s*", "u"),
    (r"\\%", "%"), (r"(?<=\d)\s*-\s*(?=\d)", "-"), (r"\s+", " "),
]  # fmt: skip


def plain(text: str) -> str:
    """Text without what does not count."""
    text = text.translate(_ALIKE)
    for pattern, instead in _FORMULAS:
        text = re.sub(pattern, instead, text)
    return text.strip().lower()


def is_in(quotation: str, text: str) -> bool:
    """Whether the words stand in a plain text, in their order."""
    place = 0
    for part in quotation.split(LEFT_OUT):
        place = text.find(plain(part), place)
        if place < 0:
            return False
        place += len(plain(part))
    return True


def digest(paper: str, quotation: str) -> str:
    """What `quotations.sha256` holds of a quotation."""
    return hashlib.sha256(f"{paper}\n{plain(quotation)}".encode()).hexdigest()


def quotations() -> Iterator[tuple[str, str]]:
    """Every paper's name and quotation."""
    for path in sorted(HERE.glob("*/claims.toml")):
        for claim in tomllib.loads(path.read_text(encoding="utf-8"))["claims"]:
            if "paper_says" in claim:
                yield path.parent.name, claim["paper_says"]


def listed() -> set[str]:
    """The hashes of the quotations that were found."""
    return set(LISTED.read_text(encoding="utf-8").split())


def main(folder: Path) -> int:
    """Look up all, and write down those that are there."""
    found, missing = set(), 0
    for paper, quotation in quotations():
        text = plain((folder / f"{paper}.txt").read_text(encoding="utf-8"))
        if is_in(quotation, text):
            found.add(digest(paper, quotation))
        else:
            missing += 1
            sys.stderr.write(f"{paper}: not in the text: {quotation}\n")
    LISTED.write_text("".join(f"{one}\n" for one in sorted(found)), encoding="utf-8")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
