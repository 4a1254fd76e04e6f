"""A compressed model learns from labels, and from the outputs of the model that it came from."""

import copy

import pytest
import torch
from torch.nn import functional as F

from compress.models import Branching, perceptron
from multiway import compress
from multiway.compress import LowRank
from multiway.compress.measuring import difference, layer_outputs
from multiway.compress.recovering import relative_distance
from multiway.errors import ConfigError
from tolerances import SUMS64


def small_of(model):
    return compress.plan(model, {".*": LowRank(rank=2)}, measure=False).apply()


@pytest.fixture
def batches(generator):
    return list(torch.randn(8, 5, 12, dtype=torch.float64, generator=generator))


def test_distillation_brings_outputs_near_and_leaves_the_teacher(batches):
    model = perceptron()
    small, state = small_of(model), copy.deepcopy(model.state_dict())
    before = difference(layer_outputs(model, batches), layer_outputs(small, batches))
    losses = compress.distil(small, model, batches, epochs=20, rate=0.02)
    after = difference(layer_outputs(model, batches), layer_outputs(small, batches))
    assert len(losses) == 20 and losses[-1] < 0.5 * losses[0] and after < 0.7 * before
    assert all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())
    assert not small.training and model.training


def test_a_loss_of_ones_own_is_minimised(batches):
    small = small_of(perceptron())
    pairs = [(x, torch.sin(x[:, :6])) for x in batches]
    losses = compress.finetune(
        small, pairs, lambda model, pair: F.mse_loss(model(pair[0]), pair[1]), epochs=10, rate=0.02
    )
    assert losses[-1] < 0.7 * losses[0]


def test_the_first_loss_is_the_distance_of_all_outputs(generator):
    model, x = Branching(), torch.randn(5, 12, generator=generator)
    small = small_of(model)
    given = {"x": x, "scale": 2.0}
    pairs = list(zip(layer_outputs(small, given), layer_outputs(model, given), strict=True))
    expected = sum(float((a - b).square().sum() / b.square().sum()) for a, b in pairs)
    (loss,) = compress.distil(small, model, [given])
    assert loss == pytest.approx(expected, rel=1e-5)
    assert float(relative_distance([pairs[0][1]], [pairs[0][1]])) < SUMS64


def test_a_second_loss_is_added(batches):
    model = perceptron()
    plain = compress.distil(small_of(model), model, batches[:1])
    more = compress.distil(small_of(model), model, batches[:1], loss=lambda learner, x: learner(x).sum() * 0 + 3)
    assert more[0] == pytest.approx(plain[0] + 3, rel=SUMS64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batches": []}, "Got 0 batches, epochs=1 and 4"),
        ({"epochs": 0}, "epochs=0"),
        ({"loss": lambda model, x: model(x).sum() * torch.nan}, r"the loss of batch 0 is nan. Lower the rate"),
    ],
)
def test_a_recovery_that_cannot_be_is_one_line(change, message, batches):
    small = small_of(perceptron())
    small[0].bias.requires_grad_(False), small[2].bias.requires_grad_(False)
    given = {"batches": batches, "loss": lambda model, x: model(x).square().mean(), **change}
    with pytest.raises(ConfigError, match=message):
        compress.finetune(small, given.pop("batches"), given.pop("loss"), **given)
