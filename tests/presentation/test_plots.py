"""Pictures: what their panels hold, and that the same numbers give the same bytes."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import Made, make_run
from sojourn._internal.errors import InputError
from sojourn.api.handles import Run
from sojourn.presentation.axes import Labels
from sojourn.presentation.plots import kinds, targets
from sojourn.presentation.points import draw_points

NAN = float("nan")
SCHEMES = ("TCP+DropTail", "DCTCP", "MinTCP+pFabric")
SIZES = [1000, 1_000_000, 20_000_000]


def jobs(scale):
    """Three sizes of job, a hundred of each, slowdowns between 1 and `scale`."""
    return np.linspace(1, scale, 300), SIZES * 100


@pytest.fixture
def swept(tmp_path):
    """Three schemes at three loads."""
    cases = [
        Made({"scheme": scheme, "load": load}, *jobs(2 + 10 * place * load))
        for place, scheme in enumerate(SCHEMES)
        for load in (0.8, 0.2, 0.5)
    ]
    return make_run(tmp_path / "swept", cases)


def labels(panel):
    return panel.get_legend_handles_labels()[1]


def heights(panel, line):
    """The points of the line of that name, from left to right."""
    (found,) = [c for c in panel.containers if c.get_label() == line]
    return [tuple(point) for point in found.lines[0].get_xydata()]


def test_a_panel_for_each_size_and_a_line_for_each_scheme(swept):
    panels = swept.plot(warmup=False).axes
    assert len(panels) == 8
    assert [panel.get_title() for panel in panels[:4]] == [
        "all sizes",
        *TITLES,
    ]
    for panel in panels:
        assert labels(panel) == list(SCHEMES)
        assert panel.get_xlabel() == "load"
    assert panels[0].get_ylabel() == "mean slowdown"
    assert panels[4].get_ylabel() == "99th percentile of\nslowdown"
    assert [text.get_text() for text in swept.plot().legends[0].get_texts()] == list(SCHEMES)


def test_the_points_are_the_summarys(swept):
    panels = swept.plot().axes
    summary = swept.summary(by=["scheme", "load"], percentiles=[99])
    for row, value in ((0, lambda e: e.mean), (4, lambda e: e.quantiles["p99"])):
        for panel, size_bin in zip(panels[row : row + 4], ["all", *size_bins()], strict=True):
            for scheme in SCHEMES:
                assert heights(panel, scheme) == sorted(
                    (e.case["load"], value(e))
                    for e in summary
                    if (e.metric, e.bin, e.case["scheme"]) == ("slowdown", size_bin, scheme)
                )


def size_bins():
    return ["(0,100KB]", "(100KB,10MB]", "(10MB,inf)"]


IN_WORDS = ["up to 100 KB", "from 100 KB to 10 MB", "over 10 MB"]
TITLES = [f"sizes {words}" for words in IN_WORDS]


def test_missed_deadlines_are_the_summarys(tmp_path):
    due = [-1] * 200 + [700_000] * 100
    cases = [
        Made({"scheme": scheme, "load": load}, *jobs(1000 * load), deadline_ps=due)
        for scheme in SCHEMES
        for load in (0.2, 0.8)
    ]
    run = make_run(tmp_path / "r", cases)
    panel, *others = run.plot("missed", warmup=False).axes
    assert [panel.get_title() for panel in others] == TITLES
    assert panel.get_ylabel() == "missed deadlines [%]"
    assert panel.get_ylim()[0] == 0
    shares = heights(panel, "DCTCP")
    assert shares == [
        (e.case["load"], e.mean * 100)
        for e in run.summary(warmup=False)
        if keyed(e) == ("DCTCP", "all", "missed_deadline")
    ]
    assert shares[0] == (0.2, 0)
    assert 30 < shares[1][1] < 40


def test_without_deadlines_nothing_is_drawn_of_them(swept):
    assert kinds(swept) == ("slowdown", "cdf")
    with pytest.raises(InputError, match="no job of this run has a deadline"):
        swept.plot("missed")


def test_bars_are_the_intervals(tmp_path):
    """Jobs of each replication arrive together, so that replications are what there is."""
    cases = [
        Made({"scheme": scheme, "load": load}, [load, place + r], replication=r, arrived_ps=[5, 5])
        for place, scheme in enumerate(SCHEMES)
        for load in (0.8, 0.2, 0.5)
        for r in range(5)
    ]
    run = make_run(tmp_path / "r", cases)
    panel = run.plot().axes[0]
    (bars,) = panel.containers[1].lines[2]
    drawn = [segment[:, 1].tolist() for segment in bars.get_segments()]
    summary = run.summary(by=["scheme", "load"])
    wanted = {e.case["load"]: e.ci95 for e in summary if keyed(e) == ("DCTCP", "all", "slowdown")}
    assert np.allclose(drawn, [wanted[load] for load in sorted(wanted)])


def test_a_value_without_bound_is_left_out():
    """As p95/p5 is where the lowest twentieth gets nothing: `np.inf` has no place and no bar."""
    panel = Figure().add_subplot()
    points = [(1, (2.0, 1.0, 4.0)), (2, (np.inf, np.inf, np.inf)), (3, (np.inf, 1.0, np.inf))]
    draw_points(panel, points, "a line", {})
    (bars,) = panel.containers[0].lines[2]
    drawn = [segment[:, 1].tolist() for segment in bars.get_segments() if segment.size]
    assert [ends for ends in drawn if not np.isnan(ends).any()] == [[1.0, 4.0]]
    assert np.isfinite(panel.dataLim.intervaly).all()


def test_cases_without_a_steady_state_are_drawn_apart(tmp_path):
    """At the top of the panel, on no line, and without a say in where the axis ends."""
    overload = {"offered_utilisation": 1.0}
    cases = [
        Made({"disks": disks, "rate": rate}, [scale, scale], figures=overload if scale > 50 else {})
        for disks in ("two", "three")
        for rate, scale in ((1, 2), (2, 99), (3, 4), (4, 5000))
    ]
    picture = make_run(tmp_path / "r", cases).plot()
    panel = picture.axes[0]
    assert labels(panel) == ["two", "three"]
    for line in ("two", "three"):
        numbers = [value for _, value in heights(panel, line)]
        assert np.allclose(numbers, [2, NAN, 4, NAN], equal_nan=True)
    apart = [own for own in panel.lines if own.get_gid() == "no steady state"]
    assert [own.get_xdata().tolist() for own in apart] == [[2, 4], [2, 4]]
    assert {own.get_linestyle() for own in apart} == {"None"}
    first, second = (own.get_ydata()[0] for own in apart)
    assert 0 < second < first < 1
    assert panel.get_ylim()[1] < 10
    assert second * panel.get_ylim()[1] > 4
    said = picture._supxlabel.get_text().replace("\n", " ")
    assert "open triangles at the top: no steady state" in said


def test_a_picture_without_any_steady_case_has_no_numbers(tmp_path):
    overload = {"offered_utilisation": 1.5}
    cases = [Made({"rate": rate}, [9, 9], figures=overload) for rate in (1, 2)]
    panel = make_run(tmp_path / "r", cases).plot().axes[0]
    assert panel.get_yticks().tolist() == []
    assert [own.get_gid() for own in panel.lines].count("no steady state") == 1


def test_a_distribution_without_a_steady_state_is_named(tmp_path):
    overload = {"offered_utilisation": 1.5}
    cases = [
        Made({"rate": 1, "failed": failed}, [2, 3], kind=["request"] * 2, figures=figures)
        for failed, figures in (("none", {}), (0, overload))
    ]
    picture = make_run(tmp_path / "r", cases).plot("cdf", x="rate")
    assert labels(picture.axes[0]) == ["no disk failed", "disk 0 failed"]
    said = picture._supxlabel.get_text().replace("\n", " ")
    assert said.startswith("disk 0 failed: no steady state")
    assert "a longer run has another distribution" in said


def test_failed_disks_are_named_along_the_axis(tmp_path):
    cases = [
        Made({"failed": failed}, [2, 3], kind=["request"] * 2) for failed in ("none", 0, "[0, 3]")
    ]
    panel = make_run(tmp_path / "r", cases).plot().axes[0]
    ticks = [text.get_text() for text in panel.get_xticklabels()]
    assert ticks == ["no disk failed", "disk 0 failed", "disks 0 and 3 failed"]


def keyed(estimate):
    return estimate.case["scheme"], estimate.bin, estimate.metric


def test_a_wide_range_is_drawn_logarithmic(tmp_path):
    for place, (highest, scale) in enumerate([(10, "linear"), (5000, "log")]):
        cases = [Made({"load": load}, *jobs(highest * load)) for load in (0.5, 0.9)]
        run = make_run(tmp_path / str(place), cases)
        assert {panel.get_yscale() for panel in run.plot().axes} == {scale}


def test_a_bin_without_jobs_has_no_panel(tmp_path):
    run = make_run(tmp_path / "r", [Made({"load": load}, [1, 2, 3]) for load in (0.2, 0.4)])
    titles = [panel.get_title() for panel in run.plot().axes]
    assert titles == ["", ""]
    assert run.plot().legends == []  # a single line needs no name


def test_a_run_without_a_sweep_is_drawn_against_sizes(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, *jobs(3))])
    panels = run.plot().axes
    assert len(panels) == 2
    for panel in panels:
        ticks = [text.get_text() for text in panel.get_xticklabels()]
        assert ticks == ["all sizes", *IN_WORDS]
        assert panel.get_xlabel() == "size of the flow"
    assert [panel.get_title() for panel in run.plot("cdf").axes][1:] == TITLES


def test_names_along_the_axis_are_not_joined(tmp_path):
    run = make_run(tmp_path / "r", [Made({"scheme": name}, *jobs(3)) for name in SCHEMES])
    panel = run.plot().axes[0]
    assert [text.get_text() for text in panel.get_xticklabels()] == list(SCHEMES)
    assert panel.containers[0].lines[0].get_linestyle() == "None"
    assert labels(run.plot("cdf").axes[0]) == list(SCHEMES)


def test_another_axis_and_other_lines(tmp_path):
    cases = [
        Made({"load": load, "k": k, "on": on}, *jobs(3))
        for load in (0.2, 0.4)
        for k in (4, 8)
        for on in (True, False)
    ]
    run = make_run(tmp_path / "r", cases)
    by_load = run.plot().axes[0]
    assert by_load.get_xlabel() == "load"
    assert labels(by_load)[:2] == ["k = 4, on = true", "k = 4, on = false"]
    by_k = run.plot(x="k", by="load").axes[0]
    assert by_k.get_xlabel() == "k"
    assert labels(by_k) == ["load = 0.2", "load = 0.4"]


def test_kinds_of_job_are_lines_of_their_own(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, 2, 3, 4], kind=["flow", "response"] * 2)])
    assert labels(run.plot("time").axes[0]) == ["flow", "response"]
    assert labels(run.plot("cdf").axes[0]) == ["flow", "response"]


def test_a_distribution_is_drawn_at_one_name(tmp_path):
    sizes = ("15KB", "30KB")
    cases = [Made({"buffer": size, "ties": t}, [1, 2, 3]) for size in sizes for t in "ab"]
    run = make_run(tmp_path / "r", cases)
    assert labels(run.plot("cdf", x="buffer", at="30KB").axes[0]) == ["a", "b"]
    assert run.plot("cdf", x="buffer").get_suptitle() == "made up: buffer = 30KB"
    with pytest.raises(InputError, match="no case at 22KB; available: 15KB, 30KB"):
        run.plot("cdf", x="buffer", at="22KB")


def test_a_distribution_is_drawn_at_one_load(swept):
    picture = swept.plot("cdf", at=0.2, warmup=False)
    assert picture.get_suptitle() == "made up: load = 0.2"
    assert swept.plot("cdf").get_suptitle() == "made up: load = 0.8"
    panel = picture.axes[0]
    assert labels(panel) == list(SCHEMES)
    assert (panel.get_xscale(), panel.get_xlabel()) == ("log", "slowdown")
    values, share = panel.lines[1].get_data()
    assert np.array_equal(values, [1, *np.linspace(1, 4, 300)])
    assert np.array_equal(share, np.arange(301) / 300)


def test_unfinished_jobs_keep_a_distribution_below_one(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, NAN, 2, NAN])])
    assert run.plot("cdf").axes[0].lines[0].get_ydata().tolist() == [0, 0.25, 0.5]


def test_a_long_distribution_is_thinned_but_for_its_tail(tmp_path):
    values = np.linspace(1, 2, 200_000)
    run = make_run(tmp_path / "r", [Made({}, values)])
    drawn, share = run.plot("cdf", warmup=False).axes[0].lines[0].get_data()
    assert drawn.size < 1100
    assert drawn[0] == 1
    assert np.array_equal(drawn[-50:], values[-50:])
    assert share[-1] == 1


def test_nothing_finished_nothing_drawn(tmp_path):
    run = make_run(tmp_path / "r", [Made({"load": 0.5}, [NAN, NAN])])
    for kind in ("fct", "cdf"):
        with pytest.raises(InputError, match="nothing to draw"):
            run.plot(kind)


def test_a_logarithmic_axis_ends_where_the_data_do(tmp_path):
    cases = [Made({"load": load}, *jobs(500 * load)) for load in (0.5, 0.9)]
    run = make_run(tmp_path / "r", cases)
    # Where not all of them have room, powers of ten have numbers.
    for kind, which, last in (("fct", "y", "500"), ("cdf", "x", "100")):
        picture = run.plot(kind, warmup=False)
        picture.draw_without_rendering()
        panel = picture.axes[0]
        low, high = getattr(panel, f"get_{which}lim")()
        ticks = getattr(panel, f"get_{which}ticklabels")()
        shown = [t.get_text() for t in ticks if low <= t.get_position()[which == "y"] <= high]
        assert (shown[0], shown[-1]) == ("1", last)
        assert 0.8 < low < 1
        assert 500 < high < 650


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ((0.2, 0.5, 0.8), ["0.2", "0.5", "0.8"]),
        ((4, 8, 16, 32, 64, 128), ["4", "8", "16", "32", "64", "128"]),
        ((100, 300, 1000, 10_000, 200_000), ["100", "1,000", "10k", "100k"]),
        ((0.5,), ["0.5"]),
    ],
)
def test_ticks_are_at_the_values_where_there_is_room(tmp_path, values, ticks):
    run = make_run(tmp_path / "r", [Made({"x": value}, [1, 2]) for value in values])
    picture = run.plot()
    picture.draw_without_rendering()
    panel = picture.axes[0]
    low, high = panel.get_xlim()
    shown = [t.get_text() for t in panel.get_xticklabels() if low <= t.get_position()[0] <= high]
    assert shown == ticks


def test_a_distribution_of_one_value_can_be_drawn(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1, 1, 1])])
    assert run.plot("cdf").axes[0].get_xlim() == pytest.approx((1, 2), rel=0.03)


def test_what_a_picture_lacks_is_said_below_it(swept):
    assert "not run yet" not in swept.plot().get_supxlabel()
    swept.directory.study.write_text('title = "made up"\n[sweep]\nworkload.load = [1, 2, 3, 4]\n')
    for case in range(6):
        swept.directory.rows(case, 0).unlink()
    incomplete = Run.open(swept.path)
    for kind in ("fct", "cdf"):
        said = " ".join(incomplete.plot(kind).get_supxlabel().split())
        assert said.endswith("1 case of the study not run yet; `sojourn run` resumes it")


@pytest.mark.parametrize("kind", ["fct", "cdf"])
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_numbers_give_the_same_bytes(tmp_path, kind, suffix):
    cases = [Made({"scheme": scheme, "load": 0.5}, [1, 2, 3]) for scheme in SCHEMES]
    run = make_run(tmp_path / "r", cases)
    first, second = (tmp_path / f"{name}.{suffix}" for name in ("first", "second"))
    run.plot(kind).write(first)
    run.plot(kind).write(second)
    assert first.read_bytes() == second.read_bytes()
    assert b"Date" not in first.read_bytes()
    assert b"Software" not in first.read_bytes()


def test_a_title_is_text_and_not_mathematics(swept, tmp_path):
    study = swept.directory.study
    study.write_text(r"title = 'costs $\frac{ a $ lot'")
    picture = Run.open(swept.path).plot("cdf")
    picture.write(tmp_path / "a.svg")
    assert picture.get_suptitle().startswith(r"costs $\frac{ a $ lot")


def test_a_notebook_shows_the_picture(swept):
    assert swept.plot()._repr_png_().startswith(b"\x89PNG")


def test_files_of_pictures(tmp_path):
    assert targets(tmp_path, ["fct", "cdf"], []) == {
        tmp_path / "fct.png": "fct",
        tmp_path / "cdf.png": "cdf",
    }
    assert targets(tmp_path / "new", ["fct"], ["svg", "png"]) == {
        tmp_path / "new" / "fct.svg": "fct",
        tmp_path / "new" / "fct.png": "fct",
    }
    assert targets(tmp_path / "a.SVG", ["cdf"], []) == {tmp_path / "a.SVG": "cdf"}
    with pytest.raises(InputError, match="one file for several"):
        targets(tmp_path / "a.svg", ["cdf"], ["png"])


def test_shares_of_bandwidth_are_drawn_in_megabits(tmp_path):
    """Two lines: four flows with 100 to 400 Mb/s each, four with 250."""
    cases = [
        Made({"scheme": name}, [np.nan] * 4, kind=["bulk"] * 4, goodput_bps=goodput)
        for name, goodput in {"FIFO": [1e8, 4e8, 2e8, 3e8], "DRR": [2.5e8] * 4}.items()
    ]
    run = make_run(tmp_path / "r", cases)
    histogram, shares = run.plot("goodput").axes
    assert histogram.get_xlabel() == "goodput [Mb/s]"
    stairs = [patch.get_data() for patch in histogram.patches]
    assert [values.sum() for values, _, _ in stairs] == [pytest.approx(1)] * 2
    lines = {line.get_label(): line.get_data() for line in shares.get_lines()}
    assert lines["FIFO"][0].tolist() == [100, 100, 200, 300, 400]
    assert lines["FIFO"][1].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert lines["DRR"][0].tolist() == [250] * 5


def test_queries_have_a_picture_of_their_own(tmp_path):
    """One of four queries did not finish; answers and flows are not in it."""
    kinds = ["query"] * 4 + ["response", "flow"]
    made = Made({}, [1, np.nan, 3, 2, 9, 9], kind=kinds, arrived_ps=[0] * 6)
    run = make_run(tmp_path / "r", [made])
    slowdown, completion_time = run.plot("qct").axes
    assert (slowdown.get_title(), completion_time.get_title()) == (
        "flows, all sizes",
        "queries, all sizes",
    )
    (line,) = completion_time.get_lines()
    assert line.get_xdata().tolist() == pytest.approx([1e-6, 1e-6, 2e-6, 3e-6])
    assert line.get_ydata().tolist() == [0, 0.25, 0.5, 0.75]
    assert len(slowdown.get_lines()) == 1


def test_jobs_are_drawn_beside_their_flows(tmp_path):
    made = Made({}, [2, 9, 1e6, 3e6], kind=["flow", "flow", "job", "job"])
    run = make_run(tmp_path / "r", [made])
    slowdown, completion_time = run.plot("cdf").axes
    assert (slowdown.get_title(), completion_time.get_title()) == (
        "flows, all sizes",
        "jobs, all sizes",
    )
    (line,) = completion_time.get_lines()
    assert line.get_xdata().tolist() == pytest.approx([1, 1, 3])


def test_requests_are_drawn_in_milliseconds(tmp_path):
    cases = [Made({"rate": f"{n}/s"}, [1, 2, 3], kind=["request"] * 3) for n in (20, 5, 100)]
    run = make_run(tmp_path / "r", cases)
    assert kinds(run) == ("time", "cdf")
    mean, tail = run.plot().axes
    assert (mean.get_ylabel(), tail.get_ylabel()) == (
        "mean response time [ms]",
        "99th percentile of\nresponse time [ms]",
    )
    assert mean.get_xlabel() == "rate [1/s]"
    assert mean.containers[0].lines[0].get_xdata().tolist() == [5, 20, 100]


def test_a_rate_of_arrivals_is_named_in_words(tmp_path):
    cases = [Made({"arrivals.rate": f"{n}/ms"}, [1, 2, 3]) for n in (0.2, 0.5)]
    panel = make_run(tmp_path / "r", cases).plot().axes[0]
    assert panel.get_xlabel() == "arrivals per millisecond [1/ms]"
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["0.2", "0.5"]


def test_a_file_is_named_by_the_shortest_end_that_tells_it_apart(tmp_path):
    files = ["/a/b/one.csv", "/a/b/two.csv", "/a/c/two.csv"]
    cases = [Made({"file": file, "rate": n}, [1, 2, 3]) for file in files for n in (1, 2)]
    run = make_run(tmp_path / "r", cases)
    names = ["one.csv", "b/two.csv", "c/two.csv"]
    for kind in ("slowdown", "cdf"):
        picture = run.plot(kind)
        assert [text.get_text() for text in picture.legends[0].get_texts()] == names, kind
    along = run.plot("slowdown", x="file").axes[0]
    assert [tick.get_text() for tick in along.get_xticklabels()] == names


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["/a b/c d.csv", "/x/e.csv"], ["c d.csv", "e.csv"]),
        (["/a/c.csv", "/b/a/c.csv"], ["/a/c.csv", "b/a/c.csv"]),
        (["empirical file=/a/one.csv", "exponential mean=2ms"], ["empirical file=one.csv"]),
        (["empirical file=/a/one.csv more=1us", "20/s"], ["empirical file=one.csv more=1us"]),
        (["a/b", "3/s", "none"], ["a/b", "3/s", "none"]),
    ],
)
def test_only_files_are_shortened(values, names):
    labels = Labels.of_values(values)
    assert [labels.shorter(value) for value in values][: len(names)] == names


def test_sizes_in_several_units_are_one_axis(tmp_path):
    cases = [Made({"buffer": size}, [1, 2, 3]) for size in ("1MB", "250KB", "50KB")]
    panel = make_run(tmp_path / "r", cases).plot().axes[0]
    assert panel.get_xlabel() == "buffer [MB]"
    assert panel.containers[0].lines[0].get_xdata().tolist() == [0.05, 0.25, 1]


def test_pictures_of_kinds_that_are_not_there_are_refused(tmp_path):
    run = make_run(tmp_path / "r", [Made({}, [1.0, 2.0])])
    for kind in ("goodput", "missed"):
        with pytest.raises(InputError, match="nothing to draw"):
            run.plot(kind)
