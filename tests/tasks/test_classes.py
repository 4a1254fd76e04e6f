"""The loss beside torch's, balanced weights, thresholds, and the table of predictions."""

import numpy as np
import pytest

from multiway.metrics import classes
from multiway.tasks.targets import class_frame, class_metrics, class_values, thresholds_of, youden_thresholds

LABELS = np.array([0, 0, 0, 1, 2, 2])


def test_thresholds_are_for_two_classes_alone():
    labels, scores = np.array([0, 1, 1]), np.array([0.1, 0.3, 0.4])
    outputs = {"ours": np.stack([1 - scores, scores], 1), "wide": np.full((3, 3), 1 / 3)}
    calibration = youden_thresholds(labels, outputs)
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
    shares = {"multiway": np.array([[0.9, 0.1], [0.2, 0.8]])}
    frame = class_frame({"row": [1, 2]}, np.array([0, 0]), shares, "test", ("False", "True"))
    assert frame[["label", "predicted"]].to_numpy().tolist() == [[False, False], [False, True]]
    assert frame["label"].dtype == frame["predicted"].dtype == bool
