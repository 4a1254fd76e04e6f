"""The verdict says plainly what was chosen, by how much, and when the network does not beat ridge."""

import numpy as np
import pytest

from multiway.report import Candidate, ForecastReport, ScoreRow, Selection
from multiway.report.scores import score_tables, seed_mean
from multiway.report.verdict import supporting_sentences, verdict
from tolerances import COARSE32


def report(chosen, validation, test, **more):
    candidates = [
        Candidate(
            model=model,
            value=value,
            difference=None if model == "ridge" else value - validation["ridge"],
            standard_error=None if model == "ridge" else 0.002,
        )
        for model, value in validation.items()
    ]
    scores = [ScoreRow(model=model, metric="MSE", value=value) for model, value in test.items()]
    selection = Selection(chosen=chosen, candidates=candidates, **more)
    return ForecastReport(title="run", selection=selection, scores=scores)


def plain(text):
    return text.replace("\u202f", " ")


def test_a_gain_is_stated_with_its_uncertainty():
    content = report("blend", {"ridge": 0.5, "blend": 0.49}, {"ridge": 0.4, "blend": 0.38, "naive": 0.8})
    assert plain(verdict(content)) == (
        "Blend was chosen: its validation MSE is 2.0 % below ridge "
        "(0.4900 against 0.5000; difference −0.0100, standard error 0.0020)."
    )
    assert plain(supporting_sentences(content)[0]) == (
        "On the test rows its MSE is 0.3800: 5.0 % below ridge and 52.5 % below naive."
    )


def test_a_network_that_does_not_beat_ridge_is_said_plainly():
    content = report("ridge", {"ridge": 0.5, "network": 0.51}, {"ridge": 0.4, "network": 0.41})
    assert plain(verdict(content)) == (
        "Ridge makes these forecasts: the network did not beat it on validation "
        "(MSE 0.5100 against 0.5000; difference +0.0100, standard error 0.0020)."
    )
    assert "does not beat ridge on the test rows: its MSE is 2.5 % above it" in plain(supporting_sentences(content)[1])


def test_a_gain_within_its_uncertainty_is_said_to_be():
    content = report("ridge", {"ridge": 0.5, "network": 0.499}, {"ridge": 0.4, "network": 0.39})
    assert "the gain of the network on validation is too small to trust" in verdict(content)
    assert "The network alone beats ridge on the test rows" in supporting_sentences(content)[1]


def test_a_choice_that_did_not_hold_on_test_is_said():
    content = report("network", {"ridge": 0.5, "network": 0.48}, {"ridge": 0.4, "network": 0.42})
    assert "It does not beat ridge there: the gain seen on validation did not hold." in supporting_sentences(content)[0]


def test_the_tasks_own_sentence_comes_first():
    assert verdict(report("ridge", {"ridge": 0.5}, {}, sentence="No network was trained.")) == "No network was trained."
    assert verdict(report("ridge", {"ridge": 0.5}, {})) == "Ridge makes these forecasts."


def test_without_a_selection_the_best_score_is_named():
    rows = [ScoreRow(model=model, metric="MSE", value=value) for model, value in (("naive", 0.8), ("ridge", 0.4))]
    assert verdict(ForecastReport(title="x", scores=rows)) == "Ridge has the lowest MSE on the test rows: 0.4000."
    assert verdict(ForecastReport(title="x")) == ""


def test_the_interval_over_seeds_is_students():
    scipy_stats = pytest.importorskip("scipy.stats")
    values = [0.31, 0.33, 0.38, 0.30]
    low, high = scipy_stats.t.interval(0.95, 3, np.mean(values), scipy_stats.sem(values))
    found = seed_mean(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.half_width == pytest.approx((high - low) / 2, rel=COARSE32)
    assert seed_mean([0.3]) == (0.3, None, 1)


def test_the_best_of_each_column_is_marked_and_rows_are_sorted():
    content = report("blend", {"ridge": 0.5}, {"naive": 0.8, "ridge": 0.4, "blend": 0.38})
    table = score_tables(content, {"naive": 3, "ridge": 1, "blend": 0})[0]
    assert [(row.model, row.cells[0].value, row.cells[0].is_best) for row in table.rows] == [
        ("blend", "0.3800", True),
        ("ridge", "0.4000", False),
        ("naive", "0.8000", False),
    ]
    assert [plain(row.against) for row in table.rows] == ["−5.0 %", "", "+100.0 %"]
    assert [row.is_chosen for row in table.rows] == [True, False, False]


def test_a_score_that_is_not_finite_is_a_dash_and_never_best():
    content = report("ridge", {"ridge": 0.5}, {"ridge": 0.4, "network": float("nan"), "naive": float("inf")})
    table = score_tables(content, {"ridge": 0, "network": 4, "naive": 3})[0]
    cells = {row.model: row.cells[0] for row in table.rows}
    assert (cells["network"].value, cells["naive"].value) == ("–", "–")
    assert [name for name, cell in cells.items() if cell.is_best] == ["ridge"]
