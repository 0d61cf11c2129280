"""Offers of a plan: how they are read, what is refused, and which candidates they make."""

import re
from pathlib import Path

import pytest

import sojourn
from sojourn._core import StudyError
from sojourn.planning import IMPOSSIBLE, MEETS, SMALL, choose, read

ROOT = Path(__file__).parents[2]
OFFERS = """\
title = "two offers"
model = "array"
[workload]
kind = "synthetic"
arrivals = { kind = "poisson", rate = "20/s" }
blocks = 1
requests = 2000
warmup = 200
[plan]
target = "p90 <= 60 ms"

[[plan.offer]]
name = "fast"
disk = { kind = "exponential", mean = "2ms" }
disks = [4, 8]
layouts = ["raid10", { kind = "raid0" }]
price = 100

[[plan.offer]]
disk = "ST3500630NS"
disks = { from = 4, to = 12, step = 4 }
layouts = [
    "raid10",
]
price = 10
"""


def changed(*changes, overrides=()):
    text = OFFERS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return read(text, "plan.toml", list(overrides))


def rows(shortlist):
    candidates = [entry.candidate for entry in shortlist.entries]
    return [(c.offer, c.settings.get("layout"), c.disks, c.price) for c in candidates]


def test_an_offer_is_each_count_in_each_layout():
    shortlist = changed()
    assert rows(shortlist) == [
        ("fast", "raid10", 4, 400),
        ("fast", "raid10", 8, 800),
        ("fast", "raid0", 4, 400),
        ("fast", "raid0", 8, 800),
        ("ST3500630NS", "raid10", 4, 40),
        ("ST3500630NS", "raid10", 8, 80),
        ("ST3500630NS", "raid10", 12, 120),
    ]
    assert [entry.candidate.case for entry in shortlist.entries] == list(range(7))
    assert str(shortlist.entries[1].candidate) == "raid10 of 8 x fast"


def test_the_cheapest_of_all_offers_is_chosen():
    choice = choose(changed(), everything=True, say=lambda _: None)
    assert [c.price for c in choice.candidates] == [40, 80, 120, 400, 400, 800, 800]
    cheapest = choice.cheapest
    assert (cheapest.offer, cheapest.disks, cheapest.verdict) == ("ST3500630NS", 4, MEETS)
    # services of 2 ms on average, hardly any waiting: p90 = 2 ln 10 = 4.6 ms
    reads_of_fast = next(c for c in choice.candidates if c.case == 3)
    assert reads_of_fast.value_ps == pytest.approx(4.6e9, rel=0.05)


@pytest.mark.parametrize(
    ("given", "counts"),
    [("6", [6]), ("[12, 4]", [12, 4]), ("{ from = 2, to = 7, step = 2 }", [2, 4, 6])],
)
def test_counts(given, counts):
    found = rows(changed(("disks = [4, 8]", f"disks = {given}")))
    assert [disks for _, layout, disks, _ in found if layout == "raid0"] == counts


def test_layouts_say_how_many_disks_where_the_offer_does_not():
    found = rows(changed(("disks = [4, 8]\n", ""), ('"raid0"', '"raid0", disks = 3')))
    # the registry has raid10 of 4
    assert found[:2] == [("fast", "raid10", 4, 400), ("fast", "raid0", 3, 300)]


def test_a_layout_of_a_fixed_number_of_disks_is_a_candidate_where_that_is_on_offer():
    code = '{ kind = "erasure", data = 6, parities = 2 }'
    found = rows(changed(('"raid10", { kind = "raid0" }', f'"single", {code}')))
    assert found[:2] == [("fast", "single", None, None), ("fast", "erasure", 8, 800)]
    entry = changed(('"raid10", { kind = "raid0" }', f'"single", {code}')).entries[0]
    assert (entry.candidate.verdict, entry.case) == (IMPOSSIBLE, None)
    assert entry.candidate.why == "has 1 disk: not on offer"


def test_an_impossible_count_is_a_row_with_its_reason():
    shortlist = changed(("disks = [4, 8]", "disks = [4, 7]"))
    impossible = [e.candidate for e in shortlist.entries if e.candidate.verdict == IMPOSSIBLE]
    assert [(c.offer, c.why) for c in impossible] == [
        ("fast", "plan.offer.disks = 7, expected an even number from 2 to 1024")
    ]


