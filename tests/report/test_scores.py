"""One rule for every score: the stored interval of one seed, the interval of the mean over several."""

import math

import pytest

from multiway.cli import show
from multiway.report import text
from multiway.report.scores import Metric, Scores, best_rival, models_table, over_seeds, score_bars, standing, verdict
from multiway.report.scores import Score as Found
from multiway.tasks.pages import directions

METRICS = (
    Metric(name="auc", title="AUC"),
    Metric(name="ece", title="ECE", higher=False),
    Metric(name="coverage_80", title="Coverage of 80 %", higher=None, spread=False),
    Metric(name="mse", title="MSE", higher=False, decimals=None),
)


def row(model, metric, value, low=None, high=None, split="test", **more):
    return {"model": model, "split": split, "metric": metric, "value": value, "low": low, "high": high, **more}


def scores(*seeds, metrics=METRICS):
    return Scores(seeds, metrics, "network", {"cnn": "small CNN"})


def table(found, **options):
    made = models_table(found, {"network": 0}, **options)
    return [[cell.text for cell in line] for line in made.rows], made


def test_one_seed_keeps_its_stored_interval():
    assert over_seeds([row("m", "auc", 0.8, 0.7, 0.85)]) == (0.8, 0.7, 0.85, 1)
    assert over_seeds([row("m", "auc", 0.8, 0.7, 0.85)]).in_words(3) == "0.800 (0.700–0.850)"
    assert over_seeds([row("m", "mcc", 0.1, -0.2, 0.3)]).spread(2) == "−0.20 to 0.30"


def test_several_seeds_have_the_interval_of_their_mean_whatever_is_stored():
    """Half the width is 4.303 * 0.001 / sqrt(3) by Student's t with 2 degrees of freedom."""
    found = over_seeds([row("m", "auc", value, 0.1, 0.9) for value in (0.371, 0.372, 0.373)])
    half = 4.303 * 0.001 / math.sqrt(3)
    assert found == pytest.approx((0.372, 0.372 - half, 0.372 + half, 3))
    assert found.in_words(4) == "0.3720 (±\u202f0.0025)"


def test_what_is_the_same_for_every_seed_has_no_interval_and_what_is_undefined_once_is_undefined():
    assert over_seeds([row("m", "auc", 0.5, 0.4, 0.6)] * 3) == (0.5, None, None, 3)
    assert over_seeds([row("m", "auc", 0.5), row("m", "auc", None)]).value is None
    assert over_seeds([row("m", "auc", math.nan)]).value is None


def test_the_best_of_each_column_follows_the_metrics_own_direction():
    found = scores([
        row("network", "auc", 0.8), row("cnn", "auc", 0.7), row("network", "ece", 0.2), row("cnn", "ece", 0.1),
        row("network", "coverage_80", 0.79), row("cnn", "coverage_80", 0.9),
    ])  # fmt: skip
    words, made = table(found)
    assert made.columns == ["Model", "AUC", "ECE", "Coverage of 80 %"]
    assert words == [["network", "0.800", "0.200", "0.790"], ["small CNN", "0.700", "0.100", "0.900"]]
    assert [[cell.is_best for cell in line] for line in made.rows] == [
        [False, True, False, False],
        [False, False, True, False],
    ]
    assert made.strong == [0]


def test_models_stand_best_first_and_a_single_one_is_no_best():
    found = scores([row("network", "mse", 0.4), row("ridge", "mse", 0.36), row("naive", "mse", 0.9)])
    words, made = table(found, reference="ridge")
    assert [line[0] for line in words] == ["ridge", "network", "naive"]
    assert made.columns[-1] == "against ridge"
    assert [line[-1] for line in words] == ["", "+11.1\u202f%", "+150.0\u202f%"]
    assert not table(scores([row("network", "mse", 0.4)]))[1].rows[0][1].is_best


def test_differences_stand_below_scores_without_an_interval():
    rows = [row("a", "mse", 0.4), row("b", "mse", 0.36), row("a", "auc", 0.5), row("b", "auc", 0.6, 0.5, 0.7)]
    found = Scores([rows], METRICS, "a")
    made = models_table(found, {}, reference="a", differences=True)
    assert [[cell.small for cell in line[1:3]] for line in made.rows] == [["0.500–0.700", "−10.0\u202f%"], ["", ""]]


def test_scales_are_grouped_and_a_metric_that_is_not_declared_is_left_out():
    rows = [row("network", "mse", value, scale=scale) for scale, value in (("scaled", 0.4), ("original", 40.0))]
    _, made = table(scores([*rows, row("network", "count", 99)]))
    assert made.groups == [("", 1), ("scaled values", 1), ("original values", 1)]
    assert made.columns == ["Model", "MSE", "MSE"]


def test_an_undefined_score_is_a_word_and_never_decides():
    found = scores([row("network", "auc", None), row("cnn", "auc", 0.7), row("network", "ece", 0.2)])
    assert found.primary() == ("ece", "")
    assert table(found)[0] == [["network", "undefined", "0.200"], ["small CNN", "0.700", ""]]


def test_the_same_interval_stands_wherever_a_score_is_printed():
    seeds = [[row("network", "auc", value, 0.1, 0.9), row("cnn", "auc", 0.7)] for value in (0.871, 0.872, 0.873)]
    found = scores(*seeds)
    half = "±\u202f0.002"
    assert half in verdict(found) and table(found)[1].rows[0][1].small == half
    bar = score_bars(found, {}, "test cases").bars[0]
    assert (bar.name, bar.value, bar.width) == ("network", "0.872", 87.2)


