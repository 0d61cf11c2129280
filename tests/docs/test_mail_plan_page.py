"""docs/how-to/why-does-my-list-take-five-hours.md, done as it says, with real deliveries."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pages
from postfix import free_port
from waiting import until

pytestmark = pytest.mark.alone

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "why-does-my-list-take-five-hours.md"
_NOT_RUN = re.compile(r"^<!-- not run: .* -->\n", re.MULTILINE)
SUBSCRIBERS = Path("list.txt")


def test_the_page_can_be_followed(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = _NOT_RUN.sub("", PAGE.read_text(encoding="utf-8"))
    # What comes before is for one's own Postfix: tests/mail/test_mail_advice.py does that.
    page = page[page.index("## A small internet to try it in") :]
    for port in ("8025", "8053"):
        page = page.replace(port, str(free_port()))
    there: list[subprocess.Popen[bytes]] = []
    done: list[list[str]] = []

    def run(words: list[str]) -> tuple[int, str]:
        assert words[0] == "sojourn"
        done.append(words[1:])
        if words[-1] == "&":
            there.append(subprocess.Popen([sys.executable, "-m", "sojourn", *words[1:-1]]))
            until(lambda: SUBSCRIBERS.exists() and SUBSCRIBERS.read_text().count("\n") == 80)
            return 0, ""
        result = command(*words[1:])
        # Somebody cannot be reached, and is left in the spool.
        assert result.code == (1 if words[1:3] == ["mail", "deliver"] else 0), result.err
        return result.code, result.out

    try:
        pages.follow(page, tmp_path, run)
    finally:
        for process in there:
            process.terminate()
            process.wait()
    assert len(done) == 7
    compared = command("compare", "predicted", "measured", "--warmup", "none", "--json").document
    (delay,) = (
        one
        for one in compared["comparisons"]
        if (one["kind"], one["metric"], one["bin"]) == ("delivery", "sojourn_ps", "all")
    )
    assert delay["a"]["n"] / 10 == delay["b"]["n"] > 70
    # On a machine that does other things too; the page says how near it is on one that does not.
    assert 0.3 < delay["b"]["p95"] / delay["a"]["p95"] < 3
    assert Path("compare.png").stat().st_size > 10_000