def test_a_default_name_is_that_of_the_device_or_its_file(tmp_path):
    (tmp_path / "nvme.csv").write_text("op,service\nread,100us\nwrite,200us\n")
    measured = 'disk = { kind = "empirical", file = "nvme.csv", servers = 2 }'
    text = OFFERS.replace('name = "fast"\n', "")
    text = text.replace('disk = { kind = "exponential", mean = "2ms" }', measured)
    text += f'[[plan.offer]]\n{measured}\nlayouts = ["raid10"]\nprice = 7\n'
    shortlist = read(text, str(tmp_path / "plan.toml"), [])
    names = dict.fromkeys(entry.candidate.offer for entry in shortlist.entries)
    assert list(names) == ["nvme", "ST3500630NS", "nvme 2"]


def test_a_disk_and_a_layout_of_the_study_are_those_of_offers_without():
    shortlist = changed(
        ('disk = "ST3500630NS"\n', ""),
        ('model = "array"', 'model = "array"\ndisk = "HP97560"\nlayout = "raid1"'),
        ('layouts = ["raid10", { kind = "raid0" }]\n', ""),
        ("disks = [4, 8]", "disks = 2"),
    )
    assert rows(shortlist)[:2] == [("fast", "raid1", 2, 200), ("HP97560", "raid10", 4, 40)]


def test_capacity_is_that_of_the_data_of_each_offer():
    shortlist = changed(
        ("[plan]", '[plan]\ncapacity = "3TB"'),
        ("price = 100", 'price = 100\ncapacity = "1TB"'),
        ("price = 10\n", 'price = 10\ncapacity = "500GB"\n'),
    )
    small = [e.candidate.verdict == SMALL for e in shortlist.entries]
    # in TB 2, 4, 4, 8 of the first, 1, 2, 3 of the second
    assert small == [True, False, False, False, True, True, False]


def test_what_else_a_plan_varies_is_crossed_with_offers():
    shortlist = changed(
        (
            "[workload]",
            'positioning = "mechanical"\n[sweep]\nscheduling = ["fcfs", "sstf"]\n[workload]',
        ),
        ('disk = { kind = "exponential", mean = "2ms" }', 'disk = "HP97560"'),
    )
    assert len(shortlist.entries) == 14
    names = {str(entry.candidate) for entry in shortlist.entries}
    assert {"raid10, scheduling sstf of 4 x fast", "raid0, scheduling fcfs of 8 x fast"} < names


def test_offers_may_be_a_list_and_a_plan_a_dictionary():
    plan = {
        "title": "t",
        "model": "array",
        "workload": {
            "kind": "synthetic",
            "arrivals": {"kind": "poisson", "rate": "20/s"},
            "blocks": 1,
            "requests": 2000,
        },
        "plan": {
            "target": "mean <= 1ms",
            "offer": [
                {"disk": "HP97560", "disks": 4, "layouts": ["raid0"], "price": 3},
                {"name": "b", "disk": "HP97560", "layouts": ["single"], "price": 4},
            ],
        },
    }
    choice = sojourn.plan(plan)
    assert [c.offer for c in choice.candidates] == ["b", "HP97560"]
    plan["plan"]["offer"][1]["disk"] = "HP97561"
    with pytest.raises(StudyError, match=r'plan:\d: plan\.offer\.disk = "HP97561", .*HP97560\?'):
        sojourn.plan(plan)


def test_overrides_go_into_all_offers():
    mirrors = ('"raid10", { kind = "raid0" }', '"raid10"')
    overrides = [("layout.failed", "0"), ("plan.target", "mean <= 9ms")]
    shortlist = changed(mirrors, overrides=overrides)
    assert {entry.case.parameters["layout.failed"] for entry in shortlist.entries} == {0}
    assert shortlist.target.text == "mean <= 9ms"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("disk", "x", "--set disk=x: disk is decided by the tables plan.offer, expected"),
        ("sweep.layout", "[]", "--set sweep.layout=[]: sweep.layout is decided by the tables"),
        ("plan.offer", "[]", "--set plan.offer=[]: plan.offer is decided by the tables"),
        ("plan.target", "p9 <= x", '--set plan.target=p9 <= x: plan.target = "p9 <= x", expected'),
        ("plan.targt", "x", "unknown key plan.targt"),
    ],
)
def test_an_override_that_is_refused(path, value, message):
    with pytest.raises(StudyError) as refused:
        changed(overrides=[(path, value)])
    assert str(refused.value).startswith((message, f"--set {path}={value}: {message}"))


