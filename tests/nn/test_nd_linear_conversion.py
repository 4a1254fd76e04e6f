"""NdLinear made from a dense layer and turned into one, its state, its start and its refusals."""

import copy
import itertools
import math
import re

import ndlinear as package
import numpy as np
import pytest
import torch

import shapes
from multiway import errors, nn
from multiway.nn import Approximation, NdLinear
from multiway.nn.checks import whole_numbers
from tolerances import ROUNDING32, STEPS64, SUMS64, assert_same


def random_linear(generator, in_features, out_features, *, bias=True, dtype=torch.float64):
    linear = torch.nn.Linear(in_features, out_features, bias=bias, dtype=dtype)
    for parameter in linear.parameters():
        parameter.data = torch.randn(*parameter.shape, generator=generator, dtype=torch.float64).to(dtype)
    return linear


def pairs_of(matrix, in_sizes, out_sizes):
    """Van Loan and Pitsianis' rearrangement, entry by entry: a row per pair (h_1, d_1), a column per (h_2, d_2)."""
    (d1, d2), (h1, h2) = in_sizes, out_sizes
    array = matrix.detach().double().numpy()
    out = np.empty((h1 * d1, h2 * d2))
    for i, j, k, m in itertools.product(range(h1), range(d1), range(h2), range(d2)):
        out[i * d1 + j, k * d2 + m] = array[i * h2 + k, j * d2 + m]
    return out


@pytest.mark.parametrize("rank", [1, 2, 5])
def test_two_modes_are_approximated_as_well_as_can_be(rank, generator):
    linear = random_linear(generator, 15, 14)
    layer = NdLinear.from_linear(linear, (3, 5), (2, 7), rank=rank)
    values = np.linalg.svd(pairs_of(linear.weight, (3, 5), (2, 7)), compute_uv=False)
    best = np.linalg.norm(values[rank:]) / np.linalg.norm(values)
    error = ((layer.dense_weight() - linear.weight).norm() / linear.weight.norm()).item()
    assert error == pytest.approx(best, rel=SUMS64)
    assert layer.approximation.error == pytest.approx(error, rel=SUMS64)
    assert_same(layer.dense_bias(), linear.bias)
    x = torch.randn(4, 15, generator=generator, dtype=torch.float64)
    assert_same(layer(x), x @ layer.dense_weight().T + linear.bias)


def test_enough_terms_are_exact_and_one_fewer_is_not(generator):
    """A matrix of pairs 6 × 35 has rank six."""
    linear = random_linear(generator, 15, 14)
    layers = [NdLinear.from_linear(linear, (3, 5), (2, 7), rank=rank) for rank in (5, 6, 9)]
    x = torch.randn(4, 15, generator=generator, dtype=torch.float64)
    assert layers[0].approximation.error > 0.01
    for layer in layers[1:]:
        assert layer.approximation.error < SUMS64
        assert_same(layer(x), linear(x))


@pytest.mark.parametrize(
    ("in_sizes", "out_sizes", "rank"),
    [
        ((7,), (5,), 1),
        ((7,), (5,), 3),
        ((3, 5), (2, 7), 1),
        ((3, 5), (2, 7), 3),
        ((2, 3, 5), (5, 2, 3), 1),
        ((2, 3, 5), (5, 2, 3), 2),
        ((2, 1, 3, 2), (1, 2, 2, 3), 1),
        ((2, 1, 3, 2, 2), (1, 2, 2, 3, 2), 1),
    ],
    ids=str,
)
def test_there_and_back_is_the_same_layer(in_sizes, out_sizes, rank, generator):
    layer = NdLinear(in_sizes, out_sizes, rank=rank, flat=True).double()
    for parameter in layer.parameters():
        parameter.data = torch.randn(*parameter.shape, generator=generator, dtype=torch.float64)
    back = NdLinear.from_linear(layer.to_linear(), in_sizes, out_sizes, rank=rank)
    x = torch.randn(4, math.prod(in_sizes), generator=generator, dtype=torch.float64)
    assert back.approximation.error < STEPS64
    torch.testing.assert_close(back(x), layer(x), rtol=STEPS64, atol=STEPS64 * layer(x).abs().max().item())


def test_three_modes_are_no_worse_with_more_terms_and_find_what_tensorly_finds(generator):
    from tensorly import backend_context, cp_to_tensor
    from tensorly.decomposition import parafac

    linear = random_linear(generator, 12, 12)
    found = [NdLinear.from_linear(linear, (2, 3, 2), (3, 2, 2), rank=rank).approximation.error for rank in (1, 2, 4)]
    assert found[0] > found[1] > found[2] > 0
    paired = linear.weight.detach().reshape(3, 2, 2, 2, 3, 2).permute(0, 3, 1, 4, 2, 5).reshape(6, 6, 4).numpy()
    with backend_context("numpy"):
        theirs = [parafac(paired, 1, n_iter_max=500, tol=SUMS64, random_state=seed) for seed in range(3)]
        best = min(np.linalg.norm(cp_to_tensor(cp) - paired) for cp in theirs) / np.linalg.norm(paired)
    assert found[0] < best + ROUNDING32


