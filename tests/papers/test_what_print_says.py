"""Claims of the papers that their own tables, formulas or equations decide."""

import itertools
import math

import numpy as np
import pytest
import torch

from multiway import nn, ops
from multiway.config import load_yaml
from multiway_papers.cells import ROOM
from multiway_papers.printed import load_published

VARIATES = {"exchange": 8, "weather": 21, "solar": 137, "ecl": 321, "traffic": 862}
"""Of table 7 of HOT."""
LOOKBACK, WIDTHS = 96, (64, 128, 256)


def test_hots_gain_over_itransformer_is_not_smaller_on_sets_of_few_variates():
    table = load_published("hot-table-1")
    shares = {
        name: 1 - table.figure("hot", name, "mse").value / table.figure("itransformer", name, "mse").value
        for name in VARIATES
    }
    rounded = {name: round(100 * share) for name, share in shares.items()}
    assert rounded == {"exchange": 5, "weather": 3, "solar": 2, "ecl": 3, "traffic": 1}


@pytest.mark.parametrize("variates", VARIATES.values(), ids=list(VARIATES))
def test_hots_printed_cost_is_above_itransformers(variates):
    assert set(load_yaml(ROOM / "spaces" / "hot-forecast.yaml")["model.dim"]) == set(WIDTHS)
    for dim in WIDTHS:
        assert variates * LOOKBACK * dim**2 > variates**2 * dim + variates * LOOKBACK * dim


def test_the_cost_of_a_cube_is_exponential_in_its_modes_and_its_parameters_are_linear():
    costs = [count * 4 ** (count - 1) * 4 * 4 for count in range(1, 7)]
    assert [after / before for before, after in itertools.pairwise(costs)] == pytest.approx(
        [4 * (count + 1) / count for count in range(1, 6)]
    )
    parameters = [sum(p.numel() for p in nn.NdLinear((4,) * n, (4,) * n).parameters()) for n in range(1, 7)]
    assert len({*np.diff(parameters)}) == 1


def test_an_intermediate_tensor_is_sixteen_times_as_large_as_input_and_output():
    entering, leaving = (8, 28, 28), (128, 7, 7)
    first = leaving[0] * entering[1] * entering[2]
    assert first / max(math.prod(entering), math.prod(leaving)) == 16


def test_a_mode_takes_the_output_of_the_one_before():
    """From the same input, as side by side, the second product has other sizes and other values."""
    layer, x = nn.NdLinear((3, 4), (5, 6), bias=False, dtype=torch.float64), torch.randn(2, 3, 4, dtype=torch.float64)
    first = ops.mode_product(x, layer.weights[0], 0)
    torch.testing.assert_close(ops.mode_product(first, layer.weights[1], 1), layer(x))
    assert ops.mode_product(x, layer.weights[1], 1).shape != layer(x).shape


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_at_any_size_of_its_matrices_the_map_is_one_kronecker_product(scale):
    layer = nn.NdLinear((3, 4), (3, 4), bias=False, dtype=torch.float64)
    with torch.no_grad():
        for weight in layer.weights:
            weight.mul_(scale)
        whole = layer(torch.eye(12, dtype=torch.float64).unflatten(1, (3, 4))).flatten(1)
    _, values = ops.nearest_kronecker(whole, (3, 4), (3, 4))
    assert values[1:].max() < 1e-12 * values[0]


def test_an_upper_triangle_left_of_the_values_shows_each_step_its_future():
    printed = torch.triu(torch.full((3, 3), 0.9), 1)
    values = torch.tensor([0.0, 0.0, 1.0])
    assert (printed @ values)[0] > 0 and (printed.T @ values)[:2].eq(0).all()


def test_about_half_of_the_edges_of_an_untrained_graph_are_zero():
    torch.manual_seed(0)
    layer, x = nn.TensorGraphAttention(256, preset="paper"), torch.randn(20, 50, 256)
    graph = layer.forward_with_maps(x)[1][:, 0]
    apart = ~torch.eye(50, dtype=torch.bool)
    assert 0.4 < graph[:, apart].eq(0).float().mean() < 0.6
    assert torch.softmax(torch.randn(20, 50, 50), dim=-1).gt(0).all()
