"""Random changes: each sample by its own draws, masks with their volumes, the same again from one seed."""

import numpy as np
import pytest
import torch

from multiway.data.augmentation import augment, shape_transform
from multiway.data.options import AugmentOptions
from multiway.errors import ConfigError

EVERYTHING = AugmentOptions(
    flips=(0, 1, 2), rotate90=((0, 1), (1, 2)), rotate=10, zoom=0.1, shift=2, scale=0.1, offset=0.1, noise=0.05
)


def cubes(count=64, size=5):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, 2, size, size, size, generator=generator)


def seeded(seed, *arguments):
    torch.manual_seed(seed)
    return augment(*arguments)


def test_nothing_by_default():
    batch = cubes()
    torch.manual_seed(0)
    state = torch.get_rng_state()
    assert torch.equal(augment(batch, AugmentOptions()), batch)
    assert torch.equal(torch.get_rng_state(), state)


def test_one_seed_one_result():
    batch = cubes()
    assert torch.equal(seeded(3, batch, EVERYTHING), seeded(3, batch, EVERYTHING))
    assert not torch.equal(seeded(3, batch, EVERYTHING), seeded(4, batch, EVERYTHING))
    assert torch.isfinite(seeded(3, batch, EVERYTHING)).all()


def test_a_batch_mate_changes_nothing():
    batch = cubes()
    other = batch.clone()
    other[1:] = 100
    assert torch.equal(seeded(3, batch, EVERYTHING)[0], seeded(3, other, EVERYTHING)[0])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_flips_are_of_half_the_samples(axis):
    batch = cubes(400)
    result = seeded(0, batch, AugmentOptions(flips=(axis,)))
    same = (result == batch).flatten(1).all(1)
    flipped = (result == batch.flip(axis + 2)).flatten(1).all(1)
    assert (same ^ flipped).all()
    assert 160 < same.sum() < 240


def test_quarter_turns_come_equally_often():
    batch = cubes(400)
    result = seeded(0, batch, AugmentOptions(rotate90=((0, 2),)))
    counts = [int((result == torch.rot90(batch, k, (2, 4))).flatten(1).all(1).sum()) for k in range(4)]
    assert sum(counts) == 400
    assert min(counts) > 70
    oblong = cubes(100)[:, :, :4]
    result = seeded(0, oblong, AugmentOptions(rotate90=((0, 2),)))
    assert result.shape == oblong.shape
    assert sum(int((result == torch.rot90(oblong, k, (2, 4))).flatten(1).all(1).sum()) for k in (0, 2)) == 100


def test_shifts_repeat_the_border():
    ramp = torch.arange(6.0).view(1, 1, 6, 1, 1).expand(200, 1, 6, 4, 4)
    result = seeded(0, ramp, AugmentOptions(shift=2))[:, 0, :, 0, 0]
    expected = {tuple(np.clip(np.arange(6) + move, 0, 5).tolist()) for move in range(-2, 3)}
    assert {tuple(row.int().tolist()) for row in result} == expected


def test_a_crop_is_one_of_an_image_padded_by_reflection():
    images = torch.randn(60, 3, 7, 5, generator=torch.Generator().manual_seed(3))
    result, padded = (
        seeded(0, images, AugmentOptions(crop=2)),
        np.pad(images, [(0, 0), (0, 0), (2, 2), (2, 2)], "reflect"),
    )
    crops = {
        (down, across): padded[:, :, down : down + 7, across : across + 5] for down in range(5) for across in range(5)
    }
    found = [[at for at, crop in crops.items() if np.array_equal(crop[each], result[each])] for each in range(60)]
    assert all(len(places) == 1 for places in found)
    assert {axis: {places[0][axis] for places in found} for axis in (0, 1)} == {0: set(range(5)), 1: set(range(5))}


