import math

import pytest
import torch

from multiway import nn, ops
from tolerances import assert_same

COUNT = 200_003


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_as_many_are_dropped_as_should_be_and_the_mean_stays(p):
    torch.manual_seed(3)
    out = ops.dropout(torch.ones(COUNT, dtype=torch.float64), p)
    share = (out == 0).double().mean().item()
    assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / COUNT)
    assert out.unique().numel() == 2
    assert out.max().item() == pytest.approx(1 / (1 - p), rel=1e-4 * p / (1 - p) + 1e-4)
    assert abs(out.mean().item() - 1) < 4 * math.sqrt(p / (1 - p) / COUNT)


def test_neighbours_are_dropped_independently():
    """Four numbers come from one draw of 64 bits; knowing one says nothing of those up to eight places on."""
    torch.manual_seed(5)
    kept = (ops.dropout(torch.ones(COUNT), 0.3) != 0).double()
    centred = (kept - kept.mean()) / kept.std()
    for lag in range(1, 9):
        correlation = (centred[lag:] * centred[:-lag]).mean().item()
        assert abs(correlation) < 4 / math.sqrt(COUNT), lag


def test_the_gradient_passes_where_the_number_passed(generator):
    x = torch.randn(3, 5, 7, generator=generator, dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    out = ops.dropout(x, 0.4)
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert_same(grad * x, out)
    assert 0 < int((grad == 0).sum()) < x.numel()


def test_derivatives_are_those_of_a_product(generator):
    x = torch.randn(3, 5, generator=generator, dtype=torch.float64, requires_grad=True)

    def drop(values):
        torch.manual_seed(2)
        return ops.dropout(values, 0.3) ** 2

    assert torch.autograd.gradcheck(drop, x)
    assert torch.autograd.gradgradcheck(drop, x)


def test_the_same_seed_drops_the_same_and_the_next_call_others():
    x = torch.ones(1000)
    torch.manual_seed(7)
    first, second = ops.dropout(x, 0.5), ops.dropout(x, 0.5)
    torch.manual_seed(7)
    assert torch.equal(ops.dropout(x, 0.5), first)
    assert not torch.equal(first, second)


@pytest.mark.parametrize(("p", "training"), [(0.5, False), (0.0, True)])
def test_nothing_is_dropped_in_evaluation_or_at_zero(p, training):
    x = torch.ones(11)
    assert ops.dropout(x, p, training) is x


def test_everything_is_dropped_at_one():
    assert not ops.dropout(torch.ones(11), 1.0).any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_the_type_stays(dtype):
    assert ops.dropout(torch.ones(11, dtype=dtype), 0.5).dtype == dtype


def test_less_is_kept_for_the_backward_pass():
    x, kept = torch.ones(1000, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.nbytes) or t, lambda t: t):
        ops.dropout(x, 0.5)
    assert sum(kept) == 1000


def test_the_layer_is_torch_s_in_all_but_the_draws():
    layer = nn.Dropout(0.25)
    assert isinstance(layer, torch.nn.Dropout)
    assert (layer(torch.ones(1000)) == 0).any()
    assert torch.equal(layer.eval()(torch.ones(9)), torch.ones(9))


def test_vmap_takes_it():
    out = torch.vmap(lambda row: ops.dropout(row, 0.5), randomness="different")(torch.ones(4, 100))
    assert {0.0, 2.0} == set(out.unique().tolist())
