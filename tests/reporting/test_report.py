"""Runs as one page: what stands in it, that it holds everything, and that a browser draws it."""

import json
import re
import shutil
from base64 import b64encode
from html.parser import HTMLParser

import numpy as np
import pytest

import sojourn
from browser import browser
from conftest import STUDY, Made, make_run
from sojourn.reporting import LARGEST, report
from sojourn.reporting.charts import charts
from sojourn.reporting.headline import headline
from sojourn.reporting.series import series
from sojourn.store import rows

DRAWN = "document.documentElement?.dataset.drawn"
ATTACK = '</script><script>alert("x")</script><b>& title'


class Page(HTMLParser):
    """The text of a page's elements by their names, and all addresses in it."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.addresses = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset")]

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]][-1] += data


@pytest.fixture
def loads(tmp_path):
    """Two schemes at three loads, five times each: slowdowns that are known."""
    rng = np.random.default_rng(5)
    return make_run(
        tmp_path / "loads",
        [
            Made(
                {"scheme": s, "load": load},
                1 + f * rng.exponential(load, 400),
                replication=r,
                arrived_ps=[5] * 400,
            )
            for s, f in [("A", 1), ("B", 3)]
            for load in (0.2, 0.5, 0.8)
            for r in range(5)
        ],
    )


def test_the_tables_are_there_without_a_script(loads, tmp_path, command):
    out = tmp_path / "report.html"
    result = command("report", loads.path, "-o", out)
    assert result.code == 0
    assert result.out.startswith(f"{out} (")
    page = Page(out.read_text())
    cells = [cell.strip() for cell in page.texts["td"]]
    for line in command("show", loads.path).out.splitlines():
        if line.strip().startswith(("A ", "B ")):
            scheme, load, *rest = line.split()
            assert scheme in cells
            assert load in cells
            assert all(number in " ".join(cells) for number in rest)
    assert any("the first 5 % to arrive" in line for line in page.texts["li"])
    assert 'title = "made up"' in "".join(page.texts["code"])


def test_nothing_in_it_comes_from_elsewhere(loads, tmp_path):
    out = tmp_path / "report.html"
    size = report([loads.path, loads.path], out)
    text = out.read_text()
    assert size == out.stat().st_size < 300_000
    assert all(address.startswith(("#", "data:")) for address in Page(text).addresses)
    assert "default-src 'none'" in text
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket", text)


def test_no_text_of_a_run_becomes_markup(tmp_path):
    run = make_run(tmp_path / "r", [Made({"scheme": ATTACK}, [1, 2, 3])])
    run.directory.study.write_text(f"title = {json.dumps(ATTACK)}\n")
    out = tmp_path / "report.html"
    report([run.path], out)
    text = out.read_text()
    page = Page(text)
    assert "<script>alert" not in text
    assert ATTACK in page.texts["h1"][0]
    (data,) = [s for s in page.texts["script"] if s.startswith("{")]
    assert json.loads(data)["charts"][0][0]["lines"][0]["label"] == ATTACK


def test_the_charts_of_a_sweep(loads):
    found = list(charts(loads))
    curves = [chart for chart in found if not chart.steps]
    mean = curves[0]
    assert (mean.x, mean.x_label, mean.y_label) == ([0.2, 0.5, 0.8], "load", "slowdown, mean")
    assert [line.label for line in mean.lines] == ["A", "B"]
    expected = [
        e.mean
        for e in loads.summary()
        if (e.bin, e.metric, e.case["scheme"]) == ("all", "slowdown", "B")
    ]
    assert mean.lines[1].y == expected
    for line in mean.lines:
        for low, middle, high in zip(line.low, line.y, line.high, strict=True):
            assert low < middle < high
    cdf = next(chart for chart in found if chart.steps)
    assert cdf.title == "flows at load = 0.8: distribution"
    for line in cdf.lines:
        assert np.all(np.diff(line.y) >= 0)
    assert max(line.y[-1] for line in cdf.lines) == 1


def test_time_series_are_drawn_where_a_study_looks_at_its_ports(command, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    looked, plain = tmp_path / "looked", tmp_path / "plain"
    assert command("run", study, "--out", looked, "--set", "sample=5us").code == 0
    assert command("run", study, "--out", plain).code == 0
    assert sojourn.load(looked).rows.equals(sojourn.load(plain).rows)
    assert not (plain / "series").exists()
    assert not list(series(sojourn.load(plain)))
    run = sojourn.load(looked)
    waiting, sending = series(run)
    table = rows.read(run.directory.beside("series", 0, 0))
    assert set(table["towards"].to_pylist()) == {"host"}
    assert table["port"].to_numpy().max() < 4
    fullest, together = waiting.lines
    assert max(fullest.y) * 1000 == pytest.approx(table["waiting_bytes"].to_numpy().max(), rel=1e-4)
    assert all(one <= all_ for one, all_ in zip(fullest.y, together.y, strict=True))
    assert waiting.x == sorted(waiting.x)
    busiest, shares = sending.lines
    assert 0 < max(busiest.y) <= 1.0001
    assert all(share <= most for share, most in zip(shares.y, busiest.y, strict=True))
    out = tmp_path / "report.html"
    assert command("report", looked, "-o", out).code == 0
    assert "share of time sending" in out.read_text()


def test_jobs_that_did_not_finish_keep_a_line_below_one(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, 2, np.nan, 4])])
    (whole,) = charts(run)
    assert whole.lines[0].y[-1] == 0.75


def test_the_claims_of_a_paper(loads, tmp_path):
    verdicts = [
        {
            "paper": "p",
            "figure": "7",
            "claim": "A is <fast>",
            "source": "section 4",
            "paper_says": "twice",
            "we_expect": None,
            "measured": measured,
            "ci95": ci95,
            "holds": holds,
            "note": "quick",
        }
        for measured, ci95, holds in [(2.5, [2.4, 2.6], True), ([1.0, 3.0], None, False)]
    ]
    (tmp_path / "claims.json").write_text(json.dumps(verdicts))
    out = tmp_path / "report.html"
    report([tmp_path], out)
    page = Page(out.read_text())
    cells = [cell.strip() for cell in page.texts["td"]]
    assert cells[:5] == [
        "7",
        "A is <fast>",
        "\N{LEFT DOUBLE QUOTATION MARK}twice\N{RIGHT DOUBLE QUOTATION MARK}",
        "2.5 [2.4, 2.6]",
        "yes",
    ]
    assert cells[5:10] == [
        "7",
        "A is <fast>",
        "\N{LEFT DOUBLE QUOTATION MARK}twice\N{RIGHT DOUBLE QUOTATION MARK}",
        "1 to 3",
        "NO",
    ]
    assert any(said.startswith("1 of 2 claims of the paper hold") for said in page.texts["p"])
    assert loads.title in [title.strip() for title in page.texts["h2"]]


def test_a_figure_about_which_nothing_is_claimed(loads, tmp_path):
    (tmp_path / "claims.json").write_text("[]")
    out = tmp_path / "report.html"
    report([tmp_path], out)
    page = Page(out.read_text())
    assert [title.strip() for title in page.texts["h2"]] == [loads.title]
    assert "of 0" not in out.read_text()


@pytest.mark.parametrize(
    "given",
    [
        ("nowhere", "r.html", "nowhere: not a run directory"),
        ("{run}", "r.txt", "a report is a file that ends in .html"),
        ("{run}", "{run}/study.toml/r.html", "cannot write the report"),
        ("{broken}", "r.html", "not the claims of a reproduced paper"),
    ],
)
def test_what_is_refused(command, loads, tmp_path, given):
    run, out, words = given
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "claims.json").write_text('[{"claim": 1}]')
    places = {"run": loads.path, "broken": broken}
    target = tmp_path / out.format(**places)
    result = command("report", run.format(**places), "-o", target)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert not target.exists()


def test_a_page_that_would_be_too_large_is_refused(command, loads, tmp_path, monkeypatch):
    out = tmp_path / "r.html"
    assert command("report", loads.path, "-o", out).code == 0
    assert out.stat().st_size < LARGEST == 2_000_000
    monkeypatch.setattr("sojourn.reporting.LARGEST", out.stat().st_size - 1)
    out.unlink()
    result = command("report", loads.path, "-o", out)
    assert result.code == 2
    assert re.search(r"[\d.]+ MB at most", result.err)
    assert not out.exists()


def test_a_browser_draws_every_chart(command, study, tmp_path):
    command("run", study, "--out", tmp_path / "run", "--replications", 2)
    out = tmp_path / "report.html"
    command("report", tmp_path / "run", "-o", out)
    with browser(tmp_path / "profile") as page:
        page.open(out.as_uri())
        drawn = int(page.await_(DRAWN))
        assert drawn >= 4
        assert page.value("document.querySelectorAll('figure.chart').length") == drawn
        assert page.value("document.querySelectorAll('canvas').length") == drawn
        # a request that left the page would be refused by its policy, and said so here
        assert page.complaints == []
        out.write_text(out.read_text().replace("<h1>", '<img src="http://192.0.2.1/x.png"><h1>'))
        page.open(out.as_uri())
        page.await_(DRAWN)
        assert any("Content Security Policy" in said for said in page.complaints)


def test_a_report_begins_with_what_came_out(tmp_path):
    generator = np.random.default_rng(8)

    def made(scheme, load, mean, replication):
        noise = generator.uniform(0.9, 1.1, 400)
        axes = {"scheme": scheme, "load": load}
        return Made(axes, mean * noise, replication=replication, arrived_ps=[5] * 400)

    cases = [
        made(s, x, m + x, r)
        for s, m in (("A", 4), ("B", 2), ("C", 3))
        for x in (0.2, 0.8)
        for r in range(10)
    ]
    run = make_run(tmp_path / "schemes", cases)
    said = headline(run, run.summary(warmup=False))
    assert said.startswith("At load 0.8, B has the lowest mean slowdown, 2.8")
    assert ". Against the next, C: scheme B is better, by 26." in said
    assert "the distributions differ" in said

    requests = [
        Made({"rate": f"{n}/s"}, [n * 1e6, n * 3e6] * 50, kind=["request"] * 100) for n in (5, 20)
    ]
    run = make_run(tmp_path / "rates", requests)
    said = headline(run, run.summary(warmup=False))
    shown = "From rate 5/s to 20/s the mean response time goes from 10 ms to 40 ms."
    assert said == shown

    several = [
        Made({"reads": r, "rate": n}, [n * m * 1e6] * 40, kind=["request"] * 40)
        for r, m in ((0, 3), (1, 1))
        for n in (2, 4)
    ]
    run = make_run(tmp_path / "several", several)
    said = headline(run, run.summary(warmup=False))
    assert said.startswith(
        "At rate 2, from share of reads 0 to 1 the mean response time goes from 6 "
    )

    run = make_run(tmp_path / "one", [Made({}, [1e6, 3e6], kind=["request"] * 2)])
    said = headline(run, run.summary(warmup=False))
    assert said == "Mean response time 2 ms, p99.9 2.998 ms (2 requests)."

    run = make_run(tmp_path / "nothing", [Made({}, [np.nan])])
    assert headline(run, run.summary()) == ""


def test_cases_without_a_steady_state_have_no_part_in_a_report(tmp_path):
    overload = {"offered_utilisation": 1.2}

    def made(failed, rate, ms, figures):
        axes = {"failed": failed, "rate": f"{rate}/s"}
        return Made(axes, [ms * 1e6] * 40, kind=["request"] * 40, figures=figures)

    slow = [made(0, 5, 20, {}), made(0, 20, 9000, overload)]
    run = make_run(tmp_path / "r", [made("none", 5, 10, {}), made("none", 20, 40, {}), *slow])
    assert headline(run, run.summary(warmup=False)) == (
        "With no disk failed, from rate 5/s to 20/s the mean response time goes from 10 ms"
        " to 40 ms."
        " 1 other case has no steady state."
    )
    mean, _, cdf = charts(run)
    assert [(line.label, line.y) for line in mean.lines] == [
        ("no disk failed", [10, 40]),
        ("disk 0 failed", [20, None]),
    ]
    assert mean.title == "requests: mean; no point without a steady state"
    assert "without a steady state" in cdf.title
    run = make_run(tmp_path / "none", slow[1:])
    said = headline(run, run.summary(warmup=False))
    assert said == "No case has a steady state, so no number describes it."


def test_a_papers_report_shows_its_figures(tmp_path, loads):
    out = tmp_path / "paper"
    out.mkdir()
    (out / "claims.json").write_text("[]")
    drawn = b"\x89PNG two"
    (out / "figure-2.png").write_bytes(drawn)
    shutil.copytree(loads.path, out / "websearch")
    page = tmp_path / "r.html"
    report([out], page)
    assert "Figure 2" in page.read_text()
    verdict = {
        "figure": "2",
        "claim": "quick",
        "source": "section 4",
        "paper_says": "twice",
        "we_expect": None,
        "measured": 1.9,
        "ci95": None,
        "holds": False,
        "note": "",
    }
    (out / "claims.json").write_text(json.dumps([verdict]))
    report([out], page)
    text = page.read_text()
    assert "0 of 1 claims of the paper hold; not those about figure 2." in text
    assert f"data:image/png;base64,{b64encode(drawn).decode()}" in text