def test_a_turn_moves_voxels_by_its_angle_whatever_the_sizes():
    """A plane wave in an oblong volume keeps its wave length when turned, so nothing is sheared."""
    options = AugmentOptions(rotate=20)
    x, y, z = (torch.arange(size, dtype=torch.float32) - (size - 1) / 2 for size in (16, 24, 20))
    field = (0.3 * x.view(-1, 1, 1) + 0.1 * y.view(1, -1, 1) - 0.2 * z.view(1, 1, -1))[None, None].repeat(8, 1, 1, 1, 1)
    turned = seeded(0, field, options)[:, 0, 6:10, 10:14, 8:12]
    slopes = torch.stack([turned.diff(dim=axis).mean((1, 2, 3)) for axis in (1, 2, 3)], 1)
    torch.testing.assert_close(slopes.norm(dim=1), torch.full((8,), 0.14**0.5), rtol=1e-4, atol=0)
    assert slopes.std(0).min() > 0.005


def test_zoom_stretches_every_axis_alike():
    ramp = torch.arange(12.0).view(1, 1, -1, 1, 1).repeat(50, 1, 1, 12, 12)
    slopes = seeded(0, ramp, AugmentOptions(zoom=0.2))[:, 0, 4:8].diff(dim=1).mean((1, 2, 3))
    assert 0.8 < slopes.min() < 0.87
    assert 1.15 < slopes.max() < 1.26


def test_masks_move_with_their_volumes():
    labels = torch.randint(0, 3, (16, 8, 8, 8), generator=torch.Generator().manual_seed(2))
    exact = AugmentOptions(flips=(0, 1, 2), rotate90=((0, 1), (1, 2)), shift=2)
    torch.manual_seed(5)
    volume, mask = augment(labels[:, None].float(), exact, labels)
    assert mask.dtype == labels.dtype
    assert torch.equal(volume[:, 0].long(), mask)
    smooth = (torch.arange(24.0).view(-1, 1, 1).expand(24, 24, 24) > 11.5).long().repeat(4, 1, 1, 1)
    torch.manual_seed(5)
    volume, mask = augment(smooth[:, None].float(), EVERYTHING.replace(noise=0.0, scale=0.0, offset=0.0), smooth)
    assert ((volume[:, 0] > 0.5).long() == mask).float().mean() > 0.97
    assert set(mask.unique().tolist()) == {0, 1}


def test_images_of_two_axes():
    batch = torch.randn(6, 3, 8, 9, generator=torch.Generator().manual_seed(2))
    options = AugmentOptions(flips=(0, 1), rotate=10, shift=1)
    assert seeded(0, batch, options).shape == batch.shape


def test_intensities():
    batch = torch.ones(500, 1, 2, 2, 2)
    scaled = seeded(0, batch, AugmentOptions(scale=0.2)).flatten(1)
    assert (scaled == scaled[:, :1]).all()
    assert 0.8 <= scaled.min() < 0.81
    assert 1.19 < scaled.max() <= 1.2
    noisy = seeded(0, batch, AugmentOptions(noise=0.3))
    assert abs(float(noisy.std()) - 0.3) < 0.02


def test_the_shape_transform_is_medmnists():
    batch = torch.ones(1000, 1, 2, 2, 2)
    torch.manual_seed(0)
    drawn = shape_transform(batch, training=True).flatten(1)
    assert (drawn == drawn[:, :1]).all()
    assert abs(float(drawn.mean()) - 0.5) < 0.03
    assert 0 <= drawn.min() < 0.01 < 0.99 < drawn.max() < 1
    assert torch.equal(shape_transform(batch, training=False), batch / 2)


def test_options_that_make_no_sense():
    with pytest.raises(ConfigError, match="pairs of different axes"):
        AugmentOptions.parse({"rotate90": [[1, 1]]})
    with pytest.raises(ConfigError, match="names an axis twice"):
        AugmentOptions.parse({"flips": [1, 1]})
    with pytest.raises(ConfigError, match="flips"):
        AugmentOptions.parse({"flips": [3]})
