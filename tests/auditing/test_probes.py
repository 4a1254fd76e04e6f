"""Probes of plain columns against what is known of them, and what each check of a table says."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier

from multiway.auditing.duplicates import chance_of_repeats
from multiway.auditing.look_ahead import check_later
from multiway.auditing.near import check_near_rows
from multiway.auditing.probes import ProbeErrors, r2_of_column, r2_of_sum, split_halves, votes
from multiway.auditing.tables import (
    check_column,
    check_formula,
    check_row_order,
)

ROWS = 400
TRAIN, REST = np.arange(260), np.arange(260, ROWS)


def draw(seed=0):
    return np.random.default_rng(seed)


def parts_of(labels):
    return split_halves(TRAIN, REST, labels)


def test_votes_are_those_of_sklearn_where_neighbours_lie_on_either_side():
    chance = draw()
    known, wanted = chance.normal(size=300), np.clip(chance.normal(size=80), -1, 1)
    labels = (known + chance.normal(size=300) > 0).astype(int)
    theirs = KNeighborsClassifier(5).fit(known[:, None], labels).predict(wanted[:, None])
    assert (votes(known, labels, wanted) == theirs).mean() > 0.85


def test_every_row_is_judged_once_by_rows_that_do_not_hold_it():
    labels = draw().integers(0, 3, ROWS)
    parts = parts_of(labels)
    assert sorted(np.concatenate([judged for _, judged in parts]).tolist()) == list(range(ROWS))
    assert all(not set(learnt) & set(judged) for learnt, judged in parts)


def test_errors_are_those_of_rows_held_out():
    labels = np.arange(ROWS) % 2
    perfect, noise = ProbeErrors.of_column(labels + 0.0, labels, parts_of(labels)), draw().normal(size=ROWS)
    assert (perfect.count, perfect.usual) == (0, ROWS // 2) and perfect.gain == 1 > perfect.sure_gain
    assert abs(ProbeErrors.of_column(noise, labels, parts_of(labels)).gain) < 0.2


@pytest.mark.parametrize("shape", [lambda x: x**3, np.abs, lambda x: np.sin(3 * x)])
def test_a_column_that_the_target_is_a_function_of_explains_it(shape):
    column = draw().uniform(-2, 2, ROWS)
    parts = parts_of(np.zeros(ROWS, int))
    assert r2_of_column(column, shape(column), parts) > 0.998
    assert r2_of_column(column, shape(column) + draw(1).normal(0, 0.3, ROWS), parts) < 0.99


def test_a_weighted_sum_is_that_of_least_squares():
    columns = draw().normal(size=(ROWS, 4))
    target = columns @ [1.0, -2.0, 0.5, 0.0] + draw(1).normal(0, 0.5, ROWS)
    theirs = LinearRegression().fit(columns[TRAIN], target[TRAIN]).score(columns[REST], target[REST])
    assert r2_of_sum(columns, target, TRAIN, REST) == pytest.approx(theirs, abs=1e-6)


def test_an_identifier_that_was_given_class_by_class_is_found_and_a_good_test_is_not():
    chance = draw()
    labels = chance.permutation(np.arange(ROWS) % 2)
    number = 7000 + np.argsort(np.lexsort((chance.random(ROWS), labels))) * 3.0
    finding = check_column("record", number, labels.astype(float), parts_of(labels), classes=True)
    assert finding.severity == "error" and "column record alone tells the target" in finding.line()
    good = np.where(chance.random(ROWS) < 0.95, labels, 1 - labels) + 0.0
    strong = check_column("rapid", good, labels.astype(float), parts_of(labels), classes=True)
    assert strong.severity == "note" and "column rapid is strong" in strong.line()


def test_cells_that_are_missing_for_one_class_only_are_found():
    labels = draw().integers(0, 2, ROWS)
    days = np.where(labels == 1, draw(1).integers(1, 30, ROWS), np.nan)
    assert check_column("days", days, labels.astype(float), parts_of(labels), classes=True).kind == "copy"


def test_parts_that_sum_to_the_target_are_found_and_a_measured_sum_is_not():
    chance = draw()
    first, second = chance.lognormal(3, 0.5, (2, ROWS))
    word = chance.choice(["a", "b"], ROWS).astype(object)
    given = ({"first": first, "second": second}, {"word": word})
    assert "a weighted sum of the columns" in check_formula(*given, first + second, TRAIN, REST).line()
    assert "a product of powers" in check_formula(*given, first / second, TRAIN, REST).line()
    measured = (first + second) * chance.lognormal(0, 0.02, ROWS)
    assert check_formula(*given, measured, TRAIN, REST) == "no formula of the columns gives the target"


def test_a_column_of_the_next_target_is_found_and_that_of_the_last_is_not():
    target = draw().normal(size=ROWS).cumsum() + draw(1).normal(size=ROWS)
    later, before = np.append(target[1:], 0), np.append(0, target[:-1])
    order = draw(2).permutation(ROWS)
    shuffled = {"later": later[order], "before": before[order]}
    said = list(check_later(shuffled, target[order], np.argsort(order)))
    assert [finding.kind for finding in said] == ["shifted"] and "column later knows" in said[0].line()
    kept = list(check_later({"before": before[order]}, target[order], np.argsort(order)))
    assert kept == ["no column knows the target of later rows"]


def test_rows_class_by_class_are_a_note_and_no_leak():
    labels = np.repeat([0, 1], ROWS // 2)
    order = draw().permutation(ROWS)
    assert check_row_order(labels[order], parts_of(labels[order]), order).severity == "note"
    assert "does not tell the class" in check_row_order(labels, parts_of(labels), order)


def test_noise_on_doubled_rows_is_found_and_rows_drawn_alone_are_not():
    numbers = draw().normal(size=(ROWS, 4))
    assert isinstance(check_near_rows(numbers, TRAIN, REST), str)
    numbers[REST[::3]] = numbers[: len(REST[::3])] + 0.01 * draw(1).normal(size=(len(REST[::3]), 4))
    finding = check_near_rows(numbers, TRAIN, REST)
    assert (finding.kind, finding.severity) == ("near", "error")
    assert check_near_rows(numbers[:, :2], TRAIN, REST) is None


def test_repeats_by_chance_are_as_frequent_as_counting_says():
    chance = draw()
    columns = [chance.integers(0, 6, 4000), chance.integers(0, 8, 4000), chance.integers(0, 5, 4000)]
    train, rest = np.arange(200), np.arange(200, 4000)
    rows = np.stack(columns, 1)
    seen = {tuple(row) for row in rows[train].tolist()}
    share = np.mean([tuple(row) in seen for row in rows[rest].tolist()])
    assert chance_of_repeats(columns, train, rest, np.zeros(4000, int)) == pytest.approx(share, abs=0.05)
