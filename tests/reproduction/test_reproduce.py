"""Papers as data, and `sojourn reproduce` from end to end."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn._internal.errors import InputError
from sojourn._internal.vocabulary import ALL_SIZES
from sojourn.analysis.fairness import STATISTICS
from sojourn.execution import studies
from sojourn.reproduction import papers, reproduce
from sojourn.reproduction.claims import COVERS, RULES
from sojourn.reproduction.results import SPREADS, Quantity
from sojourn.store.columns import Columns
from sojourn.store.ledger import Ledger

CONTRACT = [
    "paper", "figure", "claim", "source", "paper_says", "we_expect",
    "measured", "ci95", "holds", "note",
]  # fmt: skip
SCHEMES = ["TCP+DropTail", "DCTCP", "MinTCP+pFabric", "LineRate+pFabric", "Ideal"]


def value_of(case, column):
    """The value of a case in a column; None where it is a column of the rows."""
    known = {**case.parameters, **case.axes}
    found = [known[name] for name in known if name == column]
    found += [known[name] for name in known if name.rpartition(".")[2] == column]
    return found[0] if found else None


def places(paper, run, cases):
    """The lines of a run, None where only its rows know them, and the values along its axis."""
    plan = paper.runs[run]
    for case in cases:
        parts = [value_of(case, column) for column in plan.lines]
        line = None if None in parts else ", ".join(map(str, parts))
        yield line, str(value_of(case, plan.x) or 0)  # an axis of words and numbers is words


def asked_for(measure, there):
    """The lines and values that a measure looks at, `there` being those of the run."""
    match measure:
        case {"kind": "level" | "steps", "lines": lines}:
            values = measure.get("at", ())
        case {"kind": "ratio" | "lead", "of": of, "to": to}:
            lines, values = of + to, measure.get("at", ())
        case {"kind": "choice", "lines": lines, "at": at, "than": than}:
            values = (at, *than)
        case _:
            return set()
    return {(s, str(v)) for s in lines for v in values or {value for _, value in there}}


READ = {
    " as ".join([paper.name, *([reading] if reading else [])]): paper.under(reading)
    for paper in papers.find(papers.ALL)
    for reading in (None, *paper.readings)
}


STUDIES = [
    path for path in papers.ROOT.glob("*/*.toml") if path.name not in ("paper.toml", "claims.toml")
]


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_study_of_a_paper_can_be_run(path):
    study = studies.parse(studies.read(path), str(path), [], seed=None, replications=None)
    assert study.cases()


@pytest.mark.parametrize("paper", READ.values(), ids=READ)
@pytest.mark.parametrize("full", [False, True])
def test_studies_figures_and_claims_belong_together(paper, full):
    cases = {run: paper.runs[run].parsed(full=full).cases() for run in paper.runs}
    for run, plan in paper.runs.items():
        columns = Columns(
            axes=tuple({name for case in cases[run] for name in case.axes}),
            parameters=tuple({name for case in cases[run] for name in case.parameters}),
            of_rows=("kind", "outcome", "op"),
        )
        assert all(columns.find(name) for name in plan.lines)
    for figure in paper.figures.values():
        assert set(figure.runs) <= set(paper.runs)
        drawn = [paper.runs[panel.run] for panel in figure.panels if panel.kind != "day"]
        assert not [plan.x for plan in drawn if "." in (plan.axis or plan.x)]
        for panel in figure.panels:
            assert panel.what.bin in (ALL_SIZES, *panel.what.of.bins)
            statistic = panel.what.statistic
            known = STATISTICS if panel.kind == "averages" else SPREADS
            assert statistic in known or re.fullmatch(r"mean|p\d+", statistic)
    for claim in paper.claims:
        assert claim.rule in {COVERS, *RULES}
        assert claim.measure["kind"] in paper.measures
        assert claim.ends[0] <= claim.ends[1]
        figures = paper.chosen(claim.figures)
        assert set(claim.needs) <= {run for figure in figures for run in figure.runs}
        for run in claim.needs:
            there = set(places(paper, run, cases[run]))
            wanted = asked_for(claim.measure, there)
            if {line for line, _ in there} == {None}:
                wanted = {(None, value) for _, value in wanted}
            assert wanted <= there


def test_the_full_pfabric_is_as_long_as_it_has_to_be():
    (paper,) = papers.find("pfabric")
    for run in ("websearch", "datamining"):
        study = paper.runs[run].parsed(full=True)
        assert study.replications >= 3
        assert {case.jobs for case in study.cases()} == {100_000}
        axes = [(case.axes["scheme"], case.axes["load"]) for case in study.cases()]
        loads = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
        assert sorted(axes) == sorted((scheme, load) for scheme in SCHEMES for load in loads)
        assert {case.parameters["topology.k"] for case in study.cases()} == {6}


def test_a_reading_that_changes_nothing_of_a_figure_is_refused():
    (paper,) = papers.find("pfabric")
    assert paper.chosen(["2", "4"], "packets") == paper.chosen(["2", "4"])
    with pytest.raises(InputError, match="'packets' changes nothing in figure 4, but in 2, 3"):
        paper.chosen(["4"], "packets")


def test_a_claim_of_two_figures_needs_both():
    (paper,) = papers.find("pfabric")
    of_one = paper.claims_of(paper.chosen(["4"]))
    of_both = paper.claims_of(paper.chosen(["3", "4"]))
    assert {claim.figures for claim in of_one} == {("4",)}
    assert {claim.figures for claim in of_both} == {("3",), ("4",), ("3", "4")}
    assert paper.claims_of(paper.chosen([])) == list(paper.claims)


def test_a_reading_changes_what_is_run_and_nothing_else():
    (paper,) = papers.find("pfabric")
    other = paper.under("packets")
    assert (other.figures, other.claims) == (paper.figures, paper.claims)
    (before,) = {
        case.parameters["workload.sizes"]
        for case in paper.runs["datamining"].parsed(full=True).cases()
    }
    (after,) = {
        case.parameters["workload.sizes"]
        for case in other.runs["datamining"].parsed(full=True).cases()
    }
    assert (before, after) == ("datamining-bytes", "datamining")
    assert "the table datamining," in other.runs["datamining"].note
    assert other.runs["websearch"] == paper.runs["websearch"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """pFabric with so few flows that it takes seconds."""
    (paper,) = papers.find("pfabric")
    brief = ("workload.flows = 15", "run.replications = 1", "sweep.workload.load = [0.1, 0.8]")
    runs = {
        name: replace(plan, quick=brief if plan.quick else ()) for name, plan in paper.runs.items()
    }
    paper = replace(paper, runs=runs)
    out = tmp_path_factory.mktemp("tiny")
    figures = paper.chosen([])
    return paper, figures, out, reproduce(paper, figures, out, full=False, command="a test")


def test_every_claim_is_judged(tiny):
    paper, _, out, done = tiny
    assert len(done.verdicts) == len(paper.claims)
    for verdict in done.verdicts:
        low_high = verdict.measured if isinstance(verdict.measured, tuple) else [verdict.measured]
        assert all(value is None or value >= 0 for value in low_high)
        assert (
            "quick, 15 jobs a case, 1 replication" in verdict.note or verdict.figure == "elephants"
        )
    written = json.loads((out / "claims.json").read_text())
    assert [list(verdict) for verdict in written] == [CONTRACT] * len(done.verdicts)


def test_every_figure_with_panels_is_drawn(tiny):
    _, figures, out, done = tiny
    drawn = [f"figure-{figure.id}.png" for figure in figures if figure.panels]
    assert [path.name for path in done.pictures] == drawn
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in done.pictures)
    assert all(path.parent == out for path in done.pictures)


def test_again_runs_nothing_and_says_the_same(tiny):
    paper, _, out, done = tiny
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    again = reproduce(paper, paper.chosen(["2"]), out, full=False, command="a test")
    assert again.verdicts == tuple(v for v in done.verdicts if v.figure == "2")
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} == before


def test_what_is_finished_so_far_is_judged(tiny, tmp_path):
    """Of web search only load 0.8 is there, of the time-outs one run, of others nothing."""
    paper, figures, out, done = tiny
    for run in ("websearch", "rto"):
        shutil.copytree(out / run, tmp_path / run)
    ledger = tmp_path / "websearch/cases.parquet"
    Ledger(r for r in Ledger.read(ledger) if r.axes["load"] == 0.8).write(ledger)
    found = reproduce(paper, figures, tmp_path, full=False, command="a test", so_far=True)
    assert [path.name for path in found.pictures] == ["figure-4.png"]
    assert {verdict.figure for verdict in found.verdicts} == {"4", "time-outs"}
    complete = {verdict.claim: verdict for verdict in done.verdicts}
    for verdict in found.verdicts:
        assert verdict.measured == complete[verdict.claim].measured
        lacking = ", 5 cases not run yet" if verdict.figure == "4" else ", web search"
        assert f"so far, 15 jobs a case, 1 replication{lacking}" in verdict.note
    shutil.rmtree(tmp_path / "rto/rows")
    found = reproduce(paper, figures, tmp_path, full=False, command="a test", so_far=True)
    assert {verdict.figure for verdict in found.verdicts} == {"4"}, "records without rows"
    with pytest.raises(InputError, match=r"websearch: holds another run: workload.flows is 15 th"):
        reproduce(paper, figures, tmp_path, full=True, command="a test", so_far=True)
    with pytest.raises(InputError, match="nothing finished there"):
        reproduce(paper, figures, tmp_path / "no", full=False, command="a test", so_far=True)
    assert not (tmp_path / "no").exists()


def test_a_figure_is_as_in_the_paper(tiny):
    from sojourn.api.handles import Run
    from sojourn.reproduction.drawing import draw
    from sojourn.reproduction.results import Result

    paper, _, out, _ = tiny
    result = Result("websearch", Run.open(out / "websearch"), "load")
    picture = draw(paper.figures["4"], {"websearch": result}, notes=["a note"])
    titles = ["(0,100KB], average", "(0,100KB], 99th percentile", "(100KB,10MB], average"]
    assert [panel.get_title() for panel in picture.axes] == [*titles, "(10MB,inf), average"]
    assert [text.get_text() for text in picture.legends[0].get_texts()] == SCHEMES
    for panel in picture.axes:
        assert panel.get_xlabel() == "load"
        assert "normalised FCT" in panel.get_ylabel()  # as the paper says
        assert [tick.get_text() for tick in panel.get_xticklabels()] == ["0.1", "0.8"]
    (line,) = [c for c in picture.axes[0].containers if c.get_label() == "DCTCP"]
    points = [tuple(point) for point in line.lines[0].get_xydata()]
    cells = [result.cell("DCTCP", load, Quantity("(0,100KB]")) for load in (0.1, 0.8)]
    assert points == [
        (load, cell.point().value) for load, cell in zip((0.1, 0.8), cells, strict=True)
    ]
    assert "a note" in picture.get_supxlabel()
    named = Result("websearch", Run.open(out / "websearch"), "load", axis="offered load")
    again = draw(paper.figures["4"], {"websearch": named}, notes=[])
    assert {panel.get_xlabel() for panel in again.axes} == {"offered load"}
    assert named.cell("DCTCP", 0.1, Quantity()).at == "offered load 0.1"


PAPER = """\
title = "A paper"
source = "Somebody, 2026"
[runs.four]
study = "four.toml"
note = "four hosts"
quick = ["workload.flows = 120"]
[figures.1]
title = "Figure 1"
panels = [{ run = "four", title = "all", bin = "all", statistic = "mean" }]
"""
STUDY = """\
title = "four hosts"
topology = { kind = "single-switch", hosts = 4 }
workload = { kind = "poisson", load = 0.5 }
sweep.scheme = ["DCTCP", "Ideal"]
sweep.workload.load = [0.4]
"""
CLAIM = """\
[[claims]]
figures = ["1"]
claim = "nothing beats the best possible"
source = "section 1"
paper_says = "at least 1"
ends = {ends}
rule = "at least"
within = 0
because = "of its definition"
measure = {{ kind = "level", run = "four", lines = ["DCTCP"], bin = "all", statistic = "mean" }}
"""


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """One paper of its own, whose only claim holds; it is the only one there is."""
    folder = tmp_path / "papers" / "small"
    folder.mkdir(parents=True)
    (folder / "paper.toml").write_text(PAPER)
    (folder / "four.toml").write_text(STUDY)
    (folder / "claims.toml").write_text(CLAIM.format(ends=1))
    monkeypatch.setattr(papers, "ROOT", folder.parent)
    monkeypatch.chdir(tmp_path)
    return folder


def test_so_far_needs_each_case_once(paper, command):
    """Two schemes in two replications: with the first of either a claim about both is judged."""
    study = STUDY + "run.replications = 2\n"
    (paper / "four.toml").write_text(study)
    both = CLAIM.format(ends=1).replace('lines = ["DCTCP"]', 'lines = ["DCTCP", "Ideal"]')
    (paper / "claims.toml").write_text(both)
    assert command("reproduce", "--so-far", "--json").code == 2, "nothing begun"
    (whole,) = command("reproduce", "--json").document
    ledger = Path("out/small/four/cases.parquet")
    records = list(Ledger.read(ledger))
    Ledger(record for record in records if record.replication == 0).write(ledger)
    (once,) = command("reproduce", "--so-far", "--json").document
    assert once["holds"]
    assert once["measured"] != whole["measured"]
    assert "1 replication, 2 cases not run yet" in once["note"]
    Ledger(records[:1]).write(ledger)
    (half,) = command("reproduce", "--so-far", "--json").document
    assert (half["measured"], half["holds"]) == (None, False)
    assert "not judged: 1 case not run yet" in half["note"]
    shown = command("reproduce", "--so-far")
    assert (shown.code, "NO" in shown.out) == (1, False)
    assert "0 of 1 claims hold, 1 not measured" in shown.out


def test_all_so_far_leaves_out_papers_that_are_not_begun(paper, command):
    shutil.copytree(paper, paper.parent / "other")
    assert command("reproduce", "other").code == 0
    (verdict,) = command("reproduce", "--so-far", "--json").document
    assert verdict["paper"] == "other"
    assert command("reproduce", "small", "--so-far").code == 2


def test_the_command_prints_one_document(paper, command, tmp_path):
    (paper / "paper.toml").write_text(PAPER.replace("flows = 120", "flows = 20000"))
    done = command("reproduce", "small", "--json")
    # A slow machine also says how far it is.
    lines = done.err.splitlines()
    written = [line.removeprefix("wrote ") for line in lines if line.startswith("wrote ")]
    assert done.code == 0
    assert written
    assert all((tmp_path / path).is_file() for path in written), done.err
    (verdict,) = done.document
    assert list(verdict) == CONTRACT
    assert (verdict["paper"], verdict["figure"], verdict["paper_says"]) == (
        "small",
        "1",
        "at least 1",
    )
    assert verdict["holds"] is True
    assert verdict["ci95"][0] < verdict["measured"] < verdict["ci95"][1]
    assert done.document == json.loads((tmp_path / "out/small/claims.json").read_text())
    meta = json.loads((tmp_path / "out/small/four/meta.json").read_text())
    assert meta["command"] == "sojourn reproduce small --json"


def test_a_claim_that_does_not_hold_is_exit_code_one(paper, command):
    (paper / "claims.toml").write_text(CLAIM.format(ends=1000))
    done = command("reproduce", "--out", "elsewhere")
    assert done.code == 1
    assert "NO" in done.out
    assert "0 of 1 claims hold" in done.out
    assert Path("elsewhere/small/figure-1.png").exists()


def test_a_figure_without_claims(paper, command):
    (paper / "claims.toml").write_text("claims = []\n")
    done = command("reproduce", "small")
    assert done.code == 0
    assert done.out.startswith("A paper (Somebody, 2026)\nno claim of the text is judged here")


def test_full_is_the_study_as_it_stands(paper, command):
    (paper / "four.toml").write_text(STUDY.replace("load = 0.5", "load = 0.5, flows = 70"))
    for options, flows in (([], 120), (["--full"], 70)):
        (verdict,) = command("reproduce", "small", *options, "--json").document
        assert f"{flows} jobs a case" in verdict["note"]
    assert {path.name for path in Path("out").iterdir()} == {"small", "small-full"}


@pytest.mark.usefixtures("paper")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["smal"], "no paper 'smal', did you mean 'small'?"),
        (["mail"], "no paper 'mail'"),
        (["small", "--figure", "2"], "small: no figure '2'; available: 1"),
        (["all", "--figure", "one"], "small: no figure 'one'; available: 1"),
        (["small", "--reading", "other"], "small: no reading 'other'"),
    ],
)
def test_a_name_that_is_none_is_refused_before_anything_runs(command, arguments, said):
    done = command("reproduce", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not Path("out").exists()


READINGS = """
[readings.busy.four]
note = "four busy hosts"
set = ["sweep.workload.load = [0.7]"]
"""


def test_claims_by_readings(paper, command):
    (paper / "paper.toml").write_text(PAPER + READINGS)
    never = CLAIM.replace("nothing beats", "all beat").format(ends=1000).replace("section 1", "1.2")
    finding = 'finding = "nothing is so slow"\n'
    (paper / "claims.toml").write_text(CLAIM.format(ends=1) + never + finding)
    done = command("reproduce", "small", "--readings", "all", "--json")
    assert done.code == 1
    holds, fails = done.document
    assert holds["holds"] == {"quick": True, "busy": True}
    assert (fails["holds"], fails["finding"]) == (
        {"quick": False, "busy": False},
        "nothing is so slow",
    )
    shown = command("reproduce", "small", "--readings", "all")
    assert "1 of 2 claims hold under some reading" in shown.out
    assert "under no reading: all beat the best possible: nothing is so slow" in shown.out
    refused = command("reproduce", "small", "--readings", "all", "--full")
    assert (refused.code, "--readings: expected no" in refused.err) == (2, True)


def test_a_reading_that_does_not_touch_a_claim_says_nothing_of_it(paper, command):
    runs = (
        '[runs.other]\nstudy = "four.toml"\nnote = "the same"\nquick = ["workload.flows = 100"]\n'
    )
    panel = 'panels = [{ run = "other", title = "all", bin = "all", statistic = "mean" }]\n'
    figure = f'[figures.2]\ntitle = "Figure 2"\n{panel}'
    changed = READINGS.replace("readings.busy.four", "readings.busy.other")
    (paper / "paper.toml").write_text(PAPER + runs + figure + changed)
    (row,) = command("reproduce", "small", "--readings", "all", "--json").document
    assert (row["holds"], row["applicable"]) == ({"quick": True, "busy": None}, ["quick"])
