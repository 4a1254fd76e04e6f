"""Losses of masks against MONAI, torch and values counted by hand."""

import math
import warnings

import pytest
import torch

from multiway.errors import ShapeError
from multiway.training.losses import IGNORED, segmentation_loss, soft_cl_dice, soft_dice
from tolerances import COARSE32, LONG32, SUMS32, assert_same


@pytest.fixture(scope="module")
def monai():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside MONAI at its import
        import monai.losses
    return monai


def test_soft_dice_is_monais(generator, monai):
    predicted = torch.rand(2, 3, 5, 7, generator=generator, dtype=torch.float64)
    target = (torch.rand(2, 3, 5, 7, generator=generator) < 0.3).double()
    loss = monai.losses.DiceLoss(reduction="none", smooth_nr=1, smooth_dr=1)(predicted, target)
    assert_same(1 - soft_dice(predicted, target), loss.squeeze())
    one = predicted[:1, :1], target[:1, :1]
    cl_loss = monai.losses.SoftclDiceLoss(iter_=4)(*one)
    assert float(1 - soft_cl_dice(*one, 4)) == pytest.approx(float(cl_loss), rel=COARSE32)  # MONAI adds 1e-4 below


def test_cross_entropy_and_dice_together_are_monais(generator, monai):
    logits = torch.randn(2, 3, 5, 7, 6, generator=generator)
    target = torch.randint(0, 3, (2, 5, 7, 6), generator=generator)
    theirs = monai.losses.DiceCELoss(
        include_background=False, to_onehot_y=True, softmax=True, smooth_nr=1, smooth_dr=1, lambda_dice=0.7
    )(logits, target[:, None])
    total, count = segmentation_loss(logits, target, dice_weight=0.7)
    assert_same(total / count, theirs)


def test_the_loss_is_its_terms_over_the_voxels_that_count(generator):
    logits = torch.randn(3, 4, 5, 7, generator=generator)
    target = torch.randint(0, 4, (3, 5, 7), generator=generator)
    target[0, 0] = IGNORED
    total, count = segmentation_loss(logits, target, dice_weight=0.0)
    by_hand = sum(
        torch.nn.functional.cross_entropy(row[None], wanted[None], ignore_index=IGNORED)
        for row, wanted in zip(logits, target, strict=True)
    )
    assert float(count) == 3
    assert float(total) == pytest.approx(float(by_hand), rel=LONG32)
    with_dice, _ = segmentation_loss(logits, target, dice_weight=2.0)
    assert float(with_dice) > float(total)
    weights = torch.tensor([1.0, 2.0, 0.5, 3.0])
    weighted, _ = segmentation_loss(logits[:1], target[:1], dice_weight=0.0, class_weights=weights)
    by_hand = torch.nn.functional.cross_entropy(logits[:1], target[:1], ignore_index=IGNORED, weight=weights)
    assert float(weighted) == pytest.approx(float(by_hand), rel=LONG32)


def test_a_perfect_prediction_costs_next_to_nothing_and_ignored_voxels_nothing(generator):
    target = torch.randint(0, 2, (2, 6, 6), generator=generator)
    logits = 40 * torch.nn.functional.one_hot(target, 2).movedim(-1, 1).float()
    total, _ = segmentation_loss(logits, target, cl_dice_weight=1.0)
    assert float(total) == pytest.approx(0, abs=LONG32)
    nothing, _ = segmentation_loss(logits, torch.full_like(target, IGNORED), dice_weight=0.0)
    assert float(nothing) == 0 and math.isfinite(float(nothing))


def test_a_samples_loss_depends_on_that_sample_alone(generator):
    logits = torch.randn(3, 2, 6, 6, generator=generator)
    target = torch.randint(0, 2, (3, 6, 6), generator=generator)
    together, _ = segmentation_loss(logits, target, cl_dice_weight=0.5)
    alone = sum(segmentation_loss(logits[i : i + 1], target[i : i + 1], cl_dice_weight=0.5)[0] for i in range(3))
    assert float(together) == pytest.approx(float(alone), rel=SUMS32)


def test_logits_and_target_of_other_sizes_are_refused():
    with pytest.raises(ShapeError, match=r"Got \(1, 2, 4, 4\) and \(1, 4, 5\)"):
        segmentation_loss(torch.zeros(1, 2, 4, 4), torch.zeros(1, 4, 5, dtype=torch.int64))
