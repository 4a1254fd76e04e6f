"""The slices kept of test cases: which cases, which slice of each, and the same after reading."""

import base64
import io
import types

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from multiway.report.attention import grey_png
from multiway.report.outlines import outline
from multiway.tasks.scans.mask_page import Shown, _picture, load_slices, save_slices
from multiway.training import RunFolder

SIZES = (5, 7, 3)


def make_examples(names):
    """Volumes of two channels; the mask marks one slice more than the others, and each case another."""
    draw = np.random.default_rng(3)
    examples = {}
    for row, name in enumerate(names):
        target = np.zeros(SIZES, np.int16)
        target[row % 5, :2], target[(row + 1) % 5, 0] = 1, 2
        examples[name] = types.SimpleNamespace(values=draw.normal(size=(2, *SIZES)).astype(np.float32), target=target)
    images = types.SimpleNamespace(read=lambda row: examples[names[row]])
    return types.SimpleNamespace(names={"case": list(names)}, inputs=images), examples


def scores_of(names, **changes):
    """A row per case and class: the later a case, the higher its mean Dice."""
    rows = [
        {"split": "test", "model": "network", "scored": True, "case": name, "dice": 0.02 * row + shift, **changes}
        for row, name in enumerate(names)
        for shift in (-0.01, 0.01)
    ]
    return pd.DataFrame(rows)


def kept(tmp_path, names, *more):
    examples, by_name = make_examples(names)
    frame = pd.concat([scores_of(names), *more]).sample(frac=1, random_state=0)
    run = RunFolder.create(tmp_path / "run", {})
    save_slices(run, frame, "network", lambda values: np.ones(SIZES), examples)
    return load_slices(run), by_name


def test_the_worst_middle_and_best_test_cases_of_the_network_are_kept(tmp_path):
    names = [f"c{row}" for row in range(20)]
    others = ({"split": "validation"}, {"model": "unet"}, {"scored": False})
    shown, _ = kept(tmp_path, names, *(scores_of(names[::-1], dice=2.0, **change) for change in others))
    assert [one.case for one in shown] == [f"c{row}" for row in (0, 1, 2, 9, 10, 11, 17, 18, 19)]
    assert [one.dice for one in shown] == pytest.approx([0.02 * row for row in (0, 1, 2, 9, 10, 11, 17, 18, 19)])


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 9])
def test_of_few_cases_each_is_kept_once(count, tmp_path):
    names = [f"c{row}" for row in range(count)]
    assert [one.case for one in kept(tmp_path, names)[0]] == names


def test_a_case_is_shown_where_target_and_prediction_mark_most(tmp_path):
    names = ["a", "b", "c"]
    examples, by_name = make_examples(names)
    predicted = np.zeros(SIZES)
    predicted[4, 2:] = 1  # more than any target marks
    run = RunFolder.create(tmp_path / "run", {})
    marks = lambda values: predicted if values is by_name["c"].values else 0 * predicted  # noqa: E731
    save_slices(run, scores_of(names), "network", marks, examples)
    for row, one in enumerate(load_slices(run)):
        position = 4 if one.case == "c" else row
        grey = by_name[one.case].values[:, position].astype(np.float64).mean(0)
        low, high = np.percentile(grey, [1, 99])
        np.testing.assert_array_equal(one.target, by_name[one.case].target[position])
        np.testing.assert_array_equal(one.predicted, predicted[4] if one.case == "c" else 0 * predicted[4])
        np.testing.assert_array_equal(one.image, np.rint(255 * np.clip((grey - low) / (high - low), 0, 1)))


def test_both_masks_are_outlined_over_the_plain_slice():
    image = np.arange(20, dtype=np.uint8).reshape(4, 5)
    target, predicted = np.zeros((2, 4, 5), np.int16)
    target[1:3, 1:3], predicted[1:3, 2:4] = 1, 1
    shown = _picture(Shown(case="a", dice=0.5, image=image, target=target, predicted=predicted))
    assert shown.layers == [grey_png(image)] and shown.sizes == (4, 5)
    assert dict(shown.outlines) == {"mask-true": "M1 1v2h2v-2z", "mask-predicted": "M2 1v2h2v-2z"}


def test_another_class_is_tinted_and_what_nobody_labelled_is_outlined_in_neither():
    target, predicted = np.zeros((2, 4, 5), np.int16)
    target[0], predicted[:] = -1, 2
    target[2, 1:3] = 1, 2
    shown = _picture(Shown(case="a", dice=0.5, image=np.zeros((4, 5), np.uint8), target=target, predicted=predicted))
    tint = imread(io.BytesIO(base64.b64decode(str(shown.layers[1]).partition(",")[2])))
    assert np.argwhere(tint[..., 3] > 0).tolist() == [[2, 1]]
    assert dict(shown.outlines)["mask-true"] == outline(target)
    predicted[0] = -1
    assert dict(shown.outlines)["mask-predicted"] == outline(predicted)