def test_the_same_layer_to_rounding_whatever_the_seed(generator):
    """Alternating least squares start at random, from a seed of their own."""
    linear, layers = random_linear(generator, 12, 12), []
    for seed in (0, 99):
        torch.manual_seed(seed)
        layers.append(NdLinear.from_linear(linear, (2, 3, 2), (3, 2, 2), rank=2))
    for one, other in zip(*(layer.parameters() for layer in layers), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtype_flatness_and_the_missing_bias_are_kept(dtype, generator):
    linear = random_linear(generator, 15, 14, bias=False, dtype=dtype)
    layer = NdLinear.from_linear(linear, (3, 5), (2, 7), rank=2, flat=False)
    assert {p.dtype for p in layer.parameters()} == {dtype}
    assert layer.full_bias is None and layer.dense_bias() is None and layer.to_linear().bias is None
    assert layer(torch.zeros(4, 3, 5, dtype=dtype)).shape == (4, 2, 7)
    assert layer.to_linear().weight.dtype == dtype
    assert all(p.requires_grad for p in layer.parameters())


def test_zero_stays_zero_without_nan():
    linear = torch.nn.Linear(12, 12)
    torch.nn.init.zeros_(linear.weight)
    for in_sizes, out_sizes in [((12,), (12,)), ((3, 4), (4, 3)), ((2, 3, 2), (3, 2, 2))]:
        layer = NdLinear.from_linear(linear, in_sizes, out_sizes, rank=2)
        assert layer.approximation.error == 0
        assert torch.equal(layer(torch.ones(1, 12))[0], linear.bias)


def test_what_is_made_shares_no_memory_and_no_history(generator):
    linear = random_linear(generator, 15, 14)
    layer = NdLinear.from_linear(linear, (3, 5), (2, 7))
    dense = layer.to_linear()
    assert all(
        parameter.is_leaf and parameter.requires_grad for parameter in (*layer.parameters(), *dense.parameters())
    )
    bias, weight = linear.bias.clone(), layer.weights[0].clone()
    for parameter in dense.parameters():
        parameter.data.zero_()
    layer.full_bias.data.add_(1)
    assert torch.equal(linear.bias, bias)
    assert torch.equal(layer.weights[0], weight)


def test_the_dense_weight_has_gradients(generator):
    layer = NdLinear((3, 5), (2, 7)).double()
    layer.dense_weight().square().sum().backward()
    a, b = layer.weights
    assert_same(a.grad, 2 * a.detach() * b.detach().square().sum())
    layer.dense_bias().sum().backward()
    assert layer.biases[1].grad is not None


# State


def random_nd(seed, **options):
    torch.manual_seed(seed)
    return NdLinear((2, 3, 5), (7, 2, 3), init="package", **options)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, [f"{kind}.{mode}" for kind in ("weights", "biases") for mode in range(3)]),
        ({"rank": 2}, [f"{kind}.{mode}" for kind in ("weights", "biases") for mode in range(3)]),
        ({"bias": "full"}, ["full_bias", "weights.0", "weights.1", "weights.2"]),
        ({"bias": False, "flat": True}, ["weights.0", "weights.1", "weights.2"]),
    ],
    ids=str,
)
def test_a_state_has_these_names_and_comes_back(options, names, tmp_path):
    from safetensors.torch import load_file, save_file

    layer, other = random_nd(0, **options), random_nd(1, **options)
    assert sorted(layer.state_dict()) == sorted(names)
    save_file(layer.state_dict(), tmp_path / "weights.safetensors")
    other.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    x = torch.randn(4, 30).reshape(4, *((30,) if layer.flat else (2, 3, 5)))
    assert torch.equal(other(x), layer(x))
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))
    copied = copy.deepcopy(layer)
    copied.weights[0].data.zero_()
    assert not torch.equal(copied(x), layer(x))


@pytest.mark.parametrize("descending", [False, True])
def test_the_packages_state_goes_both_ways_also_inside_a_model(descending):
    ours = torch.nn.Sequential(torch.nn.ReLU(), random_nd(0, descending=descending))
    theirs = torch.nn.Sequential(
        torch.nn.ReLU(), package.NdLinear((2, 3, 5), (7, 2, 3), transform_outer=not descending)
    )
    given = theirs.state_dict()
    names = list(given)
    x = torch.randn(4, 2, 3, 5)
    assert not torch.allclose(ours(x), theirs(x))
    ours.load_state_dict(given)
    assert list(given) == names
    assert_same(ours(x), theirs(x))
    fresh = package.NdLinear((2, 3, 5), (7, 2, 3), transform_outer=not descending)
    fresh.load_state_dict(ours[1].package_state_dict())
    assert_same(fresh(x), ours[1](x.clone()))


