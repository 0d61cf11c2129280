"""What a learnt disk was learnt from, and runs that ask for something else."""

import re

import numpy as np
import pytest

from sojourn._core import Progress
from sojourn._internal.errors import InputError
from sojourn.execution import inputs, learnt_range
from sojourn.store.service_list import SERVICES, Range, Services

LIST = """\
# learnt.size = "16KiB"
# learnt.rates = [7.0, 63.0]
op,service
"""
DISK = 'disk = { kind = "empirical", file = "list.csv" }'
STUDY = f"""\
title = "a learnt disk"
model = "array"
block = "16KiB"
{DISK}
layout = "single"
[workload]
kind = "synthetic"
arrivals = {{ kind = "poisson", rate = "40/s" }}
blocks = 1
requests = 2000
reads = 1.0
"""
SAME = "an access of 64 blocks takes as long as one of a single block, as disk.more is 0ps"
MARK = "caution: beyond what the disk was learnt from: "


def folder(tmp_path, head=LIST, number=1000, op="read"):
    times = [f"{op},{5 + place % 20}ms\n" for place in range(number)]
    (tmp_path / "list.csv").write_text(head + "".join(times))
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def case_of(tmp_path, text):
    (case,) = inputs.study(text, str(tmp_path / "study.toml"), []).cases()
    return case


def said_of(command, study, *settings) -> list[str]:
    """The cautions that `run` prints; `show` has to print the same."""
    out = study.parent / "out"
    sets = [word for setting in settings for word in ("--set", setting)]
    done = command("run", study, *sets, "--out", out)
    assert (done.code, done.err) == (0, "")
    said = [line.removeprefix(MARK) for line in done.out.splitlines() if line.startswith(MARK)]
    shown = command("show", out).out.splitlines()
    assert [line.strip().removeprefix(MARK) for line in shown if MARK in line] == said
    return said


def test_within_the_range_nothing_is_said(tmp_path, command):
    assert not said_of(command, folder(tmp_path))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["block=1MiB"], "accesses of 1,048,576 bytes, and 16,384 bytes were measured"),
        (["workload.blocks=4"], "accesses of 65,536 bytes, and 16,384 bytes were measured"),
        (["workload.reads=0.5"], "no write was measured, and writes take as long as reads"),
        (
            ["workload.arrivals.rate=105/s"],
            "a disk has more accesses than the 63/s of the heaviest measured load",
        ),
        (
            ["workload.arrivals.rate=3/s"],
            "a disk has fewer accesses than the 7/s of the lightest measured load",
        ),
        # a mirror's busier disk, and stripes: what each disk has counts
        (
            ['layout={kind="raid0",disks=2}', "workload.arrivals.rate=160/s"],
            "a disk has more accesses than the 63/s of the heaviest measured load",
        ),
    ],
)
def test_outside_the_range_it_is_said(tmp_path, command, settings, words):
    assert said_of(command, folder(tmp_path), *settings) == [words]


def test_requests_of_several_sizes(tmp_path, command):
    said = said_of(command, folder(tmp_path), 'workload.blocks={kind="geometric",mean=2}')
    (line,) = said
    assert re.fullmatch(
        r"accesses of 16,384 to [0-9,]+ bytes, and 16,384 bytes were measured", line
    )


@pytest.mark.parametrize(
    "settings",
    [
        ["disk.more=1ms", "workload.blocks=2"],
        ["workload.blocks=4", 'layout={kind="raid0",disks=4}'],  # a block of each disk
        ['layout={kind="raid0",disks=4}', "workload.arrivals.rate=200/s"],
    ],
)
def test_what_each_disk_has_counts(tmp_path, command, settings):
    assert not said_of(command, folder(tmp_path), *settings)


def test_parity_writes_read_what_was_not_measured(tmp_path, command):
    study = folder(tmp_path, op="write")
    settings = 'layout={kind="raid5",disks=4}', "workload.reads=0"
    said = said_of(command, study, *settings)
    assert said == ["no read was measured, and reads take as long as writes"]


