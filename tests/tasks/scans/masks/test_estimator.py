"""`Segmenter` in scikit-learn's manners."""

import numpy as np
import pandas as pd
import pytest

import multiway
from multiway.errors import ConfigError, DataError, MultiwayWarning, NotFittedError
from multiway.tasks.run import load
from tasks.scans.masks.lesion_files import FAST, box_case, write_boxes, write_scene

TRAINING = {"batch_size": 4, "warmup_steps": 1, "learning_rate": 0.01}
SETTINGS = {"model": FAST["model"], "training": TRAINING, "draws": 5}
SCENE = {"model": {"dim": 8, "num_blocks": 1, "num_heads": 2, "bands_per_token": 2}, "block": 6, "draws": 5}


def make(**changes):
    usual = {"epochs": 1, "baselines": ("background", "threshold"), "settings": SETTINGS}
    return multiway.Segmenter(**{**usual, **changes})


def boxes(count, first=0, value=1):
    images, masks = zip(*(box_case(first + index) for index in range(count)), strict=True)
    return np.stack(images), np.stack(masks) * value


@pytest.fixture(scope="module")
def fitted():
    return make(epochs=10).fit(*boxes(16, value=7))


def test_fit_predict_score(fitted):
    images, masks = boxes(4, first=40, value=7)
    predicted = fitted.predict(images)
    assert fitted.classes_.tolist() == [0, 7] and set(np.unique(predicted)) <= {0, 7}
    assert predicted.shape == masks.shape
    found, truth = predicted == 7, masks == 7
    dice = [2 * (a & b).sum() / (a.sum() + b.sum()) for a, b in zip(found, truth, strict=True)]
    assert fitted.score(images, masks) == pytest.approx(np.mean(dice))
    assert fitted.score(images, masks) > 0.5
    assert set(fitted.scores_["model"]) == {"network", "background", "threshold"}
    frame = fitted.evaluate(images, masks)
    assert isinstance(frame, pd.DataFrame) and set(frame["split"]) == {"all"}
    assert [item.mode for item in fitted.explain(images, masks)[:3]] == ["depth", "height", "width"]


def test_masks_lie_on_the_grid_of_images_that_are_cropped():
    images, masks = boxes(12)
    cropped = make(settings={**SETTINGS, "read": {"size": [6, 8, 8], "cut_masks": True}})
    with pytest.warns(MultiwayWarning, match="size 6 x 8 x 8 cuts the body in 12 of 12 scans"):
        model = cropped.fit(images, masks)
    assert model.run_.facts["sizes"] == [6, 8, 8]
    assert model.predict(images[:2]).shape == (2, 8, 9, 10)


def test_a_pair_in_memory_is_volumes_and_their_masks():
    assert multiway.check(boxes(12), task="segment").is_usable
    with pytest.raises(DataError, match="need their masks"):
        multiway.check(boxes(12)[0], task="segment")


def test_channels_booleans_and_patients():
    images, masks = boxes(12)
    patients = np.arange(12) // 2
    two = np.stack([images, 255 - images], 1)
    model = make(baselines=("logistic",)).fit(two, masks.astype(bool), patients=patients)
    assert model.run_.state.channels == 2 and model.classes_.tolist() == [0, 1]
    split = model.run_.tables["cases"].groupby("split")["patient"].agg(set)
    assert split["validation"].isdisjoint(split["test"])


def test_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    repeated = multiway.Segmenter.load(tmp_path / "run")
    images, masks = boxes(3, first=40, value=7)
    assert np.array_equal(repeated.predict(images), fitted.predict(images))
    assert repeated.score(images, masks) == fitted.score(images, masks)
    assert repeated.config() == fitted.config() == load(tmp_path / "run").config


def test_a_path_holds_its_own_masks(tmp_path):
    path = write_boxes(tmp_path)
    model = make().fit(path)
    masks = model.predict(path)
    assert len(masks) == 12 and masks[0].shape == (8, 9, 10)
    assert 0 <= model.score(path) <= 1
    with pytest.raises(ConfigError, match="a path holds its own masks"):
        make().fit(path, np.zeros(3))


def test_every_image_of_a_path_has_a_mask_of_its_own_size(fitted, tmp_path):
    sizes = [(8, 9, 10), (10, 9, 8)]
    for row, size in enumerate(sizes):
        np.save(tmp_path / f"{row}.npy", boxes(1)[0][0].reshape(size))
    assert [mask.shape for mask in fitted.predict(tmp_path)] == sizes


def test_a_scene(tmp_path):
    path = write_scene(tmp_path / "scene.npz")
    model = make(baselines=("logistic",), settings={**SCENE, "ignore": 0}).fit(path)
    assert model.predict(path).shape == (30, 31) and model.classes_.tolist() == [1, 2, 3]
    assert 0 <= model.score(path) <= 1
    with pytest.raises(DataError, match=r"X\[0\]: the run segments images of 2 axes and 5 channels"):
        model.predict(boxes(1)[0])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((4, 8, 8)), np.zeros((4, 8, 8)), r"three sizes. Got \(4, 8, 8\)"),
        (np.zeros((9, 8, 8, 8)), np.zeros((9, 8, 8)), r"y: one mask .* per volume, \(9, 8, 8, 8\). Got .* \(9, 8, 8\)"),
        (np.zeros((9, 8, 8, 8)), np.full((9, 8, 8, 8), "a"), "y: one mask of whole numbers"),
        (np.zeros((9, 8, 8, 8)), np.full((9, 8, 8, 8), 0.5), "a mask holds whole numbers"),
        (np.zeros((9, 8, 8, 8)), np.zeros((9, 8, 8, 8), int), "must hold two values or more"),
        (np.zeros((2, 8, 8, 8)), np.zeros((2, 8, 8, 8), int), "each split needs cases"),
    ],
    ids=["sizes", "one axis less", "words", "probabilities", "one class", "too few"],
)
def test_arrays_that_do_not_fit(x, y, message):
    with pytest.raises(DataError, match=message) as found:
        make().fit(x, y)
    assert "\n" not in str(found.value)


def test_wrong_calls(fitted):
    with pytest.raises(NotFittedError, match="call fit before this"):
        make().predict(np.zeros((1, 8, 9, 10)))
    with pytest.raises(ConfigError, match="arrays need y, one mask per image"):
        make().fit(boxes(4)[0])
    with pytest.raises(DataError, match=r"a mask may hold the values of the training masks, 0, 7\. Got 1"):
        fitted.score(*boxes(2))
    with pytest.raises(DataError, match=r"X\[0\]: the run segments images of 3 axes and 1 channels"):
        fitted.predict(np.zeros((1, 2, 8, 9, 10)))