@pytest.mark.parametrize(
    ("own", "rival", "higher", "words"),
    [
        (Found(0.9, 0.88, 0.92), Found(0.8, 0.78, 0.82), True, "that is better than"),
        (Found(0.9, 0.8, 1.0), Found(0.85, 0.78, 0.9), True, "its interval meets that of"),
        (Found(0.8, 0.7, 0.9), Found(0.9), True, "that is no better than"),
        (Found(0.8), Found(0.8), True, "that is no better than"),
        (Found(0.8), Found(0.9), False, "that is better than"),
        (Found(0.8, 0.7, 0.95), Found(0.9), False, "its interval meets that of"),
    ],
)
def test_a_baseline_that_is_as_good_is_said_to_be(own, rival, higher, words):
    assert standing(own, rival, higher=higher) == words


def test_the_verdict_names_the_best_baseline():
    found = scores([row("network", "auc", 0.8, 0.7, 0.9), row("cnn", "auc", 0.7), row("majority", "auc", 0.5)])
    assert best_rival(found) == ("cnn", Found(0.7))
    assert verdict(found) == (
        "The network has a test AUC of 0.800 (0.700–0.900); its interval meets that of the best other candidate, "
        "small CNN, with 0.700."
    )
    assert verdict(scores([row("network", "auc", 0.8)])) == "The network has a test AUC of 0.800."
    assert verdict(scores([])) == ""


def test_bars_need_two_models_and_no_score_below_zero():
    assert score_bars(scores([row("network", "auc", 0.8)]), {}, "cases") is None
    assert score_bars(scores([row("network", "auc", -0.1), row("cnn", "auc", 0.7)]), {}, "cases") is None
    bars = score_bars(scores([row("network", "mse", 0.4), row("ridge", "mse", 0.8)]), {}, "test rows")
    assert [(bar.name, bar.width) for bar in bars.bars] == [("network", 50.0), ("ridge", 100.0)]
    assert bars.remark == "on the test rows, lower is better"
    wide, thin = (score_bars(scores([row("network", "auc", 0.8, low, high), row("cnn", "auc", 0.7)]), {}, "").bars[0]
                  for low, high in ((0.75, 0.9), (0.799, 0.801)))  # fmt: skip
    assert (wide.low, wide.span) == (75.0, 15.0) and (thin.low, thin.span) == (79.9, 0.0)


def test_models_that_cannot_be_compared_keep_their_order_and_none_is_best():
    found = scores([row("network", "auc", 0.6), row("cnn", "auc", 0.9)])
    ranked, made = table(found)
    assert [line[0] for line in ranked] == ["small CNN", "network"] and any(cell.is_best for cell in made.rows[0])
    plain, made = table(found, is_ranked=False, reference="network", differences=True)
    assert [line[0] for line in plain] == ["network", "small CNN"] and len(made.columns) == 2
    assert not any(cell.is_best or cell.small for line in made.rows for cell in line)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("auc ece", "Higher is better; for ECE lower."),
        ("ece mse", "Lower is better."),
        ("mse coverage_80", "Lower is better; Coverage of 80 % should meet the level named."),
        ("coverage_80", "Coverage of 80 % should meet the level named."),
        ("auc", "Higher is better."),
    ],
)
def test_which_way_is_better_is_said_of_the_scores_that_are_there(names, words):
    assert directions(scores([row("network", name, 0.5) for name in names.split()])) == words


def test_a_sentence_of_a_run_names_its_models_in_words():
    found = Scores(
        [[row(name, "auc", 0.5) for name in ("network", "logistic", "tfidf", "cnn", "regression_log")]], METRICS,
        "network", {"logistic": "logistic regression", "tfidf": "logistic regression on TF-IDF", "cnn": "small CNN"},
    )  # fmt: skip
    said = "Answer: logistic (0.1 against 0.2 of tfidf), far from cnn_1, regression_log and logistic regression."
    assert found.name_models(said) == (
        "Answer: logistic regression (0.1 against 0.2 of logistic regression on TF-IDF), far from cnn_1, "
        "regression log and logistic regression."
    )
    assert found.name_within("network") == "the network" and found.name_within("cnn") == "small CNN"


def test_a_score_that_no_model_has_gets_no_column():
    found = scores([row("network", "auc", 0.8), row("network", "ece", None)])
    assert table(found)[1].columns == ["Model", "AUC"]
    assert table(scores([row("network", "auc", None)]))[1].columns == ["Model", "AUC"]


def test_titles_are_small_within_a_sentence_but_for_names_and_abbreviations():
    assert [*map(text.within, ("Accuracy", "AUC", "clDice", "Dice, pooled", "F1", "R²"))] == [
        "accuracy", "AUC", "clDice", "Dice, pooled", "F1", "R²",
    ]  # fmt: skip


def test_a_huge_score_is_written_by_its_power_of_ten():
    (line,), _ = table(scores([row("network", "mse", 1.234e82)]))
    assert line[1] == "1.234e+82" and text.number(-2.5e16, 4) == "\u22122.500e+16"
    assert list(show.align_rows([{"mse": 1.234e82, "ppl": 31234567890123456.0}]))[1].split() == [
        "1.2340e+82",
        "3.1235e+16",
    ]
