"""What is read before anything is written: labels, splits, the scale, and the digest."""

import numpy as np
import pandas as pd
import pytest
import torch

from multiway.data.sources.scans.arrays import Arrays
from multiway.errors import DataError
from multiway.metrics import classes
from multiway.tasks.run import digest_of
from multiway.tasks.scans.task import CLASSES as TASK
from tasks.scans.classes.blocks import make_config, make_volumes, write_table


def prepare(config, source):
    return TASK.prepare(config, source)


def test_the_digest_is_of_scans_and_labels(tmp_path):
    table = write_table(tmp_path)
    frame = pd.read_csv(table)

    def digest():
        return digest_of(prepare(make_config(table), table).content())

    first = digest()
    assert digest() == first
    frame.assign(label=frame["label"].to_numpy()[::-1]).to_csv(table, index=False)
    assert digest() != first
    frame.to_csv(table, index=False)
    np.save(tmp_path / "scan00.npy", np.load(tmp_path / "scan00.npy")[::-1])
    assert digest() != first


def test_the_scale_is_of_the_training_cases_alone(tmp_path):
    volumes, labels = make_volumes(40)
    prepared = prepare(make_config(), (volumes.astype(np.int16), labels))
    rows, scale = prepared.rows("train"), prepared.state.scale
    assert scale.centre[0] == pytest.approx(volumes[rows].mean())
    assert scale.centre[0] != pytest.approx(volumes.mean())
    batch = prepared.part("train").gather(torch.arange(3))
    assert batch["inputs"].shape == (3, 1, 8, 9, 10)
    assert batch["target"].tolist() == labels[rows[:3]].tolist()


def test_training_of_one_class_is_refused():
    volumes, _ = make_volumes(30)
    cases = Arrays(x=volumes, y=np.array([0] * 28 + [1] * 2)).cases(make_config().read)
    lonely = ["train"] * 20 + ["validation"] + ["test"] * 9
    with pytest.raises(DataError, match=r"train has no cases of 1\. Give more of it, or split otherwise"):
        prepare(make_config(), cases.with_inputs(cases.inputs, official=tuple(lonely)))


def test_the_real_set(real_data):
    """AdrenalMNIST3D as its authors count it; test labels are counted, and nothing is decided by them."""
    data = real_data / "volumes" / "adrenalmnist3d.npz"
    if not data.is_file():
        pytest.skip("AdrenalMNIST3D absent")
    prepared = prepare(make_config(data), data)
    assert {split: len(rows) for split, rows in prepared.splits.items()} == {
        "train": 1188, "validation": 98, "test": 298,
    }  # fmt: skip
    assert prepared.raw.inputs.volumes.shape[1:] == (1, 28, 28, 28)
    voxels = prepared.part("validation").gather(torch.arange(98))["inputs"]
    assert (float(voxels.min()), float(voxels.max())) == (0.0, 1.0)
    size = voxels.mean((1, 2, 3, 4)).numpy()
    labels = prepared.part("validation").truth
    assert classes.auc(labels, np.stack([1 - size, size], 1)) > 0.5
