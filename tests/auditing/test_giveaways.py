"""Parts of cells, pairs, names of persons, ranks and fillings that tell a target; and honest strong columns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from multiway.auditing.giveaways import (
    check_filled,
    check_names,
    check_neighbours,
    check_pairs,
    check_parts,
    check_ranks,
)
from multiway.auditing.parts import decimals_of, numbers_in, parts_of_dates, parts_of_numbers, parts_of_words
from multiway.auditing.probes import is_cut, split_halves
from multiway.auditing.report import AuditReport, finding
from multiway.auditing.rules import NUMBERS
from multiway.auditing.worth import Question
from multiway.data.samples import Cells

ROWS = 600
TRAIN, REST = np.arange(0, ROWS, 3), np.setdiff1d(np.arange(ROWS), np.arange(0, ROWS, 3))
PAGE = Path(__file__).parents[2] / "docs" / "guides" / "audit-rules.md"


def draw(seed=0):
    return np.random.default_rng(seed)


LABELS = draw().integers(0, 2, ROWS)
PRICES = draw(1).lognormal(3, 0.4, ROWS)


def cells(words=(), dates=(), identifiers=None, **numbers):
    named = dict(words)
    return Cells(
        numbers=np.column_stack([np.empty((ROWS, 0)), *numbers.values()]),
        words=np.column_stack([np.empty((ROWS, 0), object), *named.values()]).astype(object),
        of_numbers=tuple(numbers),
        of_words=tuple(named),
        dates=dict.fromkeys(dates, ""),
        identifiers=identifiers or {},
    )


def question(table, labels=LABELS, target=None):
    judged = np.zeros(ROWS, np.int64) if labels is None else labels
    truth = labels.astype(float) if target is None else target
    return Question(truth, labels, split_halves(TRAIN, REST, judged), table)


def said(check, table, **target):
    return [each.line() if not isinstance(each, str) else each for each in check(question(table, **target))]


def test_digits_of_a_number_are_those_of_its_text():
    column = np.array([0.5, 12.25, 3.0, 7.125, 100.0])
    np.testing.assert_array_equal(decimals_of(column), [len(str(each).split(".")[1].rstrip("0")) for each in column])
    whole = draw(2).integers(0, 100_000, 200)
    parts = dict(parts_of_numbers(whole.astype(float)))
    np.testing.assert_array_equal(parts["the last digit"], [int(str(each)[-1]) for each in whole])
    np.testing.assert_array_equal(parts["whether it is odd"], [int(str(each)[-1]) % 2 for each in whole])


def test_parts_of_a_date_are_those_of_the_calendar():
    stamps = pd.date_range("2023-12-29 22:30:15", periods=50, freq="7h")
    days = np.asarray((stamps - pd.Timestamp(0)) / pd.Timedelta(1, "D"), float)
    parts = dict(parts_of_dates(days))
    for name, wanted in {
        "weekday": stamps.day_of_week,
        "day of the month": stamps.day,
        "second": stamps.second,
    }.items():
        np.testing.assert_array_equal(parts[f"the {name}"], wanted)
    assert list(parts["the hour"]) == list(stamps.hour)


def test_signs_of_a_code_are_numbered_alike_where_they_are_alike():
    codes = np.array([f"A{n:03}{'xy'[n % 2]}" for n in range(40)], object)
    parts = dict(parts_of_words(codes))
    assert list(parts["sign 1 from the end"]) == [n % 2 for n in range(40)]
    assert "the length" in parts and set(parts["sign 1"]) == {0.0}


@pytest.mark.parametrize("how", ["odd", "weekday", "code"])
def test_a_part_that_tells_the_class_is_a_leak_and_is_worth_what_it_says(how):
    noise = draw(3).normal(size=ROWS)
    if how == "odd":
        table = cells(noise=noise, number=draw(4).integers(1000, 9000, ROWS) * 2.0 + LABELS)
    elif how == "weekday":
        monday = 19_723 + 3 + 7 * draw(4).integers(0, 90, ROWS)
        table = cells(
            noise=noise, opened=monday + np.where(LABELS, 4.0, draw(5).integers(0, 4, ROWS)), dates=["opened"]
        )
    else:
        ids = np.array([f"{n:05}{'KX'[label]}" for n, label in enumerate(LABELS)], object)
        table = cells(noise=noise, identifiers={"case": ids})
    lines = said(check_parts, table)
    assert len(lines) == 1 and "tells the target, and nothing of the thing itself" in lines[0]
    assert "AUC 1.000 (1.000 to 1.000) alone -> 0." in lines[0]


def test_an_honest_number_a_weekend_and_a_strong_column_are_no_parts():
    strong = draw(6).normal(3 * LABELS, 1).round(2)
    stamps = 19_000 + np.arange(ROWS) + draw(7).random(ROWS)
    busy = np.where(draw(8).random(ROWS) < 0.8, LABELS, 1 - LABELS) * 5.0
    table = cells(strong=strong, stamps=stamps, busy=busy, dates=["stamps"])
    assert said(check_parts, table) == ["no digit, day or sign of a cell tells the target"]


def test_two_columns_that_tell_together_are_named_and_honest_genes_are_not():
    first = draw(9).random(ROWS) < 0.5
    words = {"desk": np.where(first, "A", "B"), "shift": np.where(first ^ (LABELS == 1), "late", "early")}
    assert "desk and shift tells the class without exception" in said(check_pairs, cells(words=words))[0]
    owed = draw(10).lognormal(5, 1, ROWS)
    table = cells(owed=owed, paid=np.where(LABELS, owed * draw(11).uniform(0.2, 0.9, ROWS), owed))
    assert "the difference of owed and paid" in said(check_pairs, table)[0]
    right = draw(12).random(ROWS) < 0.9
    genes = {"one": np.where(first, "A", "a"), "two": np.where(first ^ (LABELS == right), "B", "b")}
    assert said(check_pairs, cells(words=genes)) == ["no two columns tell the class together"]


def test_equal_cells_of_one_class_and_what_a_cell_is_above_its_street_tell_together():
    before, street = draw(2).lognormal(8, 1, ROWS), draw(3).integers(0, 20, ROWS)
    is_same = (LABELS == 1) & (draw(6).random(ROWS) < 0.92)
    after = np.where(is_same, before, before - draw(4).lognormal(5, 1, ROWS))
    found = said(check_pairs, cells(before=before, after=after))
    assert len(found) == 1 and "where before equals after tells the class without exception" in found[0]
    others = (np.bincount(street, LABELS)[street] - LABELS) / (np.bincount(street)[street] - 1)
    found = said(check_pairs, cells(street=street * 1.0, rate=others))
    assert "rate less its mean in each street tells the class" in found[0]
    now_and_then = np.where((LABELS == 0) & (draw(5).random(ROWS) < 0.1), before, after)
    assert said(check_pairs, cells(before=before, after=now_and_then)) == ["no two columns tell the class together"]


def test_numbers_are_read_out_of_words():
    found = numbers_in(np.array(["3 rooms, 1,234.50 EUR", "none", "1,23"], object))
    assert np.array_equal(found["first"], [3, np.nan, 1], equal_nan=True)
    assert np.array_equal(found["last"], [1234.5, np.nan, 23], equal_nan=True)


def test_a_constant_of_persons_names_them_and_a_measurement_does_not():
    person = np.arange(ROWS) % 50
    labels = draw(13).integers(0, 2, 50)[person]
    height = draw(14).normal(170, 9, 50)[person]
    assert "column height names what rows belong to" in said(check_names, cells(height=height), labels=labels)[0]
    honest = cells(height=draw(15).normal(3 * labels, 1))
    assert said(check_names, honest, labels=labels) == ["no column names what rows belong to"]


def test_ranks_and_bands_are_made_of_the_target_and_grades_are_not():
    bands = pd.qcut(PRICES, 8, labels=False).astype(float)
    town = draw(16).integers(0, 4, ROWS)
    within = pd.Series(PRICES).groupby(town).rank(pct=True).to_numpy()
    towns = {"town": np.array(list("abcd"))[town]}
    lines = said(check_ranks, cells(words=towns, bands=bands, within=within), labels=None, target=PRICES)
    assert ["is made of the target by cutting" in lines[0], "is a rank of the target within each town" in lines[1]]
    grades = np.digitize(np.log(PRICES) + draw(17).normal(0, 0.1, ROWS), [2.8, 3.1, 3.3]) * 1.0
    assert said(check_ranks, cells(grades=grades), labels=None, target=PRICES) == ["no column is a rank of the target"]


def test_a_cut_through_a_crowd_is_made_of_the_target_and_a_gap_is_not():
    assert is_cut((PRICES > np.median(PRICES)) * 1.0, PRICES)
    closed = draw(18).random(ROWS) < 0.1
    assert not is_cut(closed * 1.0, np.where(closed, 0.0, PRICES + 5))


def test_neighbours_in_the_file_are_likes_of_a_slow_process_alone():
    slow = draw(19).normal(size=(ROWS, 6)).cumsum(0)
    order = draw(20).permutation(ROWS)
    train, rest = np.sort(order[:400]), np.sort(order[400:])
    table = cells(a=slow[:, 0], b=slow[:, 1], c=slow[:, 2], d=slow[:, 3], e=slow[:, 4])
    known = Question(slow[:, 5], None, [(train, rest)], table)
    found = check_neighbours(table.numbers, known, train, rest)
    assert (found.kind, found.severity) == ("neighbours", "error")
    mixed = known._replace(target=slow[order, 2])
    assert isinstance(check_neighbours(table.numbers[order], mixed, train, rest), str)


def test_gaps_that_were_filled_by_class_are_named_and_zeros_are_not():
    column = draw(21).normal(50 + 5 * LABELS, 9).round(2)
    lacks = draw(22).random(ROWS) < 0.3
    means = np.array([column[LABELS == each].mean().round(3) for each in (0, 1)])
    filled = list(check_filled({"income": np.where(lacks, means[LABELS], column)}, LABELS))
    assert "gaps of column income are filled with the mean of each class" in filled[0].line()
    assert list(check_filled({"income": np.where(lacks, 0.0, column)}, LABELS)) == ["no gap is filled by the class"]


def test_each_rule_has_a_section_with_an_example_of_five_rows():
    sections = PAGE.read_text().split("\n## ")[1:]
    assert [section[:5] for section in sections] == list(NUMBERS.values())
    for section in sections:
        assert section.count("\n|") == 7 and "*What helps:*" in section
    report = AuditReport.of("rows", [finding("copy", "error", "a column tells"), "sound"])
    assert "  leak: a column tells. [MW012]" in [line.rstrip() for line in report.lines()]
    assert report.to_dict()["findings"][0]["number"] == "MW012"
