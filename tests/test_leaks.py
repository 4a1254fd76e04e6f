"""The benchmark of leaks: what must be caught, what may not be flagged, and that the guide names what is missed."""

from pathlib import Path

import pytest
from benchmarks import leaks
from benchmarks.leak_sets.maker import LeakSet

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "audit.md"


def test_sets_are_enough_and_have_names_of_their_own():
    every = [each for sets in leaks.TASKS.values() for each in sets]
    assert sum(each.kind is not None for each in every) >= 30 and sum(each.kind is None for each in every) >= 15
    assert all(len({each.name for each in sets}) == len(sets) for sets in leaks.TASKS.values())
    assert all(any(each.kind is None for each in sets) for sets in leaks.TASKS.values())


def test_a_leak_that_another_check_says_is_not_caught():
    sets = {each.name: each for each in leaks.TASKS["tabular"]}
    leaky = sets["target in other words"]
    assert leaks.audited("tabular", leaky)["outcome"] == "caught"
    assert leaks.audited("tabular", LeakSet(leaky.name, leaky.make, "near"))["outcome"] == "missed"
    assert leaks.audited("tabular", LeakSet(leaky.name, leaky.make))["outcome"] == "flagged"
    assert leaks.audited("tabular", sets["patients"])["outcome"] == "passed"


@pytest.mark.slow
def test_nine_in_ten_leaks_are_caught_no_sound_set_is_flagged_and_the_guide_names_the_rest():
    rows = list(leaks.run(1, None))
    total = leaks.summary([each for row in rows for each in row["rows"]])
    assert total["flagged"] == [] and total["caught"] >= 0.9 * total["leaky"]
    guide = GUIDE.read_text()
    assert all(name in guide for name in total["missed"])
    assert leaks.table(rows)[-1].startswith(f"caught {total['caught']} of {total['leaky']}, ")
