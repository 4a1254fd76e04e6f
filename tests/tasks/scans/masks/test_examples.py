"""Masks become classes, scenes become blocks, and what does not fit is named."""

import json

import numpy as np
import pytest

from multiway.data.sources.scans.intensity import IntensityScale
from multiway.errors import DataError
from multiway.tasks.run import digest_of
from multiway.tasks.scans.encode import to_classes
from multiway.tasks.scans.task import MASKS as TASK
from multiway.training.losses import IGNORED
from tasks.scans.masks.lesion_files import prepared_at, write_boxes, write_scene


def test_the_values_of_a_mask_become_classes(tmp_path):
    prepared, _ = prepared_at(write_boxes(tmp_path, value=200), classes=("tissue", "box"))
    state, images = prepared.state, prepared.encoded.inputs
    assert state.values == (0, 200) and state.classes == ("tissue", "box") and state.background
    assert list(images.dice_classes) == [1]
    target = images.read(0).target
    assert set(np.unique(target)) == {0, 1} and (target == 1).sum() == 64


@pytest.mark.parametrize(
    "form", [lambda names: dict(enumerate(names)), lambda names: {n: i for i, n in enumerate(names)}]
)
def test_a_datalist_names_its_classes(form, tmp_path):
    write_boxes(tmp_path, value=2)
    items = [{"image": f"image{row}.npy", "label": f"mask{row}.npy"} for row in range(12)]
    labels = form(("background", "pancreas", "cancer"))
    (tmp_path / "dataset.json").write_text(json.dumps({"labels": labels, "training": items}))
    prepared, config = prepared_at(tmp_path / "dataset.json")
    state = prepared.state
    assert (state.values, state.classes) == ((0, 2), ("background", "cancer"))
    write_boxes(tmp_path, value=2)  # the same masks, listed in a table that names no class
    assert TASK.prepare(config, str(tmp_path / "cases.csv"), state).encoded.classes == ("background", "cancer")


def test_an_ignored_value_counts_nowhere():
    target = to_classes(np.array([0, 5, 7, 5]), (0, 7), 5, "here")
    assert target.tolist() == [0, IGNORED, 1, IGNORED]
    with pytest.raises(DataError, match=r"here: a mask may hold the values of the training masks, 0, 7. Got 9"):
        to_classes(np.array([0, 9]), (0, 7), None, "here")


def test_a_value_that_training_lacks_names_its_case(tmp_path):
    path = write_boxes(tmp_path)
    np.save(tmp_path / "mask10.npy", np.full((8, 9, 10), 3, np.uint8))
    prepared, _ = prepared_at(path)
    with pytest.raises(DataError, match=r"mask of image10: .* Got 3"):
        prepared.encoded.inputs.read(prepared.raw.names["case"].index("image10"))


@pytest.mark.parametrize(
    ("values", "message"),
    [(np.zeros((8, 9, 10), np.uint8), "must hold two values or more. Got 0"),
     (np.random.default_rng(0).random((8, 9, 10)), "a mask holds whole numbers")],
    ids=["one value", "probabilities"],
)  # fmt: skip
def test_masks_that_say_nothing_are_refused(values, message, tmp_path):
    path = write_boxes(tmp_path)
    for index in range(12):
        np.save(tmp_path / f"mask{index}.npy", values)
    with pytest.raises(DataError, match=message):
        prepared_at(path)


def test_a_table_without_masks_is_refused(tmp_path):
    path = write_boxes(tmp_path)
    path.write_text(path.read_text().replace("mask,", "other,", 1))
    with pytest.raises(DataError, match=r"There is no column 'mask'. Add it, or name it"):
        prepared_at(path)


def test_a_number_of_class_names_that_does_not_fit_is_refused(tmp_path):
    with pytest.raises(DataError, match="classes names 3 classes and the masks hold 2"):
        prepared_at(write_boxes(tmp_path), classes=("a", "b", "c"))


def test_a_scene_is_cut_into_blocks_of_disjoint_splits(tmp_path):
    prepared, _ = prepared_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={})
    state, images = prepared.state, prepared.encoded.inputs
    assert state.num_modes == 2 and state.channels == 5 and not state.background
    assert state.classes == ("1", "2", "3") and list(images.dice_classes) == [0, 1, 2]
    seen = [row for rows in prepared.splits.values() for row in rows.tolist()]
    assert len(seen) == len(set(seen)) == 25
    read = images.read(0)
    assert read.values.shape == (5, 6, 6) and read.target.min() == IGNORED


def test_intensities_are_learned_from_training_images_alone(tmp_path):
    prepared, _ = prepared_at(write_scene(tmp_path / "scene.npz"), ignore=0, block=6, model={})
    scale, images = prepared.state.scale, list(prepared.part("train").inputs)
    means = np.mean([example.values.reshape(5, -1).mean(1) for example in images], axis=0)
    np.testing.assert_allclose(scale.centre, means, rtol=1e-6)
    assert isinstance(scale, IntensityScale) and len(scale.spread) == 5


def test_the_digest_is_of_images_masks_and_splits(tmp_path):
    path = write_boxes(tmp_path)

    def digest():
        return digest_of(prepared_at(path)[0].content())

    first = digest()
    assert digest() == first
    mask = np.load(tmp_path / "mask3.npy")
    np.save(tmp_path / "mask3.npy", mask[::-1])
    assert digest() != first
    np.save(tmp_path / "mask3.npy", mask)
    assert digest() == first
    path.write_text(path.read_text().replace("image7.npy,mask7.npy,train", "image7.npy,mask7.npy,test"))
    assert digest() != first
