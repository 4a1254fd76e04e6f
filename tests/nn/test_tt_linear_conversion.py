"""TTLinear's parameters, its quantised form, its making from a dense layer, its state, start and refusals."""

import copy
import math

import pytest
import tensorly
import torch
from tensorly.decomposition import tensor_train_matrix
from tensorly.tt_matrix import tt_matrix_to_tensor

from multiway import errors, ops
from multiway.nn import TTLinear
from reference import tga
from tolerances import LONG64, ROUNDING64, SUMS64, assert_same

CASES = [
    ((7,), (5,), (1, 1)),
    ((3, 5), (7, 2), (1, 4, 1)),
    ((3, 5), (1, 17), (1, 1, 1)),
    ((2, 3, 5), (7, 11, 13), (1, 2, 3, 1)),
    ((13, 11, 2), (1, 2, 3), (1, 5, 3, 1)),
    ((2, 1, 3, 5), (3, 2, 1, 7), (1, 3, 1, 2, 1)),
    ((2, 3, 1, 5, 2), (3, 1, 2, 2, 5), (1, 2, 3, 2, 1, 1)),
    ((2,) * 8, (2,) * 8, (1, *(2,) * 7, 1)),
]


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def random_layer(generator, in_sizes, out_sizes, tt_ranks):
    """In float64, no parameter at zero."""
    layer = TTLinear(in_sizes, out_sizes, tt_ranks=tt_ranks).double()
    for parameter in layer.parameters():
        parameter.data = normal(generator, *parameter.shape)
    return layer


@pytest.mark.parametrize("modes", range(2, 11))
def test_the_quantised_layer_has_16_parameters_per_mode_but_one(modes):
    layer = TTLinear.quantized(2**modes, bias=False)
    assert sum(core.numel() for core in layer.cores) == 16 * (modes - 1)
    assert layer.in_sizes == layer.out_sizes == (2,) * modes
    assert layer.tt_ranks == (1, *(2,) * (modes - 1), 1)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_layer_has_as_many_parameters_as_the_formula_says(case):
    layer = TTLinear(case[0], case[1], tt_ranks=case[2])
    assert sum(core.numel() for core in layer.cores) == tga.num_entries(*case)
    assert layer.bias.numel() == math.prod(case[1])


@pytest.mark.parametrize(("features", "out_features"), [(16, None), (16, 4), (4, 32), (1, 8), (1, None), (2, 2)])
@pytest.mark.parametrize("tt_rank", [1, 2, 3])
def test_the_quantised_layer_takes_any_powers_of_two(features, out_features, tt_rank, generator):
    layer = TTLinear.quantized(features, out_features, tt_rank=tt_rank, dtype=torch.float64)
    x = normal(generator, 5, features)
    assert layer(x).shape == (5, out_features or features)
    assert set(layer.in_sizes + layer.out_sizes) <= {1, 2}
    literal = tga.apply_cores(x.reshape(5, *layer.in_sizes), list(layer.cores)).flatten(1)
    assert_same(layer(x), literal + layer.bias)


@pytest.mark.parametrize(
    ("given", "meant"),
    [(3, (1, 3, 3, 1)), ([3, 2], (1, 3, 2, 1)), ((1, 3, 2, 1), (1, 3, 2, 1)), ([1, 1], (1, 1, 1, 1))],
    ids=str,
)
def test_ranks_are_given_in_three_forms(given, meant):
    layer = TTLinear((2, 3, 5), (5, 2, 3), tt_ranks=given)
    assert layer.tt_ranks == meant
    assert [tuple(core.shape) for core in layer.cores] == [
        (meant[0], 2, 5, meant[1]), (meant[1], 3, 2, meant[2]), (meant[2], 5, 3, meant[3])
    ]  # fmt: skip


# From a dense layer


def random_linear(generator, in_features, out_features, *, bias=True, dtype=torch.float64):
    linear = torch.nn.Linear(in_features, out_features, bias=bias, dtype=dtype)
    for parameter in linear.parameters():
        parameter.data = normal(generator, *parameter.shape).to(dtype)
    return linear


