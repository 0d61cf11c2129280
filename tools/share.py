"""Write manual pages and completions into the folder that a wheel installs below `share`.

Usage: share.py FOLDER
"""

import sys
from pathlib import Path

from click_man.core import write_man_pages

from sojourn import __version__
from sojourn.cli import commands
from sojourn.cli.completion import script

_COMPLETIONS = {
    "bash": "bash-completion/completions/sojourn",
    "zsh": "zsh/site-functions/_sojourn",
    "fish": "fish/vendor_completions.d/sojourn.fish",
}


def main(share: Path) -> None:
    """Write all of them."""
    manuals = share / "man" / "man1"
    manuals.mkdir(parents=True, exist_ok=True)
    write_man_pages("sojourn", commands, version=__version__, target_dir=str(manuals))
    for shell, place in _COMPLETIONS.items():
        file = share / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script(commands, shell), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
