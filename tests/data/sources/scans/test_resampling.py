"""New grids against scipy, nibabel, torch and MONAI, and affines that follow the voxels."""

import math
import warnings

import nibabel
import nibabel.processing
import numpy as np
import pytest
import scipy.ndimage
import torch

from data.sources.scans import scans
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.grids import header_after_preparing, interpolate, prepare, to_grid
from multiway.data.sources.scans.volume import Volume, VolumeHeader, axes_of, turn_affine, turns
from multiway.errors import ConfigError, DataError
from tolerances import ROUNDING64, SUMS32

AFFINE = scans.oblique()


def volume(shape=(7, 5, 11), seed=0, affine=AFFINE, dtype=np.float64):
    return Volume(values=scans.voxels((2, *shape), seed, dtype), affine=affine, source="v", axes=axes_of(affine))


def same_header(before: Volume, after: Volume, options: VolumeOptions) -> None:
    """What is said ahead of preparing is what comes of it."""
    header = VolumeHeader(sizes=before.sizes, channels=before.channels, dtype=before.values.dtype,
                          affine=before.affine, axes=before.axes)  # fmt: skip
    told = header_after_preparing(header, options, "v")
    assert (told.sizes, told.channels, told.dtype, told.axes) == (
        after.sizes, after.channels, after.values.dtype, after.axes,
    )  # fmt: skip
    assert (told.affine is None) == (after.affine is None)
    if after.affine is not None:
        np.testing.assert_allclose(told.affine, after.affine, rtol=ROUNDING64, atol=ROUNDING64)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (0.31, 2.2, 2.9), (3.0, 3.0, 3.0)], ids=str)
def test_spacing_as_nibabel_interpolates_to_the_same_affine(spacing):
    before, options = volume(), VolumeOptions(spacing=spacing)
    after = prepare(before, options)
    np.testing.assert_allclose(after.spacing, spacing, rtol=ROUNDING64)
    assert after.orientation == before.orientation
    for channel in range(2):
        image = nibabel.Nifti1Image(before.values[channel], before.affine)
        oracle = nibabel.processing.resample_from_to(image, (after.sizes, after.affine), order=1, mode="nearest")
        np.testing.assert_allclose(after.values[channel], oracle.get_fdata(), rtol=ROUNDING64, atol=1e-9)
    same_header(before, after, options)


def test_spacing_keeps_centre_and_extent():
    before = volume((20, 30, 40))
    after = prepare(before, VolumeOptions(spacing=(1, 1, 1)))
    middle = [[*((np.array(v.sizes) - 1) / 2).tolist(), 1] for v in (before, after)]
    np.testing.assert_allclose(before.affine @ middle[0], after.affine @ middle[1], rtol=ROUNDING64)
    for old, new, step in zip(before.sizes, after.sizes, before.spacing, strict=True):
        assert new == math.floor(old * step + 0.5)