@pytest.mark.parametrize("case", CASES[1:7], ids=str)
def test_tt_svd_keeps_oseledets_bounds_and_is_tensorlys(case, generator):
    in_sizes, out_sizes, tt_ranks = case
    linear = random_linear(generator, math.prod(in_sizes), math.prod(out_sizes))
    layer = TTLinear.from_linear(linear, in_sizes, out_sizes, tt_ranks=tt_ranks)
    assert layer.tt_ranks == tt_ranks
    norm = linear.weight.norm().item()
    error = (layer.dense_weight() - linear.weight).norm().item() / norm
    tails = tga.tails(linear.weight.detach(), in_sizes, out_sizes, tt_ranks)
    assert max(tails) / norm - ROUNDING64 <= error <= math.hypot(*tails) / norm + ROUNDING64
    assert layer.approximation.error == pytest.approx(error, rel=SUMS64)
    assert layer.approximation.bound >= error - ROUNDING64
    count = len(in_sizes)
    paired = tga.paired(linear.weight.detach(), in_sizes, out_sizes)
    apart = paired.permute(*range(0, 2 * count, 2), *range(1, 2 * count, 2))
    with tensorly.backend_context("numpy"):
        theirs = torch.from_numpy(tt_matrix_to_tensor(tensor_train_matrix(apart.numpy(), tt_ranks)))
    assert error == pytest.approx((theirs - apart).norm().item() / norm, rel=SUMS64)
    x = normal(generator, 4, math.prod(in_sizes))
    assert_same(layer(x), x @ layer.dense_weight().T + linear.bias)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_there_and_back_is_the_same_layer(case, generator):
    layer = random_layer(generator, *case)
    back = TTLinear.from_linear(layer.to_linear(), case[0], case[1], tt_ranks=case[2])
    x = normal(generator, 4, math.prod(case[0]))
    assert back.approximation.error < SUMS64
    torch.testing.assert_close(back(x), layer(x), rtol=LONG64, atol=LONG64 * layer(x).abs().max().item())


