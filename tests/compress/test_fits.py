"""What a rank costs and loses, against singular values and Kronecker products computed otherwise."""

import itertools

import pytest
import torch
from torch import nn

from multiway.compress.budget import within_error, within_share
from multiway.compress.fits import LowRankSpectrum, RankChoice, fit_of
from multiway.compress.rules import LowRank, NdLinear, TensorTrain
from multiway.nn import LowRankLinear, TTLinear
from multiway.nn import NdLinear as NdLayer
from tolerances import STEPS64, assert_same

RULES = [
    LowRank(),
    NdLinear(),
    TensorTrain(),
    TensorTrain(num_cores=3, in_sizes=(3, 2, 2), out_sizes=(5, 7, 1)),
    NdLinear(in_sizes=(3, 2, 2), out_sizes=(5, 7, 1)),
]


@pytest.fixture
def linear(generator) -> nn.Linear:
    layer = nn.Linear(12, 35, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.normal_(generator=generator)
        layer.bias.normal_(generator=generator)
    return layer


@pytest.mark.parametrize("shape", [(11, 5), (5, 11), (7, 7)], ids=str)
def test_a_spectrum_is_the_best_approximation_of_every_rank(shape, generator):
    matrix = torch.randn(shape, dtype=torch.float64, generator=generator)
    spectrum, values = LowRankSpectrum(matrix), torch.linalg.svdvals(matrix)
    errors = spectrum.errors()
    assert len(errors) == min(shape)
    for rank in range(1, min(shape) + 1):
        left, right = spectrum.factors(rank)
        best = float(values[rank:].norm() / values.norm())
        assert errors[rank - 1] == pytest.approx(best, abs=STEPS64)
        assert float((matrix - left @ right).norm() / matrix.norm()) == pytest.approx(best, abs=STEPS64)
        assert_same(left.norm(dim=0), right.norm(dim=1))


def test_a_spectrum_of_zeros_has_nothing_to_lose():
    spectrum = LowRankSpectrum(torch.zeros(5, 3))
    assert spectrum.errors() == [0.0]
    left, right = spectrum.factors(2)
    assert torch.equal(left @ right, torch.zeros(5, 3, dtype=torch.float64))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_option_keeps_its_promises(rule, linear):
    options = fit_of(rule, linear).options()
    assert [each.parameters for each in options] == sorted(each.parameters for each in options)
    assert all(after.error < before.error for before, after in itertools.pairwise(options))
    for option in options:
        layer = fit_of(rule, linear).build(option.ranks)
        assert sum(each.numel() for each in layer.parameters()) == option.parameters
        assert layer.approximation.error <= option.error + STEPS64
        distance = ((layer.to_linear().weight - linear.weight).norm() / linear.weight.norm()).detach()
        assert float(distance) == pytest.approx(layer.approximation.error, abs=STEPS64)
        assert torch.equal(layer.to_linear().bias, linear.bias)


@pytest.mark.parametrize("rule", [LowRank(), NdLinear(), TensorTrain()], ids=str)
def test_two_factors_promise_exactly_what_they_lose(rule, linear):
    for option in fit_of(rule, linear).options():
        error = fit_of(rule, linear).build(option.ranks).approximation.error
        assert error == pytest.approx(option.error, abs=STEPS64)


@pytest.mark.parametrize("rule", [NdLinear(), TensorTrain(), LowRank()], ids=str)
def test_a_layer_answers_as_its_dense_weight_does(rule, linear, generator):
    layer = fit_of(rule, linear).build((3,))
    x = torch.randn(2, 3, 12, dtype=torch.float64, generator=generator)
    assert_same(layer(x), layer.to_linear()(x))


def test_terms_of_an_ndlinear_are_kronecker_products(linear):
    layer = fit_of(NdLinear(in_sizes=(4, 3), out_sizes=(5, 7)), linear).build((2,))
    kron = sum(torch.kron(left, right) for left, right in zip(*layer.weights, strict=True))
    assert_same(layer.dense_weight(), kron)


def test_a_sum_of_kronecker_products_is_recovered(generator):
    terms = [[torch.randn(size, dtype=torch.float64, generator=generator) for size in ((5, 4), (7, 3))] for _ in "ab"]
    linear = nn.Linear(12, 35, bias=False, dtype=torch.float64)
    linear.weight = nn.Parameter(sum(torch.kron(left, right) for left, right in terms))
    for rule in (NdLinear(in_sizes=(4, 3), out_sizes=(5, 7)), TensorTrain(in_sizes=(4, 3), out_sizes=(5, 7))):
        option = within_error(fit_of(rule, linear).options(), 1e-6)
        assert option.ranks == (2,)
        assert_same(fit_of(rule, linear).build(option.ranks).dense_weight(), linear.weight)


def test_the_layers_are_of_the_rules_kind_and_dtype(linear):
    kinds = {LowRank: LowRankLinear, NdLinear: NdLayer, TensorTrain: TTLinear}
    for rule in RULES:
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            fit = fit_of(rule, linear.to(dtype))
            layer = fit.build(fit.limit_ranks(2))
            assert type(layer) is kinds[type(rule)]
            assert {each.dtype for each in layer.parameters()} == {dtype}


def test_a_fixed_rank_is_lowered_to_what_the_weight_can_use(linear):
    assert fit_of(LowRank(), linear).limit_ranks(99) == (12,)
    assert fit_of(TensorTrain(in_sizes=(4, 3), out_sizes=(5, 7)), linear).limit_ranks(99) == (20,)
    assert fit_of(RULES[3], linear).limit_ranks(4) == (4, 2)


OPTIONS = [RankChoice(10, 0.5, (1,)), RankChoice(20, 0.2, (2,)), RankChoice(30, 0.0, (3,))]


def test_budgets_of_one_layer():
    assert within_error(OPTIONS, 0.2) == OPTIONS[1]
    assert within_error(OPTIONS[:2], 0.1) is None
    assert within_share(OPTIONS, 0.5, 40) == OPTIONS[1]
    assert within_share(OPTIONS, 0.2, 40) is None
