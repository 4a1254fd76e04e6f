"""What the printed form's sums do at the start: maps near one-hot, and queries that learn nonetheless."""

import math

import pytest
import torch

from multiway import nn

SIZES = [(21, 24), (7, 7, 7)]
DIM, SEEDS = 64, range(5)


def start(sizes, preset, seed):
    """One layer and its answer to independent tokens, after a backward pass from a random direction."""
    torch.manual_seed(seed)
    layer = nn.KroneckerAttention(DIM, num_heads=4, num_modes=len(sizes), preset=preset)
    out, maps = layer.forward_with_maps(torch.randn(2, *sizes, DIM))
    (out * torch.randn_like(out)).sum().backward()
    return layer, [each.detach() for each in maps]


def query_over_value(layer):
    """Norm of the gradient of the query projections over that of the value projection."""
    queries = torch.stack([linear.weight.grad[:DIM].norm() for linear in layer.query_key])
    return float(queries.norm() / layer.value.weight.grad.norm())


def entropy(weights):
    """Mean entropy of a map's rows, as a share of that of an even look."""
    return float(-torch.xlogy(weights, weights).sum(-1).mean() / math.log(weights.shape[-1]))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_queries_get_two_to_six_times_the_gradient_of_values(sizes):
    ratios = [query_over_value(start(sizes, "paper", seed)[0]) for seed in SEEDS]
    assert 2 < min(ratios) <= max(ratios) < 6


@pytest.mark.parametrize(("sizes", "low", "high"), [((21, 24), 0.11, 0.18), ((7, 7, 7), 0.04, 0.09)], ids=str)
def test_the_printed_maps_are_near_one_hot_and_the_default_s_are_not(sizes, low, high):
    printed = [entropy(weights) for seed in SEEDS for weights in start(sizes, "paper", seed)[1]]
    default = [entropy(weights) for seed in SEEDS for weights in start(sizes, "trainable", seed)[1]]
    assert low < min(printed) <= max(printed) < high
    assert 0.78 < min(default) <= max(default) < 0.89
