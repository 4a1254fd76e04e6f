"""Boosted trees of three libraries count rows as their weights say, and go with an input one way where they must."""

import pytest
import torch

from multiway.models.boosters import boost_by_catboost, boost_by_lightgbm
from multiway.models.tree_ensemble import TreeEnsemble
from tolerances import ROUNDING64

LIBRARIES = {"sklearn": 31, "lightgbm": 15, "catboost": 64}


@pytest.fixture(params=LIBRARIES)
def fit(request):
    """Fits trees of a library, with rows held out or without."""
    pytest.importorskip(request.param, reason=f"{request.param} is an extra")

    def fitted(x, y, held=None, weights=(None, None), **how):
        model = TreeEnsemble(400, LIBRARIES[request.param], 1)
        if request.param == "sklearn" and held:
            model.tune(x, y, *held, weights=weights, **how)
        elif request.param == "sklearn":
            model.fit(x, y, weights=weights[0], **how)
        else:
            boost = boost_by_lightgbm if request.param == "lightgbm" else boost_by_catboost
            boost(model, x, y, 0, held=held, weights=weights, **how)
        return model

    return fitted


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("is_held", [False, True])
def test_the_mean_of_equal_rows_is_the_weighted_one(fit, is_class, is_held):
    """Of two kinds of rows, ones are every second; they count 3 among the first kind and 1/3 among the second."""
    kind, one = torch.arange(400) % 2, torch.arange(400) // 2 % 2
    weights = torch.where(one == 1, torch.where(kind == 0, 3.0, 1 / 3), 1.0)
    x, y = kind[:, None].float(), one if is_class else one.float()
    model = fit(x, y, (x, y) if is_held else None, (weights, weights if is_held else None))
    raw = model(torch.tensor([[0.0], [1.0]]))[:, 0]
    means = raw.sigmoid() if is_class else raw
    assert means.tolist() == pytest.approx([0.75, 0.25], abs=0.02)


def test_weights_of_rows_that_are_held_out_choose_the_rounds(fit):
    """Held-out rows that contradict the training have the say where they count."""
    draw = torch.Generator().manual_seed(5)
    x = torch.randn(300, 2, generator=draw)
    y = x[:, 0] + 0.1 * torch.randn(300, generator=draw)
    held = torch.cat([x[:50], x[:50]]), torch.cat([y[:50], -y[:50]])
    counts = [
        len(fit(x, y, held, (None, torch.tensor(weights).repeat_interleave(50))).value)
        for weights in ([1.0, 0.01], [0.01, 1.0])
    ]
    assert counts[0] > 2 * counts[1]


@pytest.mark.parametrize("is_class", [False, True])
def test_an_answer_goes_one_way(fit, is_class):
    draw = torch.Generator().manual_seed(3)
    x = torch.randn(700, 3, generator=draw)
    score = torch.sin(3 * x[:, 0]) + torch.cos(2 * x[:, 1]) * x[:, 2] + 0.1 * torch.randn(700, generator=draw)
    y = (score > 0).long() if is_class else score
    steps = torch.linspace(-2, 2, 53)
    free, held = (fit(x, y, (x[:100], y[:100]), signs=signs) for signs in (None, [1, -1, 0]))
    for model, is_kept in ((free, False), (held, True)):
        for place, sign in ((0, 1), (1, -1)):
            rows = x[:40].repeat_interleave(53, 0)
            rows[:, place] = steps.repeat(40)
            rises = sign * model(rows)[:, 0].reshape(40, 53).diff()
            assert bool((rises >= -ROUNDING64).all()) is is_kept