def test_values_follow_the_affine():
    """A linear function of place stays that function, wherever a voxel is away from the border."""
    before = volume((12, 9, 10))
    index = np.stack(np.meshgrid(*map(np.arange, before.sizes), indexing="ij"), -1)
    place = index @ before.affine[:3, :3].T + before.affine[:3, 3]
    before = Volume(values=(place @ [0.3, -1.1, 0.7])[None], affine=before.affine, source="v", axes=before.axes)
    options = VolumeOptions(orientation="SPL", spacing=(1.1, 0.9, 0.8), size=(9, 8, 5))
    after = prepare(before, options)
    index = np.stack(np.meshgrid(*map(np.arange, after.sizes), indexing="ij"), -1)
    expected = (index @ after.affine[:3, :3].T + after.affine[:3, 3]) @ [0.3, -1.1, 0.7]
    old = (
        np.linalg.inv(before.affine)
        @ np.append(
            index.reshape(-1, 3) @ after.affine[:3, :3].T + after.affine[:3, 3], np.ones((index.size // 3, 1)), 1
        ).T
    )
    inside = ((old[:3] >= 0) & (old[:3] <= np.array(before.sizes)[:, None] - 1)).all(0).reshape(after.sizes)
    assert inside.mean() > 0.5
    np.testing.assert_allclose(after.values[0][inside], expected[inside], rtol=SUMS32)
    assert after.orientation == "SPL"
    same_header(before, after, options)


@pytest.mark.parametrize("sizes", [(14, 3, 5), (7, 5, 11), (1, 2, 30)], ids=str)
def test_resample_to_is_torchs_interpolate(sizes):
    before, options = volume(), VolumeOptions(resample_to=sizes)
    after = prepare(before, options)
    oracle = torch.nn.functional.interpolate(
        torch.from_numpy(before.values)[None], sizes, mode="trilinear", align_corners=False
    )
    np.testing.assert_allclose(after.values, oracle[0].numpy(), rtol=ROUNDING64, atol=1e-9)
    same_header(before, after, options)


def test_as_scipy_interpolates():
    values = volume().values
    scales, offsets = (0.61, 1.7, 1.13), (0.4, -0.8, 0.05)
    ours = interpolate(values, (9, 4, 10), scales, offsets)
    oracle = scipy.ndimage.affine_transform(
        values[1], np.array(scales), offset=offsets, output_shape=(9, 4, 10), order=1, mode="nearest"
    )
    np.testing.assert_allclose(ours[1], oracle, rtol=ROUNDING64, atol=1e-9)
    nearest = interpolate(values, (9, 4, 10), scales, offsets, nearest=True)
    oracle = scipy.ndimage.affine_transform(
        values[0], np.array(scales), offset=offsets, output_shape=(9, 4, 10), order=0, mode="nearest"
    )
    assert np.array_equal(nearest[0], oracle)


def test_a_mask_moves_with_its_volume():
    labels = Volume(values=scans.voxels((1, 7, 5, 11)) // 100, affine=AFFINE, source="m", axes=axes_of(AFFINE))
    options = VolumeOptions(orientation="LIP", spacing=(1, 1, 1), size=(6, 30, 6), window=(0, 1))
    mask, image = prepare(labels, options, is_mask=True), prepare(volume(), options)
    assert set(np.unique(mask.values)) <= set(np.unique(labels.values)) | {0}
    assert mask.values.dtype == labels.values.dtype
    assert np.array_equal(mask.affine, image.affine)
    assert (image.values.min(), image.values.max()) == (0, 1)


@pytest.mark.parametrize("wanted", ["RAS", "LPS", "SAR", "IPL", "ARS"])
@pytest.mark.parametrize("seed", [1, 2, 7])
def test_orientation_as_nibabel_turns(wanted, seed):
    before = volume(affine=scans.oblique(seed=seed))
    after = prepare(before, VolumeOptions(orientation=wanted))
    image = nibabel.Nifti1Image(before.values[0], before.affine)
    start = nibabel.orientations.axcodes2ornt(before.orientation)
    oracle = image.as_reoriented(
        nibabel.orientations.ornt_transform(start, nibabel.orientations.axcodes2ornt(tuple(wanted)))
    )
    assert np.array_equal(after.values[0], oracle.get_fdata())
    np.testing.assert_allclose(after.affine, oracle.affine, rtol=ROUNDING64, atol=ROUNDING64)
    assert after.orientation == wanted
    assert after.axes == tuple({"R": "x", "L": "x", "A": "y", "P": "y"}.get(letter, "z") for letter in wanted)
    same_header(before, after, VolumeOptions(orientation=wanted))


@pytest.mark.parametrize("size", [(3, 9, 11), (8, 4, 1), (2, 2, 14)], ids=str)
def test_size_crops_and_pads_about_the_centre(size):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MONAI's own imports warn
        from monai.transforms import ResizeWithPadOrCrop
    before = volume()
    after = prepare(before, VolumeOptions(size=size))
    assert after.sizes == size
    low = float(before.values.min())
    oracle = ResizeWithPadOrCrop(size, constant_values=low)(before.values)
    shared = [min(old, new) for old, new in zip(before.sizes, size, strict=True)]
    assert (after.values != low).sum() > 0
    assert np.sum(after.values != low) <= 2 * np.prod(shared)
    even = all((old - new) % 2 == 0 for old, new in zip(before.sizes, size, strict=True))
    if even:
        assert np.array_equal(after.values, np.asarray(oracle))
    inverse = np.linalg.inv(before.affine) @ after.affine
    start = np.round(inverse[:3, 3]).astype(int)
    first = np.maximum(start, 0)
    assert np.array_equal(after.values[:, *(first - start)], before.values[:, *first])


def test_monai_agrees_on_a_new_spacing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from monai.data import MetaTensor
        from monai.transforms import SpatialResample

        before = volume((9, 8, 10))
        after = prepare(before, VolumeOptions(spacing=(1.0, 1.0, 2.0)))
        image = MetaTensor(torch.from_numpy(before.values), affine=torch.from_numpy(before.affine))
        resample = SpatialResample(mode="bilinear", padding_mode="border", align_corners=False, dtype=torch.float64)
        oracle = resample(image, dst_affine=torch.from_numpy(after.affine), spatial_size=after.sizes)
    np.testing.assert_allclose(after.values, oracle.numpy(), rtol=SUMS32, atol=1e-4)


def test_no_request_does_nothing():
    before = volume(dtype=np.int16)
    after = prepare(before, VolumeOptions())
    assert np.array_equal(after.values, before.values)
    assert (after.values.dtype, after.affine) == (np.int16, before.affine)


def test_turns_undo_each_other():
    before = volume()
    order, flips = turns(before.affine, "RAS")
    affine = turn_affine(before.affine, before.sizes, order, flips)
    sizes = [before.sizes[axis] for axis in order]
    back = turn_affine(affine, sizes, *turns(affine, before.orientation))
    np.testing.assert_allclose(back, before.affine, rtol=ROUNDING64, atol=ROUNDING64)


def test_what_is_refused():
    values = volume().values
    values[1, 2, 3, 4] = np.nan
    with pytest.raises(
        DataError, match=r"v: every voxel must be a finite number\. Got 1 of 770 .*first at \(2, 3, 4\)"
    ):
        prepare(Volume(values=values, affine=None, source="v"), VolumeOptions())
    with pytest.raises(DataError, match=r"v: resampled it would have .* and take .* bytes; a volume may take 1,000\."):
        prepare(volume(), VolumeOptions(spacing=(0.01, 0.01, 0.01), max_bytes=1000))
    for fields, text in (
        ({"orientation": "RAR"}, "one letter of each pair"), ({"spacing": (0, 1, 1)}, "0.001 to 1000"),
        ({"spacing": (1, 0.0009, 1)}, "0.001 to 1000"), ({"spacing": (1, 1, 1000.5)}, "0.001 to 1000"),
        ({"size": (0, 1, 1)}, "1 to 4096 voxels"), ({"size": (1, 1, 4097)}, "1 to 4096 voxels"),
        ({"window": (3, 3)}, "window must rise"),
        ({"resample_to": (4, 4, 4), "size": (4, 4, 4)}, "sets the grid by itself"),
        ({"resample_to": (4, 4, 4), "spacing": (1, 1, 1)}, "sets the grid by itself"),
        ({"axes": ("a", "a", "b")}, "three different names"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=text):
            VolumeOptions.parse(fields)
    VolumeOptions.parse({"spacing": (0.001, 1, 1000), "size": (1, 1, 4096)})


def test_to_grid_is_an_identity_on_the_same_grid_and_an_inverse_of_a_crop():
    draw = np.random.default_rng(0)
    classes = draw.integers(0, 4, (5, 6, 7))
    affine = np.array([[0, 2.0, 0, 5], [1.5, 0, 0, -3], [0, 0, -3.0, 9], [0, 0, 0, 1]])
    assert np.array_equal(to_grid(classes, affine, (5, 6, 7), affine, nearest=True), classes)
    shifted = affine.copy()
    shifted[:, 3] = affine @ [1, 2, 3, 1]  # voxel (0, 0, 0) of the crop is (1, 2, 3) of the whole
    whole = to_grid(classes, shifted, (8, 9, 12), affine, nearest=True)
    assert np.array_equal(whole[1:6, 2:8, 3:10], classes) and whole.sum() == classes.sum()


def test_to_grid_cuts_where_values_end():
    """A voxel centre on the far face still shows the last value, but is nearest to no voxel."""
    values, halved = np.arange(1, 5).reshape(1, 1, 4), np.diag([1.0, 1, 0.5, 1])
    linear, nearest = (to_grid(values, np.eye(4), (1, 1, 10), halved, nearest=near)[0, 0] for near in (False, True))
    assert linear.tolist() == [1, 1.5, 2, 2.5, 3, 3.5, 4, 4, 0, 0]
    assert nearest.tolist() == [1, 2, 2, 3, 3, 4, 4, 0, 0, 0]
