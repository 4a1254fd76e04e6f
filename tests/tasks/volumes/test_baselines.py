"""Baselines beside scikit-learn's; the loss of classes beside torch's; probabilities over reflections."""

import numpy as np
import pytest
import torch
from blocks import NETWORK, SIZES, make_config, make_volumes
from sklearn.linear_model import LogisticRegression
from torch.nn import functional as F

from multiway.data.volumes import IntensityScale, VolumeBatches
from multiway.tasks.volumes.arrays import cases_of_arrays
from multiway.tasks.volumes.baselines import Logistic, _solve, fit_logistic, fit_majority
from multiway.tasks.volumes.evaluation import all_probabilities, probabilities
from multiway.tasks.volumes.fitting import ClassLoss, build_model, class_weights
from multiway.tasks.volumes.prepared import prepare
from tolerances import COARSE32, LONG32, SUMS32


def make_source(count=40, seed=0, **more):
    volumes, labels = make_volumes(count, seed, **more)
    scale = IntensityScale(centre=(0.0,), spread=(255.0,))
    return VolumeBatches(volumes[:, None], labels, np.arange(count), scale)


@pytest.mark.parametrize("num_classes", [2, 3])
@pytest.mark.parametrize("penalty", [1e-3, 1e-1])
def test_logistic_regression_is_scikit_learns(num_classes, penalty):
    """Its C is 1 / (cases * penalty); for two classes its one weight stands for the difference of our two."""
    chance = np.random.default_rng(4)
    x, y = chance.standard_normal((60, 5)), np.arange(60) % num_classes
    x[:, 0] += y
    weight, bias = _solve(torch.from_numpy(x), torch.from_numpy(y), num_classes, penalty)
    ours = (torch.from_numpy(x) @ weight.T + bias).softmax(1).numpy()
    # two weights of d/2 and -d/2 cost half of what one weight of d costs
    strength = 1 / (60 * penalty) * (2 if num_classes == 2 else 1)
    theirs = LogisticRegression(C=strength, tol=1e-10, max_iter=5000).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(ours, theirs, rtol=COARSE32, atol=LONG32)


def test_the_penalty_is_that_of_the_lowest_validation_loss():
    config, held = make_config(), make_source(20, seed=1)
    model, penalty = fit_logistic(make_source(), held, Logistic(SIZES, 1, 2), config)
    whole = held.gather(torch.arange(20))
    loss = float(F.cross_entropy(model(whole["volume"]), whole["label"]))
    for other in (1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        twin = Logistic(SIZES, 1, 2)
        twin.load_state_dict(model.state_dict())
        source = make_source().gather(torch.arange(40))
        x = (model.features(source["volume"]) - model.centre) / model.spread
        twin.weight, twin.bias = _solve(x, source["label"], 2, other)
        assert float(F.cross_entropy(twin(whole["volume"]), whole["label"])) >= loss * (1 - SUMS32), (other, penalty)


def test_majority_has_the_shares_of_training():
    volumes, _ = make_volumes(10)
    labels = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 2])
    source = VolumeBatches(volumes[:, None], labels, np.arange(10), IntensityScale(centre=(0.0,), spread=(1.0,)))
    found = all_probabilities(fit_majority(source, 3), source, make_config())
    np.testing.assert_allclose(found, np.tile([0.7, 0.2, 0.1], (10, 1)))


def test_the_loss_is_torchs():
    config = make_config(training={"label_smoothing": 0.2, "class_weights": "balanced"})
    model = build_model("multiway", config, SIZES, 1, 2).eval().requires_grad_(False)
    batch = make_source(7).gather(torch.arange(7))
    weights = torch.tensor([0.4, 1.7])
    total, count = ClassLoss(config, config.training, weights)(model, batch)
    logits = model(batch["volume"])
    expected = F.cross_entropy(logits, batch["label"], weights, label_smoothing=0.2)
    # torch's mean divides by the summed weights, as the loop does by the count
    assert float(total / count) == pytest.approx(float(expected), rel=SUMS32)
    total, count = ClassLoss(config, None)(model, batch)
    assert float(total / count) == pytest.approx(float(F.cross_entropy(logits, batch["label"])), rel=SUMS32)


def test_shapes_are_dimmed_in_training_and_halved_elsewhere():
    config = make_config(read={"shape_transform": True})
    seen = []

    class Watcher(torch.nn.Module):
        def forward(self, x):
            seen.append(x)
            return x.new_zeros(len(x), 2)

    batch = make_source(5).gather(torch.arange(5))
    ClassLoss(config, None)(Watcher(), batch)
    torch.manual_seed(0)
    ClassLoss(config, config.training)(Watcher(), batch)
    probabilities(Watcher(), batch["volume"], config)
    factors = [(x.sum((1, 2, 3, 4)) / batch["volume"].sum((1, 2, 3, 4))).tolist() for x in seen]
    assert factors[0] == factors[2] == pytest.approx([0.5] * 5)
    assert len({round(factor, 6) for factor in factors[1]}) == 5
    assert all(0 <= factor < 1 for factor in factors[1])


def test_balanced_weights_give_every_class_the_same_sum():
    volumes, _ = make_volumes(40)
    labels = np.array([0] * 30 + [1] * 10)
    cases, _ = cases_of_arrays(volumes, labels, options=make_config().read, split=make_config().split)
    prepared = prepare(make_config(), cases)
    weights = class_weights(prepared, make_config(training={"class_weights": "balanced"}).training)
    counts = np.bincount(labels[prepared.cases.indices("train")])
    assert (weights.numpy() * counts).tolist() == pytest.approx([counts.sum() / 2] * 2)
    assert class_weights(prepared, make_config().training) is None


def test_reflections_are_averaged():
    """The answer no longer depends on how a volume lies, and is the mean of eight."""
    config = make_config(evaluate_flips=True)
    model = build_model("multiway", config, SIZES, 1, 2).eval()
    x = make_source(3).gather(torch.arange(3))["volume"]
    found = probabilities(model, x, config)
    torch.testing.assert_close(probabilities(model, x.flip(2, 4), config), found, rtol=LONG32, atol=LONG32)
    by_hand = sum(
        probabilities(model, x.flip([axis for axis, on in zip((2, 3, 4), (a, b, c), strict=True) if on]), make_config())
        for a in (0, 1) for b in (0, 1) for c in (0, 1)
    ) / 8  # fmt: skip
    torch.testing.assert_close(found, by_hand, rtol=LONG32, atol=LONG32)
    assert not torch.allclose(probabilities(model, x, make_config()), found)


def test_the_network_is_the_seeds():
    first, same, other = (
        build_model("multiway", make_config(training={"seed": seed}, model=NETWORK), SIZES, 1, 2) for seed in (1, 1, 2)
    )
    assert torch.equal(first.head.weight, same.head.weight)
    assert not torch.equal(first.head.weight, other.head.weight)
