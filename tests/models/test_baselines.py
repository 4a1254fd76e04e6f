"""Plain baselines against scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from torch.nn import functional as F

from multiway.models.baselines import PENALTIES, Linear, Majority, Mean, PooledLinear, fit_logistic, fit_ridge
from tolerances import LONG64, ROUNDING64, SUMS32


def make_case(num_classes=3, count=120, features=7, seed=4):
    """Correlated features of unlike scales, one of them constant, and classes that they tell in part."""
    chance = np.random.default_rng(seed)
    x = chance.standard_normal((count, features)) + 2 * chance.standard_normal((count, 1))
    y = (x[:, 1:4] + chance.gumbel(size=(count, 3)))[:, :num_classes].argmax(1)
    x[:, 0] = 5.0
    return torch.from_numpy(x * np.arange(1, features + 1)), torch.from_numpy(y)


def standardised(x):
    return (x - x.mean(0)) / np.where(x.std(0) > 0, x.std(0), 1)


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("penalty", [1e-3, 1e-1])
def test_logistic_regression_is_scikit_learns(num_classes, penalty):
    """Its C is 1 / (samples * penalty); for two classes its one weight stands for the difference of our two."""
    x, y = make_case(num_classes)
    model = Linear(7, num_classes)
    fit_logistic(model, x, y, x, y, [penalty])
    strength = 1 / (len(x) * penalty) * (2 if num_classes == 2 else 1)
    theirs = LogisticRegression(C=strength, tol=1e-12, max_iter=10_000).fit(standardised(x.numpy()), y)
    expected = theirs.predict_proba(standardised(x.numpy()))
    np.testing.assert_allclose(model(x).softmax(1), expected, rtol=SUMS32, atol=SUMS32)


def test_the_slope_is_zero_though_classes_are_separable():
    x = torch.linspace(-1, 1, 40, dtype=torch.float64)[:, None]
    y = (x[:, 0] > 0).long()
    model = Linear(1, 2)
    fit_logistic(model, x, y, x, y, [1e-4])
    weight, bias = model.weight.clone().requires_grad_(), model.bias.clone().requires_grad_()
    loss = F.cross_entropy(F.linear(model.standardised(x), weight, bias), y) + 1e-4 / 2 * weight.square().sum()
    for slope in torch.autograd.grad(loss, (weight, bias)):
        assert slope.abs().max() < SUMS32


@pytest.mark.parametrize("penalty", [1e-3, 10.0])
def test_ridge_regression_is_scikit_learns(penalty):
    """Its alpha is samples * penalty."""
    x, _ = make_case()
    y = torch.stack([x[:, 2] - 3 * x[:, 5] + 7, x[:, 1].square()], 1)
    model = Linear(7, 2)
    fit_ridge(model, x, y, x, y, [penalty])
    theirs = Ridge(alpha=len(x) * penalty).fit(standardised(x.numpy()), y)
    np.testing.assert_allclose(model(x), theirs.predict(standardised(x.numpy())), rtol=LONG64)


@pytest.mark.parametrize("fit", [fit_logistic, fit_ridge])
def test_the_penalty_is_that_of_the_lowest_validation_loss(fit):
    (x, y), (held_x, held_y) = make_case(), make_case(seed=5)
    if fit is fit_ridge:
        y, held_y = F.one_hot(y).double(), F.one_hot(held_y).double()
    loss = F.cross_entropy if fit is fit_logistic else F.mse_loss
    model = Linear(7, 3)
    facts = fit(model, x, y, held_x, held_y)
    losses = facts["validation_loss"]
    assert list(losses) == [f"{penalty:g}" for penalty in PENALTIES]
    assert losses[f"{facts['penalty']:g}"] == min(losses.values())
    assert float(loss(model(held_x), held_y)) == pytest.approx(min(losses.values()), rel=ROUNDING64)
    alone = Linear(7, 3)
    fit(alone, x, y, held_x, held_y, [facts["penalty"]])
    np.testing.assert_allclose(model(held_x), alone(held_x), rtol=SUMS32, atol=SUMS32)


def test_only_training_rows_are_learnt_from():
    (x, y), (held_x, held_y) = make_case(), make_case(seed=5)
    one, other = Linear(7, 3), Linear(7, 3)
    fit_logistic(one, x, y, held_x, held_y, [0.1])
    fit_logistic(other, x, y, 3 * held_x, held_y, [0.1])
    for name, buffer in one.named_buffers():
        assert torch.equal(buffer, other.get_buffer(name)), name


def test_majority_and_mean_are_those_of_training():
    majority, mean = Majority(3), Mean(2)
    majority.fit(torch.tensor([0, 0, 0, 1]))
    mean.fit(torch.tensor([[1.0, 2.0], [3.0, 8.0]]))
    np.testing.assert_allclose(majority(torch.zeros(5, 4)).softmax(1), np.tile([0.75, 0.25, 0], (5, 1)), atol=LONG64)
    assert mean(torch.zeros(5, 4)).tolist() == [[2.0, 5.0]] * 5


@pytest.mark.parametrize(("sizes", "pooled"), [((32, 20), (8, 8)), ((5, 9), (5, 8)), ((28, 28, 6), (7, 7, 6))])
def test_features_are_means_of_blocks_of_each_channel(sizes, pooled):
    model = PooledLinear(sizes, 2, 3)
    x = torch.zeros(4, 2, *sizes)
    x[:, 1] = 5
    features = model.features(x).unflatten(1, (2, *pooled))
    assert (features[:, 0] == 0).all() and (features[:, 1] == 5).all()
    assert model(x).shape == (4, 3) and model(x).dtype == torch.float64


def test_it_learns_which_side_is_bright():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(200, 1, 16, 16, generator=draw), torch.arange(200) % 2
    x[y == 1, :, :, :8] += 2
    model = PooledLinear((16, 16), 1, 2)
    fit_logistic(model, model.features(x[:100]), y[:100], model.features(x[100:]), y[100:])
    assert (model(x[100:]).argmax(1) == y[100:]).double().mean() > 0.95


@pytest.mark.parametrize("kind", ["ridge", "logistic", "mean", "majority"])
def test_a_weight_of_three_is_the_sample_three_times(kind, generator):
    """The validation rows as well, which choose the penalty."""
    x, y = make_case()
    counts, held = torch.randint(1, 4, (len(x),), generator=generator), slice(0, 50)
    penalties, weights = [1.0, 1e-1, 1e-2, 1e-3], counts.double()
    if kind in ("mean", "majority"):
        one, other = (Majority(3) if kind == "majority" else Mean() for _ in range(2))
        given = y if kind == "majority" else x[:, 1:2]
        one.fit(given, weights)
        other.fit(given.repeat_interleave(counts, 0))
    else:
        fit, target = (fit_logistic, y) if kind == "logistic" else (fit_ridge, x[:, 1:3].square())
        one, other = (Linear(7, 3 if kind == "logistic" else 2) for _ in range(2))
        given = [x, target, x[held], target[held]]
        facts = fit(one, *given, penalties, weights=(weights, weights[held]))
        times = [counts, counts, counts[held], counts[held]]
        repeated = fit(other, *(each.repeat_interleave(n, 0) for each, n in zip(given, times, strict=True)), penalties)
        assert facts["penalty"] == repeated["penalty"]
        assert facts["validation_loss"] == pytest.approx(repeated["validation_loss"], rel=SUMS32)
    np.testing.assert_allclose(one(x), other(x), rtol=SUMS32, atol=SUMS32)
