"""Scores of runs as tables, and what is said of the best baseline."""

import types

import pytest

from multiway.tasks.choice import choice_of_settings
from multiway.tasks.protocol import Metric
from multiway.tasks.scores import best_baseline_remark, score_of, score_table, warn_of_lopsided

METRICS = (Metric(name="acc", title="ACC", spread=True), Metric(name="loss", title="Loss", higher=False, of="ce"))


def run_with(scores, metric="acc", low=None):
    rows = [
        {"model": model, "split": "test", "metric": metric, "value": value, "low": low, "high": low}
        for model, value in scores.items()
    ]
    task = types.SimpleNamespace(metrics=lambda config: METRICS, score_name=lambda run: run.answer.name)
    return types.SimpleNamespace(task=task, config=None, scores=rows, answer=choice_of_settings("network"))


@pytest.mark.parametrize(
    ("ours", "others"), [(0.9, {"ridge": 0.8}), (0.9, {}), (None, {"ridge": 0.8}), (0.9, {"ridge": None})]
)
def test_nothing_is_said_of_a_network_ahead_or_of_nothing_to_compare(ours, others):
    assert best_baseline_remark(run_with({"network": ours, **others}), "acc") == ""


def two_splits(metric, validation, test, samples=400):
    """A model's scores with their ends on two splits."""
    rows = [
        {"model": "tfidf", "split": split, "metric": metric, "value": value, "low": low, "high": high}
        for split, (value, low, high) in {"validation": validation, "test": test}.items()
    ]
    made = run_with({})
    made.task.metrics = lambda config: (*METRICS, Metric(name="ppl", title="Perplexity", higher=False))
    made.scores, made.facts = rows, {"splits": {name: {"samples": samples} for name in ("validation", "test")}}
    return made


NEAR = (0.97, 0.965, 0.99)


@pytest.mark.parametrize(
    ("metric", "validation", "test", "samples", "better"),
    [
        ("acc", NEAR, (0.6, 0.5, 0.7), 400, "validation"),
        ("acc", (0.6, 0.5, 0.7), NEAR, 400, "test"),
        ("acc", NEAR, (0.7, 0.6, 0.8), 400, None),  # ten times the error itself, not the upper end of its interval
        ("acc", (1.0, 1.0, 1.0), (0.6, 0.5, 0.7), 400, "validation"),
        ("acc", (1.0, 1.0, 1.0), (0.6, 0.5, 0.7), 20, None),  # 20 right answers are had by chance
        ("acc", (1.0, None, None), (None, None, None), 400, None),
        ("ppl", (12.0, 10.0, 13.0), (140.0, 120.0, 170.0), 400, "validation"),
        ("ppl", (12.0, 10.0, 15.0), (140.0, 120.0, 170.0), 400, None),
    ],
)
def test_a_model_that_counts_words_is_named_where_one_split_is_ten_times_better(
    metric, validation, test, samples, better
):
    run = two_splits(metric, validation, test, samples)
    counting = {"majority": "", "unigram": metric, "tfidf": metric}
    run.task.candidates = lambda: {name: types.SimpleNamespace(counts_words=each) for name, each in counting.items()}
    said = warn_of_lopsided(run)
    assert len(said) == (better is not None)
    assert all(f"tfidf is more than 10 times better on {better} than on" in line for line in said)


@pytest.mark.parametrize("ours", [0.7, 0.8])
def test_the_best_baseline_is_named_if_it_is_as_good(ours):
    said = best_baseline_remark(run_with({"network": ours, "majority": 0.5, "logistic": 0.8, "cnn": None}), "acc")
    assert said == " The network is no better than the baselines: logistic does as well or better."


def test_of_a_loss_the_lowest_is_the_best():
    assert best_baseline_remark(run_with({"network": 0.2, "cnn": 0.3}, "ce"), "loss") == ""
    assert "cnn does as well" in best_baseline_remark(run_with({"network": 0.4, "cnn": 0.3}, "ce"), "loss")


def test_a_table_has_intervals_of_one_run_and_deviations_of_several():
    plain, bounded, other = run_with({"network": 0.5}), run_with({"network": 0.5}, low=0.4), run_with({"network": 1})
    assert score_table([plain], "test") == [{"model": "network", "acc": 0.5}]
    assert score_table([bounded], "test")[0]["acc low"] == 0.4
    assert score_table([plain, other], "test")[0]["acc sd"] == pytest.approx(0.5**0.5 / 2)


def test_a_score_that_a_run_has_not_is_undefined():
    assert score_of(run_with({"network": 0.5}), "network", "auc")["value"] is None
