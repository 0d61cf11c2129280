"""The handbook's how-to pages: every whole study on them is one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn import _core

HOW_TO = Path(__file__).parents[1] / "docs" / "how-to"
_BLOCK = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def studies() -> Iterator[object]:
    """The whole studies; not those that name the variants one page says how to add."""
    for page in sorted(HOW_TO.glob("*.md")):
        for place, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            if {"[topology]", "[workload]"} <= {*block.split()} and page.stem != "add-a-variant":
                yield pytest.param(block, id=f"{page.stem}-{place}")


@pytest.mark.parametrize("study", [*studies()])
def test_a_study_on_a_page_is_a_study(study):
    assert _core.Study.parse(study, "page.toml", []).cases
