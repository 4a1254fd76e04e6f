import itertools
import math
import sys

import numpy as np
import pytest

from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.grids import header_after_preparing, prepare, with_depth
from multiway.data.sources.scans.volume import Volume, VolumeHeader
from multiway.errors import ConfigError


def nearest_outside(shape: np.ndarray) -> np.ndarray:
    """Distance of every voxel to the nearest one outside the shape, all pairs tried; a frame of such is around."""
    framed = np.pad(shape, 1)
    outside = np.argwhere(~framed)
    depth = np.zeros(shape.shape)
    for index in itertools.product(*map(range, shape.shape)):
        here = np.array(index) + 1
        depth[index] = min(math.dist(here, other) for other in outside)
    return depth


def test_depth_is_the_distance_to_the_nearest_voxel_outside():
    values = (np.random.default_rng(3).random((2, 3, 5, 7)) < 0.9).astype(np.uint8) * 255
    prepared = with_depth(values)
    np.testing.assert_array_equal(prepared[:2], values)
    for channel in range(2):
        expected = nearest_outside(values[channel] > 0)
        assert expected.max() > 1
        np.testing.assert_allclose(prepared[2 + channel], expected, rtol=1e-6)


def test_preparing_adds_it_last_and_the_header_knows():
    values = np.zeros((1, 5, 5, 5), np.uint8)
    values[:, 1:4, 1:4, 1:4] = 255
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    volume = Volume(values=values, affine=affine, source="v")
    options = VolumeOptions(distance=True, size=(3, 5, 7))
    prepared = prepare(volume, options)
    assert prepared.values[1].max() == 2.0  # the cut faces are as far as the others; voxels, not millimetres
    header = header_after_preparing(
        VolumeHeader(sizes=(5, 5, 5), channels=1, dtype=values.dtype, affine=affine, axes=volume.axes), options, "v"
    )
    assert (header.channels, header.sizes, header.dtype) == (2, (3, 5, 7), prepared.values.dtype)
    assert prepare(volume, options, is_mask=True).values.shape == (1, 3, 5, 7)


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.ndimage", None)
    with pytest.raises(ConfigError, match=r"distance needs scipy, .* `pip install 'multiway\[volumes\]'`"):
        with_depth(np.ones((1, 2, 2, 2)))
