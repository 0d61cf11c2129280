"""Numbers in prose have a run (tools/results.py): those of this repository, and small examples."""

from pathlib import Path

import pytest

import results

ROOT = Path(__file__).parents[2]

TABLE = """\
[long]
command = "sojourn run study.toml"
seeds = "1 to 3"
length = "100,000 flows"
commit = "0a8180d3"

[long.values]
tail = "65 ± 7"
small = ["3.1 ms", "4.2"]

[long.values.sizes]
"DCTCP" = ["1.5", "20"]
"TCP" = ["2.5", "30"]

[quick]
command = "sojourn reproduce pfabric"
seeds = "1"
length = "2,000 flows"
full = "100,000 flows"
commit = "0a8180d3"

[quick.values]
tail = "48 times"
"""

PAGE = """\
# A page

<!-- given: 200 ms, 10 Gb/s -->

A link of 10 Gb/s and a time-out of 200 ms; `queue = "5 ms"`, "it takes 9 ms", loads 0.1 to 0.8.

- The tail is 65 ± 7 in
  a long run. <!-- results: long.tail --> Nothing else is said.
- It takes 3.1 ms, and with DCTCP 4.2. <!-- results: long.small -->

| scheme, load | mean | p99 |
| --- | --- | --- |
| DCTCP, 0.8 | 1.5 | 20 |
| TCP, 0.8 | 2.5 | 30 |

<!-- results: long.sizes -->

A quick run of 2,000 flows has 48 times as much. <!-- results: quick.tail -->

```text
mean 1.5149
```

It prints 1.51 ms. <!-- results: printed -->
"""

FINDING = 'finding = "it is 48 times in a quick run of 2,000 flows" # results: page/quick.tail\n'


@pytest.fixture
def written(tmp_path):
    """A repository with one page, its table and one finding, each as it is or with one change."""

    def write(page=PAGE, table=TABLE, finding=FINDING):
        for name, text in (
            ("docs/how-to/page.md", page),
            ("docs/results/page.toml", table),
            ("papers/paper/claims.toml", f"# given: 2,000 flows\n{finding}"),
        ):
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_every_number_of_the_handbook_has_its_run():
    assert results.check(ROOT) == []


def test_a_page_may_quote_its_table(written):
    assert results.check(written()) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("is 65 ± 7 in", "is 66 ± 7 in", "the text has 66 ± 7; page/long.tail has 65 ± 7"),
        ("3.1 ms, and", "3.1 us, and", "the text has 3.1 us, 4.2"),
        ("with DCTCP 4.2", "with DCTCP 4.2, or 4.3", "the text has 3.1 ms, 4.2, 4.3"),
        ("3.1 ms, and with DCTCP 4.2", "4.2, and with DCTCP 3.1 ms", "the text has 4.2, 3.1 ms"),
        ("| 2.5 | 30 |", "| 2.5 | 31 |", "the text has 1.5, 20, 2.5, 31"),
        ("Nothing else is said", "The rest takes 12 us", "12 us: measured, but no run is named"),
        ("Nothing else is said", "It is 3 % of that", "3 %: measured, but no run is named"),
        ("Nothing else is said", "It is in [0.1, 0.2]", "[0.1, 0.2]: measured, but no run"),
        ("Nothing else is said", "It takes 12us", "12us: measured, but no run is named"),
        ("Nothing else is said", "It is 3x as fast", "3x: measured, but no run is named"),
        ("Nothing else is said", "From 3 to 5 ms", "3 to 5 ms: measured, but no run is named"),
        ("Nothing else is said", "It takes 3, 4 or 5 ms", "3, 4, 5 ms: measured, but no run"),
        ("200 ms;", "300 ms;", "300 ms: measured, but no run is named"),
        ("results: long.tail", "results: long.tall", "no table has the row page/long.tall"),
        ("results: long.tail", "results: other/long.tail", "no table has the row other/long.tail"),
        ("A quick run of 2,000", "A run of 2,000", 'its sentence says "quick" and 2,000 flows'),
        ("of 2,000 flows has", "has", 'its sentence says "quick" and 2,000 flows'),
        ("of 2,000 flows has", "is short. It has", 'its sentence says "quick" and 2,000 flows'),
        ("prints 1.51 ms", "prints 1.52 ms", "1.52 ms: no block of the page prints it"),
    ],
)
def test_a_page_may_not_quote_what_its_table_does_not_have(written, old, new, said):
    assert PAGE.count(old) == 1
    found = results.check(written(page=PAGE.replace(old, new)))
    assert any(line.startswith("docs/how-to/page.md:") and said in line for line in found), found


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"65 ± 7"', '"65 ± 8"', "page/long.tail has 65 ± 8"),
        ('commit = "0a8180d3"\n\n[long', "\n[long", "page/long: `commit` is missing"),
        ("seeds", "seed", "page/long: `seed` is no key of a run"),
        ('tail = "65 ± 7"', 'tail = "65 ± 7"\nmore = "1.0"', "long.more: no page quotes this row"),
        ('"0a8180d3"', '"some"', "page/long: `commit` is no hash of one"),
        ("length", 'origin = "memory"\nlength', 'page/long: `origin` is left out, or "page"'),
        ("study.toml", "study.toml --set workload.flows=9", "page/long: `full` is missing"),
        ('tail = "65 ± 7"', 'tail = "65 ± 7"\nnone = []', "page/long.none: it has no value"),
        ('full = "100,000 flows"\n', "", "page/quick: `full` is missing"),
    ],
)
def test_a_table_may_not_leave_anything_out(written, old, new, said):
    found = results.check(written(table=TABLE.replace(old, new)))
    assert any(said in line for line in found), found


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        ('finding = "it is 49 in long runs"\n', "49: measured, but no run is named"),
        (FINDING.replace("48", "49"), "the text has 49 times"),
        (FINDING.replace("quick run", "run"), 'its sentence says "quick" and 2,000 flows'),
    ],
)
def test_a_finding_is_held_to_the_same(written, finding, said):
    found = results.check(written(finding=finding))
    assert any(line.startswith("papers/paper/claims.toml:2:") and said in line for line in found)


def test_new_values_of_a_table_are_written_into_its_pages(written, monkeypatch):
    root = written(table=TABLE.replace("65 ± 7", "71 ± 2").replace('"30"', '"33"'))
    monkeypatch.setattr(results, "committed", lambda *_: TABLE)
    results.write(root)
    page = (root / "docs/how-to/page.md").read_text(encoding="utf-8")
    assert page == PAGE.replace("65 ± 7", "71 ± 2").replace("| 30 |", "| 33 |")
    assert results.check(root) == []


def test_a_new_row_is_taken_from_its_page(written):
    before = TABLE.replace('tail = "65 ± 7"\n', "").replace('"DCTCP" = ["1.5", "20"]\n', "")
    root = written(table=before.replace('[long.values.sizes]\n"TCP" = ["2.5", "30"]\n\n', ""))
    assert len(results.check(root)) == 2
    results.write(root)
    assert results.check(root) == []
    table = (root / "docs/results/page.toml").read_text(encoding="utf-8")
    assert 'tail = "65 ± 7"\n' in table
    assert '"DCTCP, 0.8" = ["1.5", "20"]\n"TCP, 0.8" = ["2.5", "30"]\n' in table