def test_a_wrong_state_is_refused_whole():
    layer = random_nd(0)
    state = package.NdLinear((2, 3, 5), (7, 2, 3)).state_dict()
    state.pop("align_layers.1.bias")
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "biases.1"'):
        layer.load_state_dict(state)
    with pytest.raises(RuntimeError, match=r"size mismatch for weights\.0"):
        layer.load_state_dict(package.NdLinear((5, 3, 2), (7, 2, 3)).state_dict())
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\)"):
        random_nd(0, bias=False).load_state_dict(package.NdLinear((2, 3, 5), (7, 2, 3)).state_dict())


# Start


def standard_error_apart(values, wanted):
    draws = torch.stack(values)
    return ((draws.mean(0) - wanted).abs() / (draws.std(0) / len(values) ** 0.5)).max().item()


@pytest.mark.parametrize("rank", [1, 4])
@pytest.mark.parametrize(("in_sizes", "out_sizes"), [((7,), (5,)), ((3, 5), (7, 2)), ((2, 3, 5, 2), (3, 4, 2, 5))])
def test_outputs_start_with_the_variance_of_inputs(in_sizes, out_sizes, rank):
    """For unit inputs an output has the variance Σ W², over the row of the flat weight: one on average over draws."""
    torch.manual_seed(0)
    layer = NdLinear(in_sizes, out_sizes, rank=rank)
    variances, means = [], []
    for _ in range(400):
        layer.reset_parameters()
        with torch.no_grad():
            weight = layer.dense_weight()
            variances.append(weight.square().sum(1).mean())
            means.append(weight.mean())
            assert all((bias == 0).all() for bias in layer.biases)
    assert standard_error_apart(variances, 1.0) < 4
    assert standard_error_apart(means, 0.0) < 4


def test_the_packages_start_is_the_packages():
    """Uniform up to 1/√D per mode, so the standard deviation falls by √3 per mode; the same seed, the same numbers."""
    for sizes in [(7,), (3, 5), (2, 3, 5)]:
        torch.manual_seed(0)
        layer = NdLinear(sizes, sizes, init="package")
        theirs = package.NdLinear(sizes, sizes)
        variances = []
        for _ in range(400):
            layer.reset_parameters()
            with torch.no_grad():
                variances.append(layer.dense_weight().square().sum(1).mean())
            for size, parameters in zip(sizes, zip(layer.weights, layer.biases, strict=True), strict=True):
                assert all(parameter.abs().max() <= size**-0.5 for parameter in parameters)
        assert standard_error_apart(variances, 3.0 ** -len(sizes)) < 4
        assert all(bias.abs().max() > 0 for bias in layer.biases)
        assert {n: p.shape for n, p in layer.package_state_dict().items()} == {
            n: p.shape for n, p in theirs.state_dict().items()
        }


@pytest.mark.parametrize("rank", [1, 3])
def test_the_papers_start_is_xaviers(rank):
    """Uniform up to √(6 / (D + H)) per mode: never beyond, near it, and of that variance; biases are zero."""
    in_sizes, out_sizes = (13, 2, 5), (3, 17, 5)
    torch.manual_seed(0)
    layer = NdLinear(in_sizes, out_sizes, init="xavier", rank=rank)
    draws = []
    for _ in range(400):
        layer.reset_parameters()
        draws.append([weight.detach().clone() for weight in layer.weights])
    for in_size, out_size, each in zip(in_sizes, out_sizes, zip(*draws, strict=True), strict=True):
        limit = (6 / (in_size + out_size)) ** 0.5
        weights = torch.stack(each).flatten(1)
        assert 0.999 * limit < weights.abs().max() <= limit
        assert standard_error_apart(list(weights.square().mean(1)), 2 / (in_size + out_size)) < 4
    assert not any(bias.any() for bias in layer.biases)


def test_the_papers_start_of_one_mode_is_torchs():
    torch.manual_seed(0)
    layer = NdLinear((7,), (5,), init="xavier")
    torch.manual_seed(0)
    assert torch.equal(layer.weights[0], torch.nn.init.xavier_uniform_(torch.empty(5, 7)))


def test_the_same_seed_gives_the_same_layer_and_device_and_dtype_are_taken():
    one, other, third = random_nd(5), random_nd(5), random_nd(6)
    assert torch.equal(one.weights[2], other.weights[2]) and not torch.equal(one.weights[2], third.weights[2])
    layer = NdLinear((2, 3), (3, 2), bias="full", device="meta", dtype=torch.bfloat16)
    assert {(p.device.type, p.dtype) for p in layer.parameters()} == {("meta", torch.bfloat16)}


