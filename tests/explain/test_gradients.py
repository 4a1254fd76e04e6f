"""Integrated gradients add up to the change of the output, at fixed points or at as few as that takes."""

import sys

import numpy as np
import pytest
import torch
from torch import nn

from multiway.errors import ConfigError
from multiway.explain import attribute_series, gradients, gradients_within, integrated_gradients, mode_shares
from multiway.explain.gradients import SERIES_TOLERANCE
from multiway.models import create_model
from tolerances import COARSE32, LONG32, SUMS64

SIZES = (2, 3, 5)


class Quadratic(nn.Module):
    """Logit 1 is the sum of w x²: its integrated gradients from zero are w x² voxel by voxel."""

    def __init__(self, generator, sizes):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, *sizes, generator=generator))

    def forward(self, x):
        whole = (self.weight * x.square()).flatten(1).sum(1)
        return torch.stack([-whole, whole], 1)


def test_integrated_gradients_are_those_of_the_formula(generator):
    model, x = Quadratic(generator, SIZES), torch.randn(2, 1, *SIZES, generator=generator)
    model.train()
    found = integrated_gradients(model, x, torch.tensor([1, 0]), steps=24, batch_size=3)
    wanted = model.weight.detach() * x.square() * torch.tensor([1.0, -1.0]).view(2, 1, 1, 1, 1)
    torch.testing.assert_close(found.values, wanted, rtol=COARSE32, atol=LONG32)
    torch.testing.assert_close(found.change, wanted.flatten(1).sum(1), rtol=COARSE32, atol=LONG32)
    assert found.gap.abs().max() < COARSE32
    assert model.training


def test_gradients_of_the_weights_are_neither_made_nor_left_switched_off():
    seen = []
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 2))
    model[1].bias.requires_grad_(False)
    model.register_forward_hook(lambda *_: seen.append(model[1].weight.requires_grad))
    integrated_gradients(model, torch.ones(1, 1, 2, 2, 2), torch.tensor([0]), steps=6)
    assert seen and not any(seen)
    assert [weight.requires_grad for weight in model.parameters()] == [True, False]


def test_the_gap_is_the_part_of_the_change_that_too_few_steps_miss():
    class Step(nn.Module):
        def forward(self, x):
            return torch.sigmoid(40 * (x.flatten(1).sum(1, keepdim=True) - 0.9)).repeat(1, 2)

    x = torch.full((1, 1, 1, 1, 2), 0.5)
    coarse, fine = (integrated_gradients(Step(), x, torch.tensor([0]), steps=n).gap.abs().item() for n in (6, 600))
    assert fine < COARSE32 < 0.05 < coarse


def test_a_change_close_to_the_baseline_is_not_missed(generator):
    """A normalised network is all change within the first thousandth of the path."""

    class Normalised(nn.Module):
        def forward(self, x):
            flat = x.flatten(1)
            return torch.stack([flat[:, 0] / (flat.square().mean(1) + 1e-7).sqrt(), flat[:, 1]], 1)

    x = torch.rand(1, 1, 2, 3, 5, generator=generator) + 0.5
    found = integrated_gradients(Normalised(), x, torch.tensor([0]))
    assert found.change.item() > 0.5
    assert abs(found.gap.item()) < COARSE32 * found.change.item()


def test_without_captum_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "captum", None)
    with pytest.raises(ConfigError, match=r"needs captum, .* `pip install 'multiway\[volumes\]'`"):
        integrated_gradients(nn.Flatten(), torch.zeros(1, 1, 2, 2, 2), torch.tensor([0]))


