"""What tasks on one target share: the loss, outputs and scores of classes and of numbers."""

import types

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from multiway.data.scaling import Scaler
from multiway.metrics import classes
from multiway.tasks import targets
from multiway.tasks.target_task import outputs_of
from multiway.tasks.targets import class_frame, class_metrics, class_values, find_thresholds, thresholds_of
from multiway.training import TrainingConfig
from multiway.training.losses import TargetLoss
from tolerances import SUMS32

LABELS = np.array([0, 1, 1, 0, 1, 1])
NUMBERS = np.array([1.0, 2.0, 4.0, 7.0, 11.0, 16.0])


def predictions(names, truth, outputs, groups=None):
    return targets.Predictions(
        samples={"row": list(range(len(truth)))}, names=names, truth=truth, outputs=outputs, groups=groups
    )


def test_one_logit_stands_for_two_classes_and_numbers_have_their_units(generator):
    raw = torch.randn(5, 1, generator=generator, dtype=torch.float64)
    shares = targets.decode_outputs(raw, types.SimpleNamespace(target=None))
    np.testing.assert_allclose(shares[:, 1], torch.sigmoid(raw[:, 0]))
    np.testing.assert_allclose(shares.sum(1), 1)
    scaler = Scaler.fit(NUMBERS[:, None])
    np.testing.assert_allclose(
        targets.decode_outputs(
            torch.from_numpy(scaler.transform(NUMBERS[:, None])), types.SimpleNamespace(target=scaler)
        ),
        NUMBERS,
    )


def test_outputs_are_those_of_prediction_whatever_was_done_before(generator):
    x = torch.randn(7, 3, generator=generator)
    samples = types.SimpleNamespace(batches=lambda size: ({"inputs": part} for part in x.split(2)))
    torch.testing.assert_close(outputs_of(nn.Dropout(0.9).train(), samples), x.double())


def test_smoothing_and_weights_are_for_training_alone(generator):
    x, y = torch.randn(6, 3, generator=generator), torch.from_numpy(LABELS)
    model, batch = nn.Identity(), {"inputs": x[:, :2], "target": y}
    training = TrainingConfig(loss="cross_entropy", label_smoothing=0.2, class_weights="balanced")
    loss = TargetLoss(training, ("no", "yes"), LABELS)
    weights = torch.tensor([6 / (2 * 2), 6 / (2 * 4)])
    for mode, expected in (
        (True, F.cross_entropy(x[:, :2], y, weights, label_smoothing=0.2)),
        (False, F.cross_entropy(x[:, :2], y)),
    ):
        total, count = loss(model.train(mode), batch)
        assert float(total / count) == pytest.approx(float(expected), rel=SUMS32)
    total, count = TargetLoss(TrainingConfig(loss="mae"), None, NUMBERS)(model, {**batch, "target": x[:, 1]})
    assert float(total / count) == pytest.approx(float((x[:, 0] - x[:, 1]).abs().mean()), rel=SUMS32)


@pytest.mark.parametrize("is_training", [True, False])
def test_a_sample_of_weight_three_counts_as_three(is_training, generator):
    x, counts = torch.randn(6, 2, generator=generator), torch.tensor([1, 3, 2, 1, 3, 1])
    model = nn.Identity().train(is_training)
    smoothed = TrainingConfig(loss="cross_entropy", label_smoothing=0.2)
    for loss, target in (
        (TargetLoss(smoothed, ("no", "yes"), LABELS), torch.from_numpy(LABELS)),
        *((TargetLoss(TrainingConfig(loss=name), None, NUMBERS), x[:, 1]) for name in ("mse", "mae", "huber")),
    ):
        total, count = loss(model, {"inputs": x, "target": target, "weight": counts.float()})
        batch = {"inputs": x.repeat_interleave(counts, 0), "target": target.repeat_interleave(counts)}
        expected, number = loss(model, batch)
        assert float(total) == pytest.approx(float(expected), rel=SUMS32) and float(count) == float(number) == 11


