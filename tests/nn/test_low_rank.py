"""LowRankLinear: two thin matrices, the best of their rank."""

import pytest
import torch
from torch import nn

from multiway.errors import ConfigError
from multiway.nn import LowRankLinear
from tolerances import SUMS64, assert_same


def test_equals_a_dense_layer_with_a_product_for_its_weight(generator):
    layer = LowRankLinear(5, 7, rank=2, dtype=torch.float64)
    nn.init.normal_(layer.bias)
    x = torch.randn(3, 11, 5, dtype=torch.float64, generator=generator)
    assert_same(layer(x), x @ (layer.up @ layer.down).T + layer.bias)
    assert_same(layer.to_linear()(x), layer(x))


def test_no_matrix_of_the_rank_is_nearer(generator):
    linear = nn.Linear(11, 7, dtype=torch.float64)
    layer = LowRankLinear.from_linear(linear, rank=3)
    values = torch.linalg.svdvals(linear.weight.detach())
    best = float(values[3:].norm() / values.norm())
    assert layer.approximation.error == pytest.approx(best, rel=SUMS64)
    assert layer.approximation.bound == pytest.approx(best, rel=SUMS64)
    assert torch.equal(layer.bias, linear.bias)
    assert torch.linalg.matrix_rank(layer.dense_weight()) == 3


def test_full_rank_is_exact():
    linear = nn.Linear(5, 7, bias=False, dtype=torch.float64)
    layer = LowRankLinear.from_linear(linear, rank=5)
    assert layer.bias is None
    assert_same(layer.dense_weight(), linear.weight)


def test_a_large_weight_is_nearly_as_near_without_all_singular_values_and_nothing_is_drawn(generator):
    linear = nn.Linear(523, 541, bias=False)
    with torch.no_grad():  # singular values fall, as those of trained weights do
        linear.weight.copy_(torch.randn(541, 40, generator=generator) @ torch.randn(40, 523, generator=generator) / 40)
        linear.weight.add_(torch.randn(541, 523, generator=generator), alpha=0.02)
    state = torch.get_rng_state()
    layer, other = (LowRankLinear.from_linear(linear, rank=29) for _ in range(2))
    values = torch.linalg.svdvals(linear.weight.detach().double())
    best = float(values[29:].norm() / values.norm())
    assert best <= layer.approximation.error <= 1.001 * best and layer.approximation.bound is None
    assert torch.equal(layer.up, other.up) and torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_promised_bound_holds_for_factors_as_they_are_stored_and_nothing_is_drawn(dtype):
    linear, state = nn.Linear(5, 7, dtype=dtype), torch.get_rng_state()
    for rank in (1, 3, 5):
        error, bound = LowRankLinear.from_linear(linear, rank=rank).approximation
        assert 0 < error <= bound
    assert torch.equal(state, torch.get_rng_state())


def test_counts_rank_times_both_sides_and_the_bias():
    assert sum(each.numel() for each in LowRankLinear(64, 32, rank=4).parameters()) == 4 * (64 + 32) + 32


def test_outputs_have_the_variance_of_inputs(generator):
    x = torch.randn(4000, 53, generator=generator)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        variances = [float(LowRankLinear(53, 47, rank=31)(x).var()) for _ in range(20)]
    assert sum(variances) / 20 == pytest.approx(1, abs=0.1)


def test_gradients_are_those_of_the_formula(generator):
    layer = LowRankLinear(3, 5, rank=2, dtype=torch.float64)
    x = torch.randn(2, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, layer.down, layer.up, layer.bias))


@pytest.mark.parametrize("rank", [0, 6])
def test_a_rank_that_cannot_be_is_refused(rank):
    with pytest.raises(
        ConfigError, match=f"rank lies between 1 and the smaller number of features, 5. Got rank={rank}"
    ):
        LowRankLinear(5, 7, rank=rank)


def test_its_description_says_sizes_rank_and_error():
    layer = LowRankLinear.from_linear(nn.Linear(5, 7, bias=False), rank=5)
    assert repr(layer).startswith("LowRankLinear(5 -> 7, rank=5, bias=False, error=")
