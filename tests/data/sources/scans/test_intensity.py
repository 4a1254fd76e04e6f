"""Normalisation learns from training volumes alone and treats each volume by itself; stores are as told."""

import numpy as np
import pytest
import torch

from data.sources.scans import scans
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans import cases as stacking
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.loading import read_cases
from multiway.errors import ConfigError, DataError
from multiway.tasks.scans.encode import VolumeState
from tolerances import SUMS32, SUMS64


@pytest.fixture
def values():
    chance = np.random.default_rng(5)
    return (chance.normal(3, 40, (11, 2, 3, 4, 5)) * [[[[[1]]], [[[7]]]]]).astype(np.float32)


def scale(values, rows=range(11), **options):
    return IntensityScale.fit(values.__getitem__, rows, VolumeOptions(**options))


def test_training_moments_per_channel(values):
    rows = [0, 3, 4, 9]
    fitted = scale(values, rows)
    known = values[rows].astype(np.float64)
    np.testing.assert_allclose(fitted.centre, known.mean((0, 2, 3, 4)), rtol=SUMS64)
    np.testing.assert_allclose(fitted.spread, known.std((0, 2, 3, 4)), rtol=SUMS64)
    changed = values.copy()
    changed[[1, 2, 5, 6, 7, 8, 10]] = 1e6
    assert scale(changed, rows) == fitted
    applied = fitted.apply(torch.from_numpy(values))
    expected = (values - known.mean((0, 2, 3, 4)).reshape(2, 1, 1, 1)) / known.std((0, 2, 3, 4)).reshape(2, 1, 1, 1)
    np.testing.assert_allclose(applied.numpy(), expected, rtol=SUMS32, atol=1e-5)


def test_each_volume_alone(values):
    fitted = scale(values, normalise="volume")
    whole = fitted.apply(torch.from_numpy(values))
    assert whole.dtype == torch.float32
    np.testing.assert_allclose(whole.mean((2, 3, 4)).numpy(), 0, atol=1e-6)
    np.testing.assert_allclose(whole.std((2, 3, 4), correction=0).numpy(), 1, rtol=SUMS32)
    assert torch.equal(fitted.apply(torch.from_numpy(values[4:5]))[0], whole[4])
    flat = fitted.apply(torch.full((1, 2, 2, 2, 2), 9.0))
    assert torch.equal(flat, torch.zeros_like(flat))


def test_auto_is_unit_for_bytes_and_windows_else_train(values):
    small = values.astype(np.uint8)
    for fitted, centre, spread in (
        (scale(small), (0, 0), (255, 255)),
        (scale(values, window=(-100, 300)), (-100, -100), (400, 400)),
    ):
        assert (fitted.centre, fitted.spread) == (centre, spread)
    assert scale(values, normalise="none").apply(torch.ones(1, 2, 1)).flatten().tolist() == [1, 1]
    with pytest.raises(ConfigError, match=r"normalise=unit needs a window or volumes of bytes\. Got float32"):
        scale(values, normalise="unit")


def test_a_scale_survives_json(values):
    import json

    for fitted in (scale(values), scale(values, normalise="volume")):
        state = VolumeState(classes=("a", "b"), channels=2, sizes=(3, 4, 5), axes=("x", "y", "z"), scale=fitted)
        assert VolumeState.parse(json.loads(json.dumps(state.plain()))) == state


def test_constant_channels_are_shifted(values):
    values[:, 1] = 4
    assert scale(values).spread[1] == 1
    assert scale(values).centre[1] == 4


@pytest.mark.parametrize(
    ("dtype", "kept"), [("u1", "u1"), ("i2", "i2"), ("u2", "f4"), ("i4", "f4"), ("f8", "f4"), ("f2", "f4")]
)
def test_stores_keep_small_whole_numbers(tmp_path, dtype, kept):
    for row in range(8):
        np.save(tmp_path / f"{row}.npy", scans.voxels(seed=row).astype(dtype))
    (tmp_path / "t.csv").write_text("path,label\n" + "".join(f"{row}.npy,{row % 2}\n" for row in range(8)))
    assert read_cases(tmp_path / "t.csv").inputs.volumes.dtype == np.dtype(kept)
    windowed = read_cases(tmp_path / "t.csv", VolumeOptions(window=(0, 100)))
    assert windowed.inputs.volumes.dtype == np.float32


def test_a_large_store_is_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(stacking.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "in").mkdir()
    for row in range(6):
        np.save(tmp_path / "in" / f"{row}.npy", scans.voxels(seed=row))
    (tmp_path / "in" / "t.csv").write_text("path,label\n" + "".join(f"{row}.npy,{row % 2}\n" for row in range(6)))
    cases = read_cases(tmp_path / "in" / "t.csv")
    values = cases.inputs.stack(limit=100)
    assert isinstance(values, np.memmap)
    assert np.array_equal(values, cases.inputs.volumes)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stacking.os, "posix_fallocate", full)
    with pytest.raises(DataError, match=r"its prepared volumes need 1,260 bytes in .*: No space left on device\. Free"):
        cases.inputs.stack(limit=100)