def test_scores_are_over_groups_where_they_are_known():
    truth = predictions(None, NUMBERS, {"network": NUMBERS + 1})
    scores = {row["metric"]: row for row in truth.scores("test", 50)}
    assert list(scores) == ["mse", "rmse", "mae", "r2"] and scores["mse"]["value"] == pytest.approx(1)
    assert scores["mse"]["low"] == pytest.approx(1) and scores["mse"]["split"] == "test"
    (mse, *_) = predictions(None, NUMBERS, {"network": NUMBERS + 1}, groups=["one"] * 6).scores("test", 50)
    assert (mse["low"], mse["high"]) == (None, None)
    shares = np.eye(2)[LABELS]
    scores = predictions(("no", "yes"), LABELS, {"network": shares, "majority": shares[:, ::-1]}).scores("test", 0)
    assert [(row["model"], row["metric"], row["value"]) for row in scores[:2]] == [
        ("network", "acc", 1.0),
        ("network", "auc", 1.0),
    ]
    assert {row["metric"] for row in scores} == {"acc", "auc", "balanced_accuracy", "ece"}


def test_tables_name_samples_models_and_answers():
    numbers = predictions(None, NUMBERS, {"network": NUMBERS, "mean": np.full(6, 5.0)}).frame("test")
    assert list(numbers) == ["row", "split", "label", "model", "predicted"] and len(numbers) == 12
    assert targets.answer_frame(NUMBERS, None)["predicted"].tolist() == NUMBERS.tolist()
    shares = np.array([[0.4, 0.6], [0.9, 0.1]])
    named = targets.answer_frame(shares, ("no", "yes"))
    assert named["predicted"].tolist() == ["yes", "no"] and named["p_yes"].tolist() == [0.6, 0.1]
    classes = predictions(("no", "yes"), np.array([1, 1]), {"network": shares}).frame("test")
    assert classes["label"].tolist() == ["yes", "yes"] and classes["predicted"].tolist() == ["yes", "no"]


def test_thresholds_are_for_two_classes_alone():
    labels, scores = np.array([0, 1, 1]), np.array([0.1, 0.3, 0.4])
    outputs = {"ours": np.stack([1 - scores, scores], 1), "wide": np.full((3, 3), 1 / 3)}
    calibration = find_thresholds(outputs, lambda shares: classes.youden_threshold(labels, shares))
    assert thresholds_of(calibration, ["ours", "wide"]) == {"ours": pytest.approx(0.2), "wide": None}
    threshold = float(calibration["ours"])
    assert class_metrics(threshold)["sensitivity"](labels, outputs["ours"]) == 1
    assert class_metrics()["sensitivity"](labels, outputs["ours"]) == 0
    assert class_metrics(threshold)["acc"](labels, outputs["ours"]) == classes.accuracy(labels, outputs["ours"])


def test_predictions_are_one_row_per_model_and_case():
    outputs = {"ours": np.array([[0.2, 0.8], [0.9, 0.1]]), "majority": np.full((2, 2), 0.5)}
    frame = class_frame({"case": ["a", "b"]}, np.array([1, 1]), outputs, "test", ["low", "high"])
    assert list(frame) == ["case", "model", "split", "label", "predicted", "p_low", "p_high"]
    assert frame["model"].tolist() == ["ours", "ours", "majority", "majority"]
    assert frame["predicted"].tolist() == ["high", "low", "low", "low"]
    assert frame.loc[1, ["case", "label", "p_low"]].tolist() == ["b", "high", 0.9]


def test_names_of_truth_values_are_truth_values_in_tables():
    assert class_values(("False", "True")).tolist() == [False, True]
    assert class_values(("0", "True")).tolist() == ["0", "True"]
    shares = {"network": np.array([[0.9, 0.1], [0.2, 0.8]])}
    frame = class_frame({"row": [1, 2]}, np.array([0, 0]), shares, "test", ("False", "True"))
    assert frame[["label", "predicted"]].to_numpy().tolist() == [[False, False], [False, True]]
    assert frame["label"].dtype == frame["predicted"].dtype == bool