# Words


def test_the_repr_says_what_differs_from_the_defaults(generator):
    assert random_nd(0).extra_repr() == "(2, 3, 5) -> (7, 2, 3)"
    layer = random_nd(0, bias=False, rank=2, descending=True, flat=True)
    assert layer.extra_repr() == "(2, 3, 5) -> (7, 2, 3), bias=False, rank=2, descending, flat"
    close = NdLinear.from_linear(random_linear(generator, 6, 6), (2, 3), (3, 2))
    assert close.extra_repr() == f"(2, 3) -> (3, 2), bias=full, flat, error={close.approximation.error:.3g}"
    assert isinstance(close.approximation, Approximation)


@pytest.mark.parametrize(
    "given", [np.array([2, 3]), [np.int64(2), 3], (2, 3), torch.Size([2, 3]), range(2, 4)], ids=str
)
def test_sizes_and_ranks_are_whole_numbers_of_any_kind(given):
    found = whole_numbers(given)
    assert found == (2, 3) and {type(each) for each in found} == {int}


@pytest.mark.parametrize("given", [[2.0, 3], [True, 3], "23", 4, None], ids=str)
def test_what_is_no_list_of_whole_numbers_is_none(given):
    assert whole_numbers(given) is None


NAN = torch.nn.Linear(6, 6)
NAN.weight.data[1, 2] = math.nan


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: NdLinear((2, 3), (2,)), "in_sizes=(2, 3) and out_sizes=(2,) (2 and 1 modes)"),
        (lambda: NdLinear((), ()), "at least one mode"),
        (lambda: NdLinear((2, 0), (2, 3)), "whole numbers from 1 on"),
        (lambda: NdLinear((2, 3), (2, -3)), "Got in_sizes=(2, 3) and out_sizes=(2, -3)"),
        (lambda: NdLinear((2, 3), (2, 3), rank=0), "a whole number from 1 on. Got rank=0"),
        (lambda: NdLinear((2, 3), (2, 3), bias="ful"), "did you mean full"),
        (lambda: NdLinear((2, 3), (2, 3), init="varience"), "did you mean variance"),
        (lambda: NdLinear((2, 3), (2, 3))(torch.zeros(4, 3, 2)), "must be (2, 3), after any batch axes. Got (4, 3, 2)"),
        (lambda: NdLinear((2, 3), (2, 3))(torch.zeros(3)), "Got (3,)"),
        (lambda: NdLinear((2, 3), (2, 3))(torch.tensor(0.0)), "Got ()"),
        (lambda: NdLinear((2, 3), (2, 3), flat=True)(torch.zeros(2, 3)), "Got (2, 3)"),
        (lambda: NdLinear((2, 3), (2, 3), rank=2).package_state_dict(), "Got rank=2, bias='modes'"),
        (lambda: NdLinear((2, 3), (2, 3), bias="full").package_state_dict(), "Got rank=1, bias='full'"),
        (
            lambda: NdLinear.from_linear(torch.nn.Linear(6, 6), (2, 4), (2, 3)),
            "6 inputs and 6 outputs. Got (2, 4), that is 8",
        ),
        (lambda: NdLinear.from_linear(torch.nn.Linear(6, 6), (6,), (2, 3)), "one output size per mode"),
        (lambda: NdLinear.from_linear(torch.nn.Linear(6, 6), (2, 3), (2, 3), rank=0), "Got rank=0"),
        (lambda: NdLinear.from_linear(NAN, (2, 3), (2, 3)), "must be finite. Got 1 "),
    ],
)
def test_a_misuse_names_rule_and_values(call, text):
    with pytest.raises((errors.ShapeError, errors.ConfigError, errors.DataError)) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("in_sizes=(2, 3.0)", lambda: nn.NdLinear((2, 3.0), (2, 3))),
        ("in_sizes=3", lambda: nn.NdLinear(3, 2)),
        ("one of True, 'modes', 'full', False. Got None", lambda: nn.NdLinear((2, 3), (2, 3), bias=None)),
        ("Got rank=1.5", lambda: nn.NdLinear((2, 3), (2, 3), rank=1.5)),
        ("Got tt_ranks=2.0", lambda: nn.TTLinear((2, 3), (2, 3), tt_ranks=2.0)),
        ("power of two. Got 2.0", lambda: nn.TTLinear.quantized(2.0)),
    ],
)
def test_wrong_types_are_named_too(text, call):
    """Without the shape checks, which would speak first."""
    with shapes.checked(False), pytest.raises(errors.MultiwayError, match=re.escape(text)):
        call()
