"""Attribution of series: shares that add up, and nothing for what is missing."""

import numpy as np
import torch
from torch import nn

from multiway.explain import attribute_series, mode_shares
from multiway.explain.series import TOLERANCE
from multiway.models import create_model
from tolerances import COARSE32, SUMS64


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
    np.testing.assert_allclose(found.sum((1, 2)), expected.sum((1, 2)), rtol=TOLERANCE)


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
    assert abs(found.sum() - change) <= TOLERANCE * abs(change) and not found[0, 6:].any() and found[0, :6].all()


def test_shares_of_either_mode_sum_to_one():
    values = np.array([[[3.0, -1], [0, 0]], [[0, 0], [0, 40]], [[0, 0], [0, 0]]])
    steps, variates = mode_shares(values[:2])
    np.testing.assert_allclose(steps, [0.5, 0.5], rtol=SUMS64)
    np.testing.assert_allclose(variates, [0.375, 0.625], rtol=SUMS64)
    assert mode_shares(values)[0].sum() < 1
