"""Random kernels and the baselines of series, against loops and scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from multiway.errors import ShapeError
from multiway.models.baselines import Linear, fit_ridge
from multiway.models.series_baselines import LENGTH, FlatLinear, RandomKernels, Rocket
from tolerances import LONG64, assert_same


def waves(count: int, steps: int = 40, variates: int = 2, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Series of two classes, which a bump somewhere tells apart."""
    draw = torch.Generator().manual_seed(seed)
    x, y = 0.3 * torch.randn(count, steps, variates, generator=draw), torch.arange(count) % 2
    for row in range(1, count, 2):
        start = int(torch.randint(steps - 8, (), generator=draw))
        x[row, start : start + 8, 0] += torch.sin(torch.arange(8) * 0.8) * 2
    return x, y


def kernels(**fields: int) -> RandomKernels:
    torch.manual_seed(1)
    return RandomKernels(**({"variates": 2, "steps": 40, "count": 7} | fields))


def by_loop(module: RandomKernels, x: np.ndarray) -> tuple[list[float], list[float]]:
    """Share and peak of every kernel on one series, as the formula says."""
    observed, shares, peaks = ~np.isnan(x).all(1), [], []
    for weight, bias, dilation in zip(
        module.weight.numpy(), module.bias.numpy(), module.dilation.tolist(), strict=True
    ):
        answers = []
        for step in np.flatnonzero(observed):
            places = [step + dilation * (at - LENGTH // 2) for at in range(LENGTH)]
            seen = [np.nan_to_num(x[at]) if 0 <= at < len(x) else np.zeros(x.shape[1]) for at in places]
            answers.append(float((weight.T * np.array(seen)).sum() + bias))
        shares.append(np.mean(np.array(answers) > 0))
        peaks.append(max(answers))
    return shares, peaks


def test_features_are_those_of_the_formula():
    module, x = kernels(), waves(3)[0]
    x[1, 30:] = torch.nan
    x[2, 5, 1] = torch.nan
    assert len(module.dilation.unique()) > 1
    expected = [[*shares, *peaks] for shares, peaks in (by_loop(module, each.numpy()) for each in x)]
    got = module(x)
    order = np.argsort(module.dilation.numpy(), kind="stable")
    shares, peaks = got[:, :7], got[:, 7:]
    for found, wanted in zip(torch.cat([shares[:, order], peaks[:, order]], 1), expected, strict=True):
        assert_same(found, torch.tensor(wanted, dtype=torch.float32))


def test_padding_changes_nothing_and_a_series_depends_on_itself():
    module, x = kernels(), waves(4)[0]
    longer = torch.cat([x, torch.full((4, 9, 2), torch.nan)], 1)
    assert_same(module(longer), module(x))
    assert_same(module(x)[2:3], module(x[2:3]))
    assert torch.equal(module(torch.full((1, 40, 2), torch.nan)), torch.zeros(1, 14))


def test_kernels_are_drawn_by_the_seed_and_kept_as_buffers():
    first, second = kernels(), kernels()
    assert all(torch.equal(one, two) for one, two in zip(first.buffers(), second.buffers(), strict=True))
    assert not list(first.parameters())
    torch.manual_seed(2)
    other = RandomKernels(2, 40, 7)
    other.load_state_dict(first.state_dict())
    assert torch.equal(other(waves(2)[0]), first(waves(2)[0]))
    assert torch.equal(first.weight.sum(2).abs() < 1e-5, torch.ones(7, 2, dtype=torch.bool))
    assert RandomKernels(1, 3, 5).dilation.tolist() == [1] * 5


def test_ridge_with_more_features_than_samples_is_scikit_learns(generator):
    x = torch.randn(20, 35, generator=generator, dtype=torch.float64)
    y = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    model = Linear(35, 3)
    fit_ridge(model, x, y, x, y, [0.3])
    scaled = (x - x.mean(0)) / x.std(0, correction=0)
    theirs = Ridge(alpha=20 * 0.3).fit(scaled, y)
    np.testing.assert_allclose(model(x), theirs.predict(scaled), rtol=LONG64)


@pytest.mark.parametrize("name", ["logistic", "rocket"])
def test_a_bump_somewhere_is_found_by_kernels_alone(name):
    (x, y), (held, held_y), (test, test_y) = waves(60), waves(30, seed=1), waves(40, seed=2)
    torch.manual_seed(0)
    model = Rocket(2, 40, 2) if name == "rocket" else FlatLinear(80, 2)
    model.fit(x, y, held, held_y)
    right = float((model(test).argmax(1) == test_y).double().mean())
    assert right >= 0.9 if name == "rocket" else right < 0.9


def test_the_penalty_is_one_of_nine_powers_of_ten():
    (x, y), (held, held_y) = waves(60), waves(30, seed=1)
    torch.manual_seed(0)
    losses = Rocket(2, 40, 2, count=20).fit(x, y, held, held_y)["validation_loss"]
    assert sorted(map(float, losses)) == pytest.approx(np.logspace(-4, 4, 9))


def test_scores_become_logits_as_validation_says():
    (x, y), (held, held_y) = waves(60), waves(30, seed=1)
    torch.manual_seed(0)
    model = Rocket(2, 40, 2, count=200)
    model.fit(x, y, held, held_y)
    scores = model.linear(model.kernels(held))
    losses = {each: torch.nn.functional.cross_entropy(each * scores, held_y) for each in (1.0, 2.0, 4.0, 8.0, 16.0)}
    assert float(model.sharpness) == min(losses, key=lambda each: losses[each])
    assert_same(model(held), float(model.sharpness) * scores)


def test_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"x must be \(batch, steps, 2\)\. Got \(4, 7, 3\)\."):
        kernels()(torch.zeros(4, 7, 3))