def test_points_are_doubled_until_the_sum_is_within_the_tolerance(generator):
    torch.manual_seed(0)
    model = create_model("hot_volume_classifier", sizes=(12, 12, 12), dim=16, num_heads=2, stem_channels=4).train()
    x, target = torch.randn(1, 1, 12, 12, 12, generator=generator), torch.tensor([1])
    points = []
    for tolerance in (1e9, 0.1, 0.03, 0.0):
        found = gradients_within(model, x, target, tolerance=tolerance, steps=129, batch_size=3)
        assert found.gap.abs() <= tolerance * found.change.abs() or found.points == 129
        assert found.gap.item() == pytest.approx(found.values.sum().item() - found.change.item(), abs=LONG32)
        points.append(found.points)
    assert points[0] == 9 < points[2] < points[3] == 129
    assert model.training and all(weight.requires_grad for weight in model.parameters())
    fine = integrated_gradients(model, x, target, steps=240)
    assert (found.values - fine.values).abs().sum() < 0.02 * fine.values.abs().sum()
    torch.testing.assert_close(found.change, fine.change)


def test_few_points_are_at_hand_when_they_are_doubled():
    """Every point is computed once."""
    seen = []

    class Root(nn.Module):
        def forward(self, x):
            seen.extend(x.detach().amax((1, 2, 3, 4)).tolist() if x.requires_grad else [])
            return x.flatten(1).sum(1, keepdim=True).sqrt()

    found = gradients_within(Root(), torch.ones(1, 1, 2, 2, 2), torch.tensor([0]), tolerance=0, steps=40)
    assert found.points == len(seen) == len(set(seen)) == 33
    assert min(seen) == pytest.approx(1e-4)


class Weighted(nn.Module):
    """Logit 1 is a weighted sum of the observed values."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        whole = (self.weight * x.nan_to_num()).flatten(1).sum(1)
        return torch.stack([-whole, whole], 1)


def test_a_linear_model_gives_weight_times_value(generator):
    weight, x = torch.randn(5, 2, generator=generator), torch.randn(3, 5, 2, generator=generator)
    x[1, 3:], x[2, 0, 1] = torch.nan, torch.nan
    sign = torch.where(Weighted(weight)(x)[:, 1] > 0, 1.0, -1.0)
    expected = (sign[:, None, None] * weight * x.nan_to_num()).numpy()
    found = attribute_series(Weighted(weight), x)
    shares, wanted = (each / each.sum((1, 2), keepdims=True) for each in (found, expected))
    np.testing.assert_allclose(shares, wanted, rtol=COARSE32, atol=COARSE32)
    np.testing.assert_allclose(found.sum((1, 2)), expected.sum((1, 2)), rtol=SERIES_TOLERANCE)


def test_attribution_adds_up_to_the_change_of_the_logit(generator):
    torch.manual_seed(0)
    fields = {"variates": 2, "num_classes": 3, "dim": 8, "num_heads": 2, "dropout": 0.0}
    model = create_model("series_classifier", **fields).eval()
    x = torch.randn(1, 9, 2, generator=generator)
    x[0, 6:] = torch.nan
    with torch.no_grad():
        logits, empty = model(x)[0], model(torch.where(x.isnan(), torch.nan, 0.0))[0]
    change = float((logits - empty)[logits.argmax()])
    found = attribute_series(model, x)
    assert abs(found.sum() - change) <= SERIES_TOLERANCE * abs(change) and not found[0, 6:].any() and found[0, :6].all()


def test_shares_of_either_mode_sum_to_one():
    values = np.array([[[3.0, -1], [0, 0]], [[0, 0], [0, 40]], [[0, 0], [0, 0]]])
    steps, variates = mode_shares(values[:2])
    np.testing.assert_allclose(steps, [0.5, 0.5], rtol=SUMS64)
    np.testing.assert_allclose(variates, [0.375, 0.625], rtol=SUMS64)
    assert mode_shares(values)[0].sum() < 1


def test_series_and_images_have_tolerances_of_their_own(monkeypatch):
    """The sum over a series may miss the logit's change by a tenth, that over an image by a twentieth."""
    given = []

    def recorded(*args, tolerance, **named):
        given.append(tolerance)
        return gradients_within(*args, tolerance=tolerance, **named)

    monkeypatch.setattr(gradients, "gradients_within", recorded)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 2))
    gradients.attribute_series(model, torch.ones(1, 3, 2))
    gradients.explain_image(model, torch.ones(1, 1, 3, 2), 0)
    assert given == [0.1, 0.05]
