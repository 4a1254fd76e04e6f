"""Scores over cases: means where they are defined, counts together, and intervals over patients."""

import functools

import numpy as np
import pandas as pd
import pytest

from multiway.tasks.scans.candidates.segment.background import Constant
from multiway.tasks.scans.candidates.segment.logistic import Voxelwise
from multiway.tasks.scans.candidates.segment.threshold import Threshold
from multiway.tasks.scans.scores import case_weights, mean_dice, measure, overlap_rows
from tasks.scans.masks.lesion_files import prepared_at, write_boxes, write_scene
from tolerances import ROUNDING64


@pytest.fixture
def boxes(tmp_path):
    return prepared_at(write_boxes(tmp_path))[0]


def perfect(prepared):
    """A predictor that looks the answer up."""
    known = {example.values.tobytes(): example.target for example in prepared.encoded.inputs}
    return lambda values: np.maximum(known[values.tobytes()], 0).astype(np.int64)


def value(rows, metric, name="mean"):
    return next(row["value"] for row in rows if (row["metric"], row["class"]) == (metric, name))


def fitted(model, prepared):
    """A baseline as a function of the image, with its scale."""
    scale = prepared.state.scale
    model.fit(prepared.part("train").inputs, scale, 0)
    return functools.partial(model.predict, scale=scale)


def test_the_truth_scores_one_where_anything_is_to_be_found(boxes):
    frame = measure(perfect(boxes), boxes.part("test"))
    rows = overlap_rows(frame, "truth", "test", 20)
    assert value(rows, "dice") == 1
    assert value(rows, "hd95") == 0
    assert value(rows, "cl_dice") == 1
    assert value(rows, "acc", "all") == 1
    by_metric = {(row["metric"], row["class"]): row["cases"] for row in rows}
    assert by_metric["dice", "1"] == 1  # the other test case has nothing to find
    assert by_metric["acc", "all"] == 2


def test_a_false_alarm_in_an_empty_case_counts_zero(boxes):
    frame = measure(lambda values: np.ones(values.shape[1:], np.int64), boxes.part("test"))
    dice = frame[frame["class"] == "1"]["dice"].tolist()
    assert dice[0] == pytest.approx(128 / (720 + 64), rel=ROUNDING64) and dice[1] == 0
    rows = overlap_rows(frame, "all", "test", 0)
    assert value(rows, "dice") == pytest.approx(np.mean(dice), rel=ROUNDING64)
    assert value(rows, "dice_pooled") == pytest.approx(128 / (1440 + 64), rel=ROUNDING64)
    assert value(rows, "acc", "all") == pytest.approx(64 / 1440, rel=ROUNDING64)
    assert next(row for row in rows if row["metric"] == "dice")["low"] is None


def test_background_everywhere_has_no_distance(boxes):
    frame = measure(fitted(Constant(), boxes), boxes.part("validation"))
    rows = overlap_rows(frame, "background", "validation", 10)
    assert value(rows, "dice") == 0
    assert value(rows, "hd95") is None
    assert mean_dice(fitted(Constant(), boxes), boxes.part("validation")) == 0


def test_the_threshold_is_the_best_interval_of_the_training_voxels(boxes):
    model = Threshold()
    predict = fitted(model, boxes)
    train = list(boxes.part("train").inputs)

    def dice(low, high):
        marked = [(each.values[0] >= low) & (each.values[0] <= high) for each in train]
        both = sum(int((mark & (each.target == 1)).sum()) for mark, each in zip(marked, train, strict=True))
        return (
            2
            * both
            / sum(int(mark.sum()) + int((each.target == 1).sum()) for mark, each in zip(marked, train, strict=True))
        )

    best = max(dice(low, high) for low in range(90, 140, 3) for high in range(200, 256, 5))
    assert dice(*model.ends.tolist()) >= best - 1e-3
    assert mean_dice(predict, boxes.part("validation")) > 0.9


def test_logistic_regression_learns_spectra_and_ignores_what_is_unlabelled(tmp_path):
    scene, _ = prepared_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={})
    predictor = fitted(Voxelwise(scene.state.channels, len(scene.state.classes)), scene)
    frame = measure(predictor, scene.part("test"))
    rows = overlap_rows(frame, "logistic", "test", 0)
    assert value(rows, "acc", "all") > 0.95
    assert {row["metric"] for row in rows if row["value"] is not None} == {"dice", "dice_pooled", "acc"}
    counted = sum((example.target >= 0).sum() for example in scene.part("test").inputs)
    assert frame["both"].sum() + frame["missed"].sum() == counted
    majority = fitted(Constant(), scene)
    assert mean_dice(majority, scene.part("test")) < 0.4


def test_dice_is_scored_on_the_grid_of_the_files_too(tmp_path):
    """What a size cuts off is missed there, though no crop shows it."""
    prepared, _ = prepared_at(write_boxes(tmp_path), read={"size": [4, 6, 6], "cut_masks": True})
    test = prepared.part("test")
    frame = measure(perfect(prepared), test)
    ours = frame[frame["class"] == "1"].iloc[0]
    mask = np.load(tmp_path / "mask10.npy")
    kept = int(mask[2:6, 1:7, 2:8].sum())
    assert 0 < kept < 64 and ours["dice"] == 1
    assert ours["dice_on_file"] == pytest.approx(2 * kept / (kept + 64), rel=ROUNDING64)
    rows = overlap_rows(frame, "truth", "test", 0)
    assert value(rows, "dice_on_file") == ours["dice_on_file"]
    whole, _ = prepared_at(write_boxes(tmp_path))
    assert "dice_on_file" not in measure(perfect(whole), whole.part("test"))


def test_patients_are_drawn_whole():
    weights = case_weights(np.array(["a", "b", "a", "c"]), 200)
    assert weights.shape == (201, 4) and (weights[0] == 1).all()
    assert (weights[:, 0] == weights[:, 2]).all()
    assert (weights[:, [0, 1, 3]].sum(1) == 3).all()


def test_intervals_are_those_of_the_bootstrapped_mean():
    draw = np.random.default_rng(0)
    dice = draw.random(60)
    frame = pd.DataFrame(
        {"case": [f"c{i}" for i in range(60)], "patient": [f"p{i}" for i in range(60)], "class": "1", "scored": True,
         "both": 1, "predicted": 0, "missed": 0, "dice": dice, "cl_dice": np.nan, "hd95": np.nan}
    )  # fmt: skip
    row = next(row for row in overlap_rows(frame, "m", "test", 4000) if row["metric"] == "dice")
    error = dice.std() / np.sqrt(60)
    assert row["value"] == pytest.approx(dice.mean(), rel=ROUNDING64)
    assert row["low"] == pytest.approx(dice.mean() - 1.96 * error, abs=0.15 * error)
    assert row["high"] == pytest.approx(dice.mean() + 1.96 * error, abs=0.15 * error)
    missing = next(row for row in overlap_rows(frame, "m", "test", 10) if row["metric"] == "hd95")
    assert missing["value"] is missing["low"] is None and missing["cases"] == 0
