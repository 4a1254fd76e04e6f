import dataclasses

import numpy as np
import pytest
import torch

from multiway.data.sources.images import image_samples
from multiway.errors import ConfigError, DataError
from multiway.tasks.images import ImageConfig
from multiway.tasks.images.config import ImageAugmentation
from multiway.tasks.images.encode import Augmented
from multiway.tasks.images.task import TASK
from tolerances import ROUNDING64

CLASSES = ("cat", "dog")


def images(count=40, parts=None, seed=0, **changes):
    values = np.random.default_rng(seed).integers(0, 256, (count, 5, 4, 3), dtype=np.uint8)
    official = None if parts is None else np.full(count, "", object)
    for name, rows in (parts or {}).items():
        official[rows] = name
    known = {
        "target": np.arange(count) % 2,
        "classes": CLASSES,
        "official": official if official is None else tuple(official),
    }
    return image_samples(values, list(map(str, range(count))), "made", **{**known, **changes})


def prepared_images(made, **settings):
    return TASK.prepare(ImageConfig.parse(settings), made)


def test_values_go_from_bytes_to_one_about_zero():
    prepared = prepared_images(images())
    batch = prepared.encoded.gather(torch.tensor([3, 1]))
    wanted = images().inputs[[3, 1]].transpose(0, 3, 1, 2) / 127.5 - 1
    np.testing.assert_allclose(batch["inputs"], wanted, rtol=0, atol=1e-6)
    assert batch["inputs"].dtype == torch.float32 and batch["target"].tolist() == [1, 1]


def test_scaling_by_the_training_images_sees_no_other():
    made = images()
    prepared = prepared_images(made, read={"normalise": "train"})
    inputs = prepared.part("train").gather(torch.arange(len(prepared.rows("train"))))["inputs"].double()
    assert inputs.mean((0, 2, 3)).abs().max() < 1e-6 and (inputs.std((0, 2, 3), correction=0) - 1).abs().max() < 1e-6
    training = made.inputs[prepared.rows("train")].reshape(-1, 3)
    np.testing.assert_allclose(prepared.state.centre, training.mean(0), rtol=ROUNDING64)
    np.testing.assert_allclose(prepared.state.spread, training.std(0), rtol=ROUNDING64)


@pytest.mark.parametrize("given", [("train", "test"), ("train", "validation"), ("train", "validation", "test")])
def test_parts_of_the_data_are_kept_and_the_others_drawn_from_training(given):
    parts = {name: np.arange(10 * place, 10 * place + 10) for place, name in enumerate(given)}
    prepared = prepared_images(images(10 * len(given), parts), split={"validation": 0.2, "test": 0.2})
    for name in set(given) - {"train"}:
        np.testing.assert_array_equal(prepared.rows(name), parts[name])
    drawn = [name for name in ("validation", "test") if name not in given]
    assert all(len(prepared.rows(name)) == 2 and prepared.rows(name).max() < 10 for name in drawn)
    assert len(prepared.rows("train")) == 10 - 2 * len(drawn)
    assert prepared.notes == tuple(f"made names no part {name}: 2 of its training images were drawn" for name in drawn)


def test_without_parts_every_image_is_in_one_split():
    prepared = prepared_images(images())
    every = np.concatenate(list(prepared.splits.values()))
    assert sorted(every.tolist()) == list(range(40)) and {len(rows) for rows in prepared.splits.values()} == {26, 6, 8}


def test_what_cannot_be_learnt_is_refused():
    with pytest.raises(DataError, match=r"made: a part train is needed with test"):
        prepared_images(images(parts={"test": np.arange(40)}))
    with pytest.raises(
        DataError, match=r"made: each split .* Got train 2, validation 0, test 0\. Give more images of "
    ):
        prepared_images(images(2))
    with pytest.raises(ConfigError, match=r"made: a target to predict is needed\. Give a folder per class"):
        prepared_images(images(target=None, classes=None))
    parts = {"train": np.arange(0, 30, 2), "test": np.arange(30, 40)}
    with pytest.raises(DataError, match=r"made: train has no images of dog"):
        prepared_images(images(40, parts))


def test_later_images_are_counted_in_the_classes_of_the_run():
    state = prepared_images(images()).state
    later = images(3, target=np.zeros(3, np.int64), classes=("dog",))
    config = ImageConfig()
    assert TASK.prepare(config, later, state).encoded.truth.tolist() == [1, 1, 1]
    assert TASK.prepare(config, later, state, labelled=False).encoded.target is None
    with pytest.raises(DataError, match=r"made: classes are those of the training, cat, dog\. Got cow in 3 images"):
        TASK.prepare(config, images(3, target=np.zeros(3, np.int64), classes=("cow",)), state)
    with pytest.raises(DataError, match=r"trained on \(channels, height, width\) \(3, 5, 4\)\. Got \(3, 4, 4\)"):
        TASK.prepare(config, dataclasses.replace(later, inputs=later.inputs[:, :4], classes=CLASSES), state)


def test_training_images_are_changed_by_the_seed_alone():
    samples = prepared_images(images()).part("train")
    source = Augmented(samples, ImageAugmentation(flips=(1,), shift=1))
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(source.gather(torch.arange(20))["inputs"])
    plain = samples.gather(torch.arange(20))["inputs"]
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2]) and not torch.equal(found[0], plain)
    with pytest.raises(Exception, match=r"images have the axes 0 and 1\. Got \[2\]"):
        ImageAugmentation(flips=(2,))


def test_a_check_says_every_flaw_at_once(tmp_path):
    from PIL import Image

    for row, image in enumerate(images(12).inputs):
        path = tmp_path / CLASSES[row % 2] / f"{row:02d}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(image).save(path)
    (tmp_path / "cat" / "00.png").write_bytes(b"")
    (tmp_path / "dog" / "01.png").write_bytes(b"no")
    (tmp_path / "dog" / "99.png").write_bytes((tmp_path / "cat" / "02.png").read_bytes())
    report = TASK.kind.check(ImageConfig(), tmp_path)
    rules = {finding.kind: finding.line() for finding in report.findings if finding.severity != "error"}
    errors = [finding.rule for finding in report.findings if finding.severity == "error"]
    assert [error.split(":")[0] for error in errors] == ["cat/00.png", "dog/01.png"] and not report.is_usable
    assert "2 images have equal inputs and different classes: cat/02.png; dog/99.png." in rules["targets"]
    assert report.summary["images"] == 11 and report.summary["sizes"] == "5 x 4"
