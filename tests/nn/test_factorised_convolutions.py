"""Chains of convolutions against the dense one that they stand for, its weight composed by hand and by tensorly."""

import itertools

import pytest
import tensorly
import torch
from tensorly.decomposition import partial_tucker
from torch import nn

from loops import check_all
from multiway.errors import ConfigError
from multiway.nn import CPConv, TuckerConv
from multiway.nn.factorised import relative_error
from tolerances import LONG64, STEPS64, assert_same

COARSE = 1e-3
"""Where two alternations stop."""
CASES = [
    (nn.Conv1d(5, 7, 3, stride=2, padding=1, dtype=torch.float64), (11,)),
    (nn.Conv2d(5, 7, (3, 2), stride=(1, 2), padding=(2, 1), dilation=(2, 1), dtype=torch.float64), (11, 13)),
    (nn.Conv2d(5, 7, 3, padding="same", padding_mode="circular", bias=False, dtype=torch.float64), (11, 13)),
    (nn.Conv2d(5, 7, 1, stride=2, padding=1, dtype=torch.float64), (11, 13)),
    (nn.Conv3d(5, 7, (1, 3, 2), padding=(0, 1, 1), dtype=torch.float64), (3, 5, 7)),
]


def inputs(dense, sizes, generator):
    return torch.randn(2, dense.in_channels, *sizes, dtype=torch.float64, generator=generator)


def chains(dense):
    pointwise = set(dense.kernel_size) == {1}
    return [TuckerConv.from_convolution(dense, (3,) if pointwise else (2, 3)), CPConv.from_convolution(dense, (3,))]


def composed(layer):
    """The dense weight, entry by entry."""
    first, last = (part.weight.flatten(1) for part in (layer.first, layer.last))
    weight = torch.zeros(layer.out_channels, layer.in_channels, *layer.kernel_size, dtype=torch.float64)
    for place in itertools.product(*map(range, layer.kernel_size)):
        if isinstance(layer, CPConv):
            middle = torch.eye(first.shape[0], dtype=torch.float64)
            for mode, part in enumerate(layer.middle):
                taps = part.weight.squeeze(1)
                middle = (
                    middle * taps[(slice(None), *(place[mode] if each == mode else 0 for each in range(taps.ndim - 1)))]
                )
        else:
            middle = layer.middle[0].weight[(..., *place)] if len(layer.middle) else torch.eye(3, dtype=torch.float64)
        weight[(..., *place)] = last @ middle @ first
    return weight


def test_a_chain_answers_as_the_convolution_that_it_stands_for(generator):
    def check(dense, sizes):
        for layer in chains(dense):
            x = inputs(dense, sizes, generator).requires_grad_()
            twin = x.detach().clone().requires_grad_()
            assert_same(layer.dense_weight(), composed(layer))
            back = layer.to_convolution()
            assert type(back) is type(dense) and back.extra_repr() == dense.extra_repr()
            one, two = layer(x), back(twin)
            assert_same(one, two)
            assert_same(*(torch.autograd.grad(y.square().sum(), each)[0] for y, each in ((one, x), (two, twin))))
            error = relative_error(dense.weight, layer.dense_weight())
            assert layer.approximation.error == pytest.approx(error, abs=STEPS64) and error > 0.05

    check_all(check, CASES)


def test_gradients_of_factors_are_those_of_the_dense_weight(generator):
    dense, sizes = CASES[1]
    for layer in chains(dense):
        x = inputs(dense, sizes, generator)
        options = {name: value for name, value in layer.options.items() if name != "padding_mode"}
        factors = list(layer.parameters())
        twin = nn.functional.conv2d(x, layer.dense_weight(), layer.last.bias, **options)
        ours = torch.autograd.grad(layer(x).square().sum(), factors)
        for first, second in zip(ours, torch.autograd.grad(twin.square().sum(), factors), strict=True):
            assert_same(first, second)


def test_full_ranks_lose_nothing(generator):
    def check(dense, sizes):
        ranks = (5,) if set(dense.kernel_size) == {1} else (5, 7)
        layer = TuckerConv.from_convolution(dense, ranks)
        x = inputs(dense, sizes, generator)
        assert layer.approximation.error < LONG64
        assert_same(layer(x), dense(x))

    check_all(check, CASES)


def test_tucker_loses_what_tensorly_loses():
    dense = CASES[1][0]
    tensorly.set_backend("pytorch")
    try:
        (core, factors), _ = partial_tucker(
            dense.weight.detach(), rank=[3, 2], modes=[0, 1], init="svd", n_iter_max=200
        )
    finally:
        tensorly.set_backend("numpy")
    best = torch.einsum("ab...,oa,ib->oi...", core, *factors)
    ours = TuckerConv.from_convolution(dense, (2, 3)).approximation.error
    assert ours == pytest.approx(relative_error(dense.weight, best), rel=COARSE)


def test_a_sum_of_outer_products_is_recovered(generator):
    u, v, k, m = (torch.randn(size, 2, dtype=torch.float64, generator=generator) for size in (7, 5, 3, 2))
    dense = nn.Conv2d(5, 7, (3, 2), dtype=torch.float64)
    with torch.no_grad():
        dense.weight.copy_(torch.einsum("or,ir,kr,mr->oikm", u, v, k, m))
    assert CPConv.from_convolution(dense, (2,)).approximation.error < 1e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TuckerConv.from_convolution(nn.Conv2d(4, 6, 3), (5, 6)), r"at most the channels, \(4, 6\)"),
        (lambda: TuckerConv.from_convolution(nn.Conv2d(4, 6, 3), (4, 7)), r"Got ranks=\(4, 7\)"),
        (lambda: TuckerConv.from_convolution(nn.Conv2d(4, 6, 1), (5,)), r"at most the channels, \(4,\)"),
        (lambda: TuckerConv(nn.Conv2d(4, 6, 3, groups=2), (2, 2)), "channels in groups are not factorised"),
        (lambda: TuckerConv(nn.Conv2d(4, 6, 3), (2,)), "this kernel takes 2 ranks"),
        (lambda: TuckerConv(nn.Conv2d(4, 6, 1), (2, 2)), "this kernel takes 1 ranks"),
        (lambda: CPConv(nn.Conv2d(4, 6, 3), (0,)), "there is one rank, from 1 on"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
