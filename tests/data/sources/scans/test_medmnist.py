"""MedMNIST's files: labels, classes and splits as published, volumes one at a time."""

import numpy as np
import pytest
import torch

from multiway.data.catalogue import entries
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.cases import splits_named
from multiway.data.sources.scans.loading import read_cases
from multiway.errors import DataError
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.task import CLASSES as TASK


@pytest.fixture
def arrays():
    chance = np.random.default_rng(3)
    counts = {"train": 7, "val": 3, "test": 5}
    return {
        f"{part}_{kind}": chance.integers(0, 256, (count, 4, 5, 6), dtype=np.uint8) if kind == "images"
        else (np.arange(count)[:, None] % 2).astype(np.uint8)
        for part, count in counts.items() for kind in ("images", "labels")
    }  # fmt: skip


@pytest.fixture
def file(arrays, tmp_path):
    np.savez_compressed(tmp_path / "small.npz", **arrays)
    return tmp_path / "small.npz"


def test_cases_follow_the_file(file, arrays):
    cases = read_cases(file)
    header, names, splits = cases.inputs.header, cases.names["case"], splits_named(cases)
    assert (len(cases), header.channels, cases.inputs.sizes, cases.classes) == (15, 1, (4, 5, 6), ("0", "1"))
    assert header.axes == ("depth", "height", "width")
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 7, "validation": 3, "test": 5}
    assert (names[7], names[14]) == ("validation-00000", "test-00004")
    for split, part in {"train": "train", "validation": "val", "test": "test"}.items():
        rows = splits[split]
        assert np.array_equal(cases.inputs[rows].stack()[:, 0], arrays[f"{part}_images"])
        assert np.array_equal(cases.labels[rows], arrays[f"{part}_labels"][:, 0])
    assert cases.take(splits["test"]).counts()["classes"] == {"0": 3, "1": 2}
    assert len(set(names)) == len(cases)


def test_channels_on_request(arrays, tmp_path):
    arrays |= {name: np.stack([x, 255 - x], 1) for name, x in arrays.items() if name.endswith("images")}
    np.savez(tmp_path / "two.npz", **arrays)
    with pytest.raises(DataError, match=r"two\.npz: 'train_images' must be .*read\.channels=True"):
        read_cases(tmp_path / "two.npz")
    cases = read_cases(tmp_path / "two.npz", VolumeOptions(channels=True))
    assert (cases.inputs.header.channels, cases.inputs.sizes) == (2, (4, 5, 6))
    assert np.array_equal(cases.inputs.read(8).values, arrays["val_images"][1])


def test_batches_are_normalised_rows(file, arrays):
    config = VolumeConfig()
    training = TASK.prepare(config, str(file)).part("train").take(np.array([6, 1, 2]))
    batch = training.gather(torch.tensor([2, 0]))
    assert len(training) == 3
    assert batch["inputs"].dtype == torch.float32
    assert torch.equal(batch["inputs"][:, 0], torch.from_numpy(arrays["train_images"][[2, 6]]).float() / 255)
    assert batch["target"].tolist() == [0, 0]


def test_a_known_set_brings_its_classes(arrays, tmp_path):
    np.savez(tmp_path / "adrenalmnist3d.npz", **arrays)
    cases = read_cases(tmp_path / "adrenalmnist3d.npz")
    assert cases.classes == ("normal", "hyperplasia")
    assert any("not the published 1188, 98, 298" in note for note in cases.notes)
    assert any("read.shape_transform=True" in note for note in cases.notes)
    np.savez(tmp_path / "nodulemnist3d.npz", **arrays)
    (note,) = read_cases(tmp_path / "nodulemnist3d.npz").notes
    assert "not the published" in note
    arrays["val_labels"][1] = 2
    np.savez(tmp_path / "adrenalmnist3d.npz", **arrays)
    with pytest.raises(DataError, match=r"a label of the set is 0 to 1\. Got 2 in 'val_labels' row 1 \(1 such\)"):
        read_cases(tmp_path / "adrenalmnist3d.npz")


def test_the_published_file(real_data):
    path = real_data / "volumes" / "adrenalmnist3d.npz"
    cases = read_cases(path)
    known = entries()["adrenalmnist3d"]
    splits = splits_named(cases)
    assert tuple(map(len, splits.values())) == known.counts
    assert (cases.classes, cases.inputs.sizes) == (known.classes, (28, 28, 28))
    with np.load(path) as official:
        assert np.array_equal(cases.inputs[splits["validation"]].stack()[:, 0], official["val_images"])