COUNTS = "expected a count such as 12, a list of different ones"
SECOND = 'disk = "ST3500630NS"'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("disks = [4, 8]", "disks = [4, 4]"), f"15: plan.offer.disks = [4, 4], {COUNTS}"),
        (("disks = [4, 8]", "disks = [4, 0]"), f"15: plan.offer.disks = [4, 0], {COUNTS}"),
        (("disks = [4, 8]", "disks = true"), f"15: plan.offer.disks = true, {COUNTS}"),
        (("disks = [4, 8]", 'disks = "4"'), f'15: plan.offer.disks = "4", {COUNTS}'),
        (("disks = [4, 8]", "disks = []"), "15: plan.offer.disks = [], expected a count"),
        (("disks = [4, 8]", "disks = []"), "; a list has 1 to 1000, not 0"),
        (
            ("disks = { from = 4, to = 12, step = 4 }", "disks = 7"),
            "21: plan.offer.disks = 7, expected an even number",
        ),
        (("disks = [4, 8]", f"disks = {10**9}"), f"15: plan.offer.disks = {10**9}, {COUNTS}"),
        (("disks = [4, 8]", f"disks = {10**20}"), f"15: disks = {10**20}, expected whole numbers"),
        (("from = 4", "from = 40"), "21: plan.offer.disks.to = 12, expected at least 40"),
        (("from = 4", "from = 4.0"), "21: plan.offer.disks.from = 4.0, expected a whole number"),
        (("to = 12", f"to = {10**6}"), "21: plan.offer.disks.step = 4, expected a larger step"),
        (("to = 12", f"to = {10**6}"), "at most 1000 counts, not 250000"),
        (("to = 12", f"to = {10**7}"), "21: plan.offer.disks.to = 10000000, expected a whole num"),
        (("step", "stp"), "21: unknown key plan.offer.disks.stp, expected from, to, step (did you"),
        (("price = 10\n", "prise = 10\n"), "25: unknown key plan.offer.prise, expected name, disk"),
        (("price = 10\n", "prise = 10\n"), "price, capacity (did you mean price?)"),
        (("price = 10\n", ""), "19: plan.offer.price is missing"),
        (("price = 10\n", "price = -1\n"), "25: plan.offer.price = -1.0, expected at least 0"),
        (("price = 10\n", "price = inf\n"), "25: plan.offer.price = inf, expected a finite number"),
        (("price = 10\n", "price = 10\ncapacity = 5\n"), "26: plan.offer.capacity = 5, expected"),
        (("[plan]", '[plan]\ncapacity = "1TB"'), '10: plan.capacity = "1000GB", expected a capac'),
        (
            ("price = 10\n", "price = 2026-01-01\n"),
            "25: plan.offer.price = 2026-01-01, expected a text in quotes, not a date",
        ),
        (
            (SECOND, f'name = "fast"\n{SECOND}'),
            '20: plan.offer.name = "fast", expected a name that',
        ),
        (('name = "fast"', "name = 3"), "13: plan.offer.name = 3, expected a text of 1 to 40"),
        (('name = "fast"', 'name = " "'), '13: plan.offer.name = " ", expected a text of 1 to 40'),
        (('name = "fast"', 'name = "a\\tb"'), "13: plan.offer.name = "),
        ((SECOND, 'disk = "ST350063NS"'), '20: plan.offer.disk = "ST350063NS", expected the name'),
        ((SECOND, 'disk = "ST350063NS"'), "(did you mean ST3500630NS?)"),
        ((SECOND + "\n", ""), "19: plan.offer.disk is missing, expected a disk"),
        (('mean = "2ms"', 'mean = "2"'), '14: plan.offer.disk.mean = "2", expected'),
        (('mean = "2ms"', 'mean = "2ms", seek = 1'), "14: unknown key plan.offer.disk.seek"),
        (('    "raid10",', '    "raid11",'), '22: plan.offer.layouts.kind = "raid11", expected'),
        (('"raid0" }', '"raid0", fail = 1 }'), "16: unknown key plan.offer.layouts.fail"),
        (('"raid0" }', '"raid0", disks = 4 }'), "16: plan.offer.layouts = { kind = "),
        (('"raid10", {', '"raid0", {'), "16: plan.offer.layouts has "),
        (
            ('layouts = ["raid10", { kind = "raid0" }]', "layouts = []"),
            "16: plan.offer.layouts = []",
        ),
        (('layouts = ["raid10", { kind = "raid0" }]\n', ""), "12: plan.offer.layouts is missing"),
        (("60 ms", "60 mss"), '10: plan.target = "p90 <= 60 mss", expected a target such as'),
        (("[[plan.offer]]", "[[plan.ofer]]"), "12: unknown key plan.ofer, expected target"),
        (
            ("[plan]", "[plan]\ndisks = [{ price = 1 }]"),
            "10: plan.disks = [{ price = 1 }], expected",
        ),
        (("[workload]", 'disk = "HP97560"\n[workload]'), '3: disk = "HP97560", expected none, as'),
        (("[workload]", 'layout = "raid0"\n[workload]'), '3: layout = "raid0", expected none, as'),
        (("[workload]", '[sweep]\nlayout = ["raid0"]\n[workload]'), "4: sweep.layout = "),
        (("[workload]", '[sweep]\nblock = ["4KiB"]\n[workload]'), "4: sweep.block is no choice"),
        (("blocks = 1", "blocks = 0"), "6: workload.blocks = 0, expected 1 to"),
    ],
)
def test_a_mistake_in_an_offer_is_one_message(change, message):
    with pytest.raises(StudyError) as refused:
        changed(change)
    (line,) = str(refused.value).splitlines()
    assert line.startswith("plan.toml:")
    assert message in line
    assert "--set" not in line


