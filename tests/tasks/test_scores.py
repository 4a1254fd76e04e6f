"""Scores of runs as tables, and what is said of the best baseline."""

import types

import pytest

from multiway.tasks.choice import fixed
from multiway.tasks.protocol import Metric
from multiway.tasks.scores import best_baseline_remark, score_of, score_table

METRICS = (Metric(name="acc", title="ACC", spread=True), Metric(name="loss", title="Loss", higher=False, of="ce"))


def run_with(scores, metric="acc", low=None):
    rows = [
        {"model": model, "split": "test", "metric": metric, "value": value, "low": low, "high": low}
        for model, value in scores.items()
    ]
    task = types.SimpleNamespace(metrics=lambda config: METRICS, scored_as=lambda run: run.answer.name)
    return types.SimpleNamespace(task=task, config=None, scores=rows, answer=fixed("network"))


@pytest.mark.parametrize(
    ("ours", "others"), [(0.9, {"ridge": 0.8}), (0.9, {}), (None, {"ridge": 0.8}), (0.9, {"ridge": None})]
)
def test_nothing_is_said_of_a_network_ahead_or_of_nothing_to_compare(ours, others):
    assert best_baseline_remark(run_with({"network": ours, **others}), "acc") == ""


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
