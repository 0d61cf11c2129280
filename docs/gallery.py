"""The gallery's pictures: runs the commands of docs/gallery.md, and keeps what they drew.

`make gallery` runs them as they stand. With `--quick` each study is cut down as the page says for
tests, and the pictures stay as they are.
"""

import re
import shlex
from argparse import ArgumentParser
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from sojourn.cli import main as sojourn

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "gallery"
_COLOURS = 64
_BLOCK = re.compile(r"<!-- with: (?P<quick>[^>]*) -->\n```sh\n(?P<commands>.*?)```", re.DOTALL)


def main() -> None:
    """Run every block of the page."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small studies, no pictures kept")
    asked = parser.parse_args()
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    with TemporaryDirectory() as name, chdir(name):
        folder = Path(name)
        (folder / "docs").symlink_to(DOCS)
        for block in _BLOCK.finditer(page):
            quick = shlex.split(block["quick"]) if asked.quick else []
            for line in block["commands"].splitlines():
                words = shlex.split(line)[1:]
                if sojourn([*words, *(quick if words[0] == "run" else [])]):
                    raise SystemExit(f"{line}: it failed")
        for drawn in folder.glob("out/*.png"):
            if not asked.quick:
                IMAGES.mkdir(exist_ok=True)
                picture = Image.open(drawn).convert("RGB").quantize(_COLOURS)
                picture.save(IMAGES / drawn.name, optimize=True)


if __name__ == "__main__":
    main()