def test_a_line_is_found_behind_and_inside_long_statements():
    layouts = "\n".join(['    { kind = "raid0" },', "    # [x]", '    "raid1", # a = 1'] * 100)
    text = OFFERS.replace('    "raid10",\n', f"{layouts}\n")
    with pytest.raises(StudyError, match=r"^plan\.toml:324: unknown key plan\.offer\.prise"):
        read(text.replace("price = 10\n", "prise = 10\n"), "plan.toml", [])
    with pytest.raises(StudyError, match=r"^plan\.toml:22: plan\.offer\.layouts has "):
        read(text, "plan.toml", [])
    # a text with lines that look like keys and tables
    title = "title = '''\na = 1\n[plan]\nprise = 3\n'''\n"
    text = OFFERS.replace('title = "two offers"\n', title)
    with pytest.raises(StudyError, match=r"^plan\.toml:29: unknown key plan\.offer\.prise"):
        read(text.replace("price = 10\n", "prise = 10\n"), "plan.toml", [])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("offer = 3", "plan.toml:3: plan.offer = 3, expected 1 to 100 tables: write [[plan.off"),
        ("offer = [3]", "plan.toml:3: plan.offer = [3], expected 1 to 100 tables"),
        ("offer = []", "plan.toml:3: plan.offer = [], expected 1 to 100 tables"),
        ("x = " + "[" * 10_000, "plan.toml:3: not TOML"),
    ],
)
def test_what_is_no_offer(given, message):
    with pytest.raises(StudyError) as refused:
        read(f'model = "array"\n[plan]\n{given}\ntarget = "mean < 1s"\n', "plan.toml", [])
    assert str(refused.value).startswith(message)


def test_the_plan_on_the_page_can_be_read(tmp_path):
    page = (ROOT / "docs" / "how-to" / "choose-an-array.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shortlist = read(text, str(tmp_path / "plan.toml"), [])
    names = dict.fromkeys(str(entry.candidate) for entry in shortlist.entries)
    assert len(names) == 10
    assert {"raid10 of 12 x NVMe", "raid6 of 72 x disk, 7200 rpm"} < set(names)


def test_the_command_refuses_with_exit_code_2(command, tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(OFFERS.replace("price = 10\n", "prise = 10\n"))
    shown = command("array", "plan", path)
    assert (shown.code, shown.out) == (2, "")
    assert f"{path}:25: unknown key plan.offer.prise" in shown.err


def test_the_keys_of_an_offer_are_listed(command):
    listed = command("list", "tables", "offer")
    assert listed.code == 0
    for key in ("name", "disk", "disks", "layouts", "price", "capacity"):
        assert re.search(rf"^ {key} ", listed.out, re.MULTILINE), key
    assert "from 1 to 1000000" in command("list", "tables", "counts").out


def test_an_offer_may_be_set_over_a_plan_without_one():
    text = OFFERS[: OFFERS.index("[[plan.offer]]")]
    offer = '[{ disk = "HP97560", layouts = ["single"], price = 1 }]'
    shortlist = read(text, "plan.toml", [("plan.offer", offer)])
    assert rows(shortlist) == [("HP97560", "single", 1, 1)]
    wrong = offer.replace("HP97560", "HP97561")
    with pytest.raises(StudyError, match=r'^--set plan\.offer=.*: plan\.offer\.disk = "HP97561"'):
        read(text, "plan.toml", [("plan.offer", wrong)])


def test_an_override_inside_an_offer_is_named_as_it_was_set():
    with pytest.raises(StudyError, match=r"^--set layout\.fail=1: unknown key layout\.fail"):
        changed(overrides=[("layout.fail", "1")])
    with pytest.raises(StudyError, match=r"^--set disk\.men=1: unknown key disk\.men"):
        changed(overrides=[("disk.men", "1")])
