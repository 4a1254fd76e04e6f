"""A look at a table says what it holds and what a modeller should know."""

import pandas as pd

from multiway.tasks.tabular.config import TableOptions
from tasks.tabular.rows import check_table, patients


def test_a_sound_table():
    report = check_table(patients(200), TableOptions(target="ill"))
    assert report.is_usable and report.findings == ()
    assert report.summary["rows"] == 200 and report.summary["numbers"] == "age, weight"
    assert report.summary["classes"] == "no 93, yes 107" and report.summary["splits"].startswith("train 130")


def test_a_target_of_numbers_has_a_range():
    summary = check_table(patients(), TableOptions(target="weight")).summary
    assert summary["kind"] == "number" and " to " in summary["range"]


def test_repeats_contradictions_and_one_sided_classes_are_warned_of():
    frame = pd.concat([patients(), patients()[:2], patients()[:1].assign(ill="maybe")], ignore_index=True)
    kinds = {finding.kind: finding for finding in check_table(frame, TableOptions(target="ill")).findings}
    assert kinds["duplicates"].count == 2 and "row 60; row 61" in kinds["duplicates"].line()
    assert kinds["targets"].count == 2
    assert "test has no rows of maybe" in kinds["classes"].line()
    one_sided = check_table(patients().assign(ill=["a"] * 57 + ["b"] * 3), TableOptions(target="ill"))
    assert "95.0 % of rows are 'a'" in " ".join(one_sided.lines())


def test_levels_beyond_the_most_are_warned_of_and_missing_cells_counted():
    frame = patients(400).assign(city=[f"city {i % 150}" for i in range(400)])
    frame.loc[:2, "age"] = None
    report = check_table(frame, TableOptions(target="ill"))
    assert "'city' has 150 levels, more than 100: each is taken as the mean of its targets" in " ".join(report.lines())
    assert report.missing == {"age": 3}


def test_without_a_target_rows_can_only_be_predicted():
    report = check_table(patients())
    assert report.is_usable and "no target is named" in report.findings[-1].line()