LAYOUTS = [
    '{ kind = "raid10", disks = 4 }',
    '{ kind = "raid5", disks = 5 }',
    '{ kind = "raid6", disks = 6 }',
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("places", ["independent", "uniform"])
def test_the_sizes_of_accesses_are_those_of_the_list_of_them(tmp_path, layout, places):
    folder(tmp_path)
    text = STUDY.replace('"single"', layout).replace("reads = 1.0", "reads = 0.3")
    text = text.replace("blocks = 1", 'blocks = { kind = "geometric", mean = 5 }')
    if places == "uniform":  # requests with addresses
        text = text.replace(DISK, 'disk = "HP97560"\npositioning = "mechanical"')
        text = text.replace("requests =", 'places = "uniform"\nrequests =')
    case = case_of(tmp_path, text)
    offered = case.offered(0)
    codes, names = offered["op"]
    blocks = np.asarray(offered["blocks"])
    of_op = {name: blocks[np.asarray(codes) == code] for code, name in enumerate(names)}
    sizes = {name: (own.min(), own.max()) for name, own in of_op.items()}
    assert case.access_sizes(0) == sizes
    assert sizes["write"][0] < sizes["write"][1]


def test_only_the_first_replication_is_planned_again(tmp_path):
    study = folder(tmp_path)
    case = case_of(tmp_path, study.read_text().replace('"single"', LAYOUTS[0]))
    for replication in range(3):
        outcome = case.run(replication, Progress())
        found = learnt_range.figures(case, replication, outcome.columns, outcome.figures)
        assert (SERVICES in found) == (replication == 0)


def test_an_erasure_code_tells_its_sizes(tmp_path, command):
    code = 'layout={kind="erasure",data=4,parities=2}'
    said = said_of(command, folder(tmp_path), code, "workload.blocks=16")
    assert said == ["accesses of 32,768 to 81,920 bytes, and 16,384 bytes were measured"]


def test_a_list_of_unknown_size_takes_as_long_for_every_size(tmp_path, command):
    study = folder(tmp_path, head="op,service\n")
    assert not said_of(command, study, "workload.arrivals.rate=3/s")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "0ps",
            [SAME],
        ),
        ("1us", []),
    ],
)
def test_more_blocks_take_more(tmp_path, command, more, said):
    study = folder(tmp_path, head="op,service\n")
    assert said_of(command, study, "workload.blocks=64", f"disk.more={more}") == said


def test_only_the_cases_outside_are_named(tmp_path, command):
    study = folder(tmp_path)
    sweep = 'sweep.workload.arrivals.rate=["40/s", "105/s"]'
    (said,) = said_of(command, study, sweep)
    assert said.endswith("of the heaviest measured load (rate 105/s)")


def test_compare_and_plan_say_it_too(tmp_path, command):
    study = folder(tmp_path)
    for name, rate in (("a", "40/s"), ("b", "105/s")):
        command("run", study, "--set", f"workload.arrivals.rate={rate}", "--out", tmp_path / name)
    both = command("compare", tmp_path / "a", tmp_path / "b", "--json").document
    (caution,) = [line for line in both["cautions"] if "learnt from" in line]
    assert caution.startswith(
        f"{tmp_path}/b: beyond what the disk was learnt from: a disk has more"
    )
    plan = tmp_path / "plan.toml"
    wanted = '[plan]\ntarget = "mean < 1s"\ndisks = [{ price = 1 }]\n'
    sweep = '[sweep]\nlayout = ["single", { kind = "raid0", disks = 2 }]\n'
    text = STUDY.replace('layout = "single"\n', "").replace("blocks = 1", "blocks = 64")
    plan.write_text(text + wanted + sweep)
    done = command("array", "plan", plan)
    assert "beyond what the disk was learnt from: accesses of 1,048,576 bytes" in done.out


@pytest.mark.parametrize(("number", "known"), [(150, []), (250, ["p95"]), (1000, ["p95", "p99"])])
def test_a_list_too_short_for_a_percentile_gives_no_interval(tmp_path, command, number, known):
    """Ten services beyond it: 200 for p95, 1,000 for p99."""
    study = folder(tmp_path, number=number)
    sets = ("--set", "workload.requests=40000")
    assert command("run", study, *sets, "--out", tmp_path / "o").code == 0
    shown = command("show", tmp_path / "o", "--percentiles", "95,99", "--json").document
    (one,) = [line for line in shown if line["metric"] == "sojourn_ps"]
    assert one["ci95"] is not None
    assert [p for p in ("p95", "p99") if one[f"{p}_ci95"]] == known
    if "p99" not in known:
        why = f"the disk's list has {number} service times, and 1,000 are needed"
        assert one["p99_ci95_needs"]["why"] == why


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (
            "# learnt.size = 16\n# learnt.rates = [1, 2]\n",
            "list.csv:1: # learnt.size = 16, expected",
        ),
        ('# learnt.size = "16x"\n', "list.csv:1: # learnt.size = '16x', expected a size such as"),
        ("# learnt.rates = [63, 7]\n", "list.csv:1: # learnt.rates = [63, 7], expected two"),
        ('#\n# learnt.rates = ["a"]\n', "list.csv:2: # learnt.rates = ['a'], expected two"),
        ('# learnt.sise = "16KiB"\n', "list.csv:1: # learnt.sise is unknown, did you mean 'size'?"),
        ("# learnt.size\n", "list.csv:1: '# learnt.size', expected # learnt.size"),
        ('# learnt.size = "16KiB"\n', "# learnt.rates is missing"),
    ],
)
def test_a_comment_that_is_not_understood_is_one_message(tmp_path, command, head, message):
    study = folder(tmp_path, head=head + "op,service\n")
    done = command("run", study, "--out", tmp_path / "out")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert message in line
    assert not (tmp_path / "out").exists()


def test_a_list_is_read_as_it_was_written(tmp_path):
    known = Range(16384, (6.967, 62.8))
    path = tmp_path / "list.csv"
    text = "\n".join(["# by hand", *known.lines(), "op,service", "read,1ms", ' "write" ,2ms', ""])
    path.write_text("\ufeff" + text)
    services = Services.read(path)
    assert services.learnt == known
    assert services.counts == {"read": 1, "write": 1}
    with pytest.raises(InputError, match="cannot read the service times"):
        Services.read(tmp_path / "none.csv")
