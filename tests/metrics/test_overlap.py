"""Mask metrics against MONAI, SciPy and values counted by hand."""

import warnings

import pytest
import torch

from multiway.errors import ShapeError
from multiway.metrics.overlap import cl_dice, dice, hd95, overlap, soft_skeleton
from tolerances import ROUNDING64, SUMS32, assert_same

SIZES = [(13, 11), (11, 7, 13)]


@pytest.fixture(scope="module")
def monai():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside MONAI at its import
        import monai.losses.cldice
        import monai.metrics
    return monai


def blob(sizes, generator, centre=0.5):
    """A mask with a rough surface, so that no symmetry hides a mistake."""
    grid = torch.meshgrid(*(torch.arange(size, dtype=torch.float64) / size for size in sizes), indexing="ij")
    far = torch.stack([(axis - centre) ** 2 for axis in grid]).sum(0).sqrt()
    return far + 0.1 * torch.randn(sizes, generator=generator, dtype=torch.float64) < 0.35


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_dice_is_monais_and_a_ratio_of_counts(sizes, generator, monai):
    left, right = blob(sizes, generator), blob(sizes, generator, 0.6)
    wanted = monai.metrics.DiceMetric()(left[None, None].float(), right[None, None].float())
    assert dice(left, right) == pytest.approx(float(wanted), rel=SUMS32)
    counts = overlap(left, right)
    assert sum(counts) == int((left | right).sum())
    assert dice(left, right) == pytest.approx(2 * counts.both / int(left.sum() + right.sum()), rel=ROUNDING64)


@pytest.mark.parametrize("spacing", [None, (2.0, 0.5, 1.3)], ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_hd95_is_monais(sizes, spacing, generator, monai):
    left, right = blob(sizes, generator), blob(sizes, generator, 0.6)
    steps = None if spacing is None else spacing[: len(sizes)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MONAI calls itself by a name that it has deprecated
        wanted = monai.metrics.compute_hausdorff_distance(
            left[None, None].float(), right[None, None].float(), include_background=True, percentile=95, spacing=steps
        )
    assert hd95(left, right, steps) == pytest.approx(float(wanted), rel=SUMS32)


def test_hd95_is_what_a_distance_transform_says(generator):
    from scipy import ndimage

    left, right = blob((11, 7, 13), generator), blob((11, 7, 13), generator, 0.6)
    spacing = (2.0, 0.5, 1.3)
    surfaces = [mask.numpy() & ~ndimage.binary_erosion(mask.numpy()) for mask in (left, right)]
    far = [ndimage.distance_transform_edt(~surfaces[1 - i], sampling=spacing)[surfaces[i]] for i in range(2)]
    wanted = max(float(torch.quantile(torch.from_numpy(each), 0.95)) for each in far)
    assert hd95(left, right, spacing) == pytest.approx(wanted, rel=ROUNDING64)


def test_hd95_in_blocks_is_the_same(generator, monkeypatch):
    left, right = blob((11, 7, 13), generator), blob((11, 7, 13), generator, 0.6)
    whole = hd95(left, right)
    monkeypatch.setattr("multiway.metrics.overlap.BLOCK", 7)
    assert hd95(left, right) == whole


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_skeleton_and_its_gradient_are_monais(sizes, generator, monai):
    mask = torch.rand(2, 1, *sizes, generator=generator, dtype=torch.float64).requires_grad_()
    ours, theirs = soft_skeleton(mask, 3), monai.losses.cldice.soft_skel(mask, 3)
    assert_same(ours, theirs)
    assert_same(torch.autograd.grad(ours.square().sum(), mask)[0], torch.autograd.grad(theirs.square().sum(), mask)[0])


def test_cl_dice_forgives_thickness_and_not_a_gap_or_a_shift():
    tube = torch.zeros(11, 11, 30, dtype=torch.bool)
    tube[4:7, 4:7, 2:28] = True
    thicker, broken = torch.zeros_like(tube), tube.clone()
    thicker[3:8, 3:8, 2:28] = True
    broken[:, :, 10:20] = False
    assert cl_dice(tube, tube) == 1
    assert dice(thicker, tube) < 0.55 and cl_dice(thicker, tube) > 0.95
    assert cl_dice(broken, tube) < 0.9
    assert cl_dice(tube.roll(4, 0), tube) == 0


def test_a_plane_has_the_skeleton_in_its_middle():
    plate = torch.zeros(1, 1, 7, 9, 9)
    plate[:, :, 2:5] = 1
    skeleton = soft_skeleton(plate, 9)
    assert skeleton[0, 0, 3, 4, 4] == 1
    assert skeleton[0, 0, 2].sum() == skeleton[0, 0, 4].sum() == 0


@pytest.mark.parametrize("metric", [dice, cl_dice, hd95])
def test_empty_masks_have_a_rule(metric):
    empty, full = torch.zeros(5, 6, dtype=torch.bool), torch.ones(5, 6, dtype=torch.bool)
    assert metric(empty, empty) is None
    assert metric(full, empty) == metric(empty, full) == (None if metric is hd95 else 0.0)
    assert metric(full, full) == (0.0 if metric is hd95 else 1.0)


@pytest.mark.parametrize("metric", [dice, cl_dice, hd95])
def test_masks_of_other_sizes_are_refused(metric):
    with pytest.raises(ShapeError, match=r"same sizes. Got predicted \(2, 3\) torch.bool, target \(3, 2\)"):
        metric(torch.ones(2, 3, dtype=torch.bool), torch.ones(3, 2, dtype=torch.bool))
    with pytest.raises(ShapeError, match="must be boolean"):
        metric(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool))


def test_spacing_needs_a_value_per_mode():
    mask = torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(ShapeError, match="one positive value per mode"):
        hd95(mask, mask, (1.0, 1.0, 1.0))
    with pytest.raises(ShapeError, match="one positive value per mode"):
        hd95(mask, mask, (1.0, 0.0))
