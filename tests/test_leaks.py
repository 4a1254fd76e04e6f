"""Sets with leaks: what must be caught, what may not be flagged, and that the guide names what is missed."""

from pathlib import Path

import pytest

from leak_sets import outcomes
from leak_sets.maker import LeakSet

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "audit.md"


def test_sets_are_enough_and_have_names_of_their_own():
    every = [each for sets in outcomes.TASKS.values() for each in sets]
    assert sum(each.kind is not None for each in every) >= 30 and sum(each.kind is None for each in every) >= 15
    assert all(len({each.name for each in sets}) == len(sets) for sets in outcomes.TASKS.values())
    assert all(any(each.kind is None for each in sets) for sets in outcomes.TASKS.values())


def test_sets_of_each_origin_are_counted_apart():
    sets = {"own": ["caught", "passed"], "strange": ["missed", "flagged"], "held": ["caught"]}
    rows = [
        {"set": f"{origin} {outcome}", "origin": origin, "outcome": outcome, "leaks": []}
        for origin, outcomes in sets.items() for outcome in outcomes
    ]  # fmt: skip
    assert outcomes.table([{"task": "tabular", "rows": rows}])[-4:] == [
        "own: caught 1 of 1, missed 0, falsely flagged 0 of 1",
        "strange: caught 0 of 1, missed 1, falsely flagged 1 of 1",
        "held: caught 1 of 1, missed 0, falsely flagged 0 of 0",
        "all: caught 2 of 3, missed 1, falsely flagged 1 of 2",
    ]


def test_a_leak_that_another_check_says_is_not_caught():
    sets = {each.name: each for each in outcomes.TASKS["tabular"]}
    leaky = sets["target in other words"]
    assert outcomes.audited("tabular", leaky)["outcome"] == "caught"
    assert outcomes.audited("tabular", LeakSet(leaky.name, leaky.make, "near"))["outcome"] == "missed"
    assert outcomes.audited("tabular", LeakSet(leaky.name, leaky.make))["outcome"] == "flagged"
    assert outcomes.audited("tabular", sets["patients"])["outcome"] == "passed"


@pytest.mark.parametrize(
    ("task", "leak", "sound"),
    [
        ("tabular", "recoveries", "deciding kind"),
        ("forecast", "so far", "clear sky"),
        ("forecast", "highest of week", "rates"),
        ("series", "clipped", "loud"),
        ("images", "letterbox", "framed"),
        ("images", "exposed", "two cameras"),
        ("images", "ruler", "day and night"),
        ("images", "packed", "plain images"),
        ("tabular", "few devices", "large shops"),
        ("tabular", "own claim left out", "mean of the rows above"),
        ("tabular", "cut by class", "wines"),
        ("tabular", "tenure of those who stayed", "asked of women alone"),
        ("tabular", "blanks of a row", "two forms"),
        ("tabular", "payments that were taken back", "accounts that were drained"),
        ("tabular", "rent in the title", "rent of last year"),
        ("tabular", "start and end of a ride", "law of nature"),
        ("forecast", "takings and mean price", "promotions that were planned"),
        ("forecast", "stock of each morning", "sold to the plan"),
        ("series", "half the rate", "coarse sensor"),
        ("series", "clock among the channels", "any length"),
        ("images", "grey among colours", "red and green apples"),
        ("volumes", "program in the header", "air around either class"),
        ("segment", "cut out around the lesion", "vessels"),
        ("grids", "thinned", "moving weather"),
        ("grids", "centred", "moving weather"),
    ],
)
def test_a_form_is_told_from_what_honestly_looks_like_it(task, leak, sound):
    sets = {each.name: each for each in outcomes.TASKS[task]}
    assert outcomes.audited(task, sets[leak])["outcome"] == "caught"
    assert outcomes.audited(task, sets[sound])["outcome"] == "passed"


@pytest.mark.slow
def test_nine_in_ten_leaks_are_caught_no_sound_set_is_flagged_and_the_guide_names_the_rest():
    own = [(task, each) for task, sets in outcomes.TASKS.items() for each in sets if each.origin == "own"]
    total = outcomes.summary([outcomes.audited(task, each) for task, each in own])
    assert total["flagged"] == [] and total["caught"] >= 0.9 * total["leaky"]
    guide = GUIDE.read_text()
    assert all(name in guide for name in total["missed"])