@pytest.mark.parametrize("max_error", [0.0, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_error_is_kept_to_with_few_ranks(case, max_error, generator):
    in_sizes, out_sizes, _ = case
    linear = random_linear(generator, math.prod(in_sizes), math.prod(out_sizes))
    layer = TTLinear.from_linear(linear, in_sizes, out_sizes, max_error=max_error)
    norm = linear.weight.norm().item()
    assert (layer.dense_weight() - linear.weight).norm().item() / norm <= max_error + ROUNDING64
    full = TTLinear.from_linear(linear, in_sizes, out_sizes, max_error=0.0)
    assert all(rank <= most for rank, most in zip(layer.tt_ranks, full.tt_ranks, strict=True))
    first = torch.linalg.svdvals(
        tga.paired(linear.weight.detach(), in_sizes, out_sizes).reshape(in_sizes[0] * out_sizes[0], -1)
    )
    if len(in_sizes) > 1:  # at the first bond one rank fewer would drop more than its share
        share = max_error * norm / math.sqrt(len(in_sizes) - 1)
        assert layer.tt_ranks[1] == 1 or first[layer.tt_ranks[1] - 1 :].norm() > share


def test_ranks_beyond_what_a_bond_can_hold_are_lowered_and_exact(generator):
    linear = random_linear(generator, 15, 14)
    layer = TTLinear.from_linear(linear, (3, 5), (2, 7), tt_ranks=99)
    assert layer.tt_ranks == (1, 6, 1)
    assert_same(layer.dense_weight(), linear.weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtype_and_the_missing_bias_are_kept(dtype, generator):
    linear = random_linear(generator, 15, 14, bias=False, dtype=dtype)
    layer = TTLinear.from_linear(linear, (3, 5), (2, 7), tt_ranks=3)
    assert {p.dtype for p in (*layer.parameters(), *layer.to_linear().parameters())} == {dtype}
    assert layer.bias is None and layer.to_linear().bias is None
    assert layer.approximation.bound < 1 and all(p.requires_grad for p in layer.parameters())


@pytest.mark.parametrize("limit", [{"tt_ranks": 3}, {"max_error": 0.1}], ids=str)
def test_zero_stays_zero_without_nan(limit):
    linear = torch.nn.Linear(12, 12)
    torch.nn.init.zeros_(linear.weight)
    for sizes in [(12,), (3, 4), (2, 3, 2)]:
        layer = TTLinear.from_linear(linear, sizes, sizes, **limit)
        assert layer.approximation == (0.0, 0.0)
        assert torch.equal(layer(torch.ones(1, 12))[0], linear.bias)


# State, start and words


def test_a_state_has_these_names_and_comes_back(tmp_path):
    from safetensors.torch import load_file, save_file

    torch.manual_seed(0)
    layer, other = (TTLinear((3, 5), (7, 2), tt_ranks=4) for _ in range(2))
    assert sorted(layer.state_dict()) == ["bias", "cores.0", "cores.1"]
    x = torch.randn(4, 15)
    assert not torch.equal(other(x), layer(x))
    save_file(layer.state_dict(), tmp_path / "weights.safetensors")
    other.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    assert torch.equal(other(x), layer(x)) and torch.equal(copy.deepcopy(layer)(x), layer(x))
    copied = copy.deepcopy(layer)
    copied.cores[0].data.zero_()
    assert not torch.equal(copied(x), layer(x))


@pytest.mark.parametrize("case", [((7,), (5,), 1), ((3, 5), (7, 2), 4), ((2, 3, 5), (5, 2, 3), (2, 3))], ids=str)
def test_outputs_start_with_the_variance_of_inputs(case):
    """For unit inputs the variance of an output is Σ W² over its row: one on average over draws."""
    torch.manual_seed(0)
    layer = TTLinear(case[0], case[1], tt_ranks=case[2])
    draws = []
    for _ in range(600):
        layer.reset_parameters()
        draws.append(layer.dense_weight().detach().square().sum(1).mean())
    values = torch.stack(draws)
    assert (values.mean() - 1).abs() < 4 * values.std() / len(draws) ** 0.5
    assert bool((layer.bias == 0).all())


def test_the_repr_names_ranks_and_error(generator):
    assert TTLinear((3, 5), (7, 2), tt_ranks=4, bias=False).extra_repr() == (
        "(3, 5) -> (7, 2), tt_ranks=(1, 4, 1), bias=False"
    )
    layer = TTLinear.from_linear(random_linear(generator, 15, 14), (3, 5), (7, 2), tt_ranks=4)
    error, bound = layer.approximation
    assert layer.extra_repr().endswith(f"tt_ranks=(1, 4, 1), error={error:.3g} (at most {bound:.3g})")


def train(*shapes):
    return [torch.zeros(shape) for shape in shapes]


LINEAR, NAN = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
NAN.weight.data[1, 2] = math.nan


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: TTLinear((2, 3), (2,), tt_ranks=2), "(2 and 1 modes)"),
        (lambda: TTLinear((), (), tt_ranks=2), "at least one"),
        (lambda: TTLinear((2, 0), (2, 3), tt_ranks=2), "whole numbers from 1 on"),
        (lambda: TTLinear((2, 3), (2, 3), tt_ranks=0), "all positive. Got tt_ranks=0"),
        (lambda: TTLinear((2, 3), (2, 3), tt_ranks=(2, 2, 1)), "3 with ends of 1"),
        (lambda: TTLinear((2, 3), (2, 3), tt_ranks=(2, 2)), "2 cores take one rank, 1 inner ranks, or 3"),
        (lambda: TTLinear((2, 3), (2, 3), tt_ranks=2)(torch.zeros(2, 3)), "must be 6 = Π (2, 3). Got (2, 3)"),
        (lambda: TTLinear.quantized(12), "must be a power of two. Got 12"),
        (lambda: TTLinear.quantized(8, 0), "must be a power of two. Got 0"),
        (lambda: TTLinear.from_linear(LINEAR, (2, 3), (2, 3)), "give either tt_ranks or max_error"),
        (lambda: TTLinear.from_linear(LINEAR, (2, 3), (2, 3), tt_ranks=2, max_error=0.1), "give either"),
        (lambda: TTLinear.from_linear(LINEAR, (2, 3), (2, 3), max_error=1.0), "lies in [0, 1). Got 1.0"),
        (lambda: TTLinear.from_linear(LINEAR, (2, 3), (2, 3), max_error=math.nan), "Got nan"),
        (
            lambda: TTLinear.from_linear(LINEAR, (2, 4), (2, 3), tt_ranks=2),
            "6 inputs and 6 outputs. Got (2, 4), that is 8",
        ),
        (lambda: TTLinear.from_linear(LINEAR, (6,), (2, 3), tt_ranks=2), "(1 and 2 modes)"),
        (lambda: TTLinear.from_linear(NAN, (2, 3), (2, 3), tt_ranks=2), "must be finite. Got 1 "),
        (lambda: ops.tt_matrix(train((1, 2, 3, 2), (3, 2, 3, 1))), "each next rank is the following rank"),
        (lambda: ops.tt_matrix(train((2, 2, 3, 1))), "ends are 1"),
        (lambda: ops.tt_matrix(train((2, 3))), "Got [(2, 3)]"),
        (lambda: ops.tt_matrix([]), "Got []"),
    ],
)
def test_a_misuse_names_rule_and_values(call, text):
    with pytest.raises((errors.ShapeError, errors.ConfigError, errors.DataError)) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
