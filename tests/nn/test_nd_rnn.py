"""The recurrent layer of mode-wise maps: against the cell written out, and torch's own where steps have one axis."""

import pytest
import torch

from multiway.errors import ShapeError
from multiway.nn import NdRNN
from reference import ndlinear
from tolerances import assert_same

SIZES = [((5,), (3,)), ((3, 2), (5, 7)), ((2, 1, 3), (3, 5, 2))]


def gradients(out, inputs, cotangent):
    return torch.autograd.grad((out * cotangent).sum(), inputs)


def maps(layer):
    return [(list(each.weights), list(each.biases)) for each in (layer.from_step, layer.from_state)]


@pytest.mark.parametrize(("in_sizes", "hidden_sizes"), SIZES, ids=str)
def test_the_layer_is_the_cell_step_by_step_forward_and_backward(in_sizes, hidden_sizes, generator):
    layer = NdRNN(in_sizes, hidden_sizes, init="package", dtype=torch.float64)
    steps = torch.randn(2, 7, *in_sizes, generator=generator, dtype=torch.float64, requires_grad=True)
    (states, last), wanted = layer(steps), ndlinear.nd_rnn(steps, *maps(layer))
    assert_same(states, wanted)
    assert_same(last, wanted[:, -1])
    cotangent = torch.randn(states.shape, generator=generator, dtype=torch.float64)
    inputs = [steps, *layer.parameters()]
    for grad, wanted_grad in zip(
        gradients(states, inputs, cotangent), gradients(wanted, inputs, cotangent), strict=True
    ):
        assert_same(grad, wanted_grad)


def test_with_one_mode_it_is_torchs_forward_and_backward(generator):
    theirs = torch.nn.RNN(5, 3, batch_first=True, dtype=torch.float64)
    ours = NdRNN((5,), (3,), dtype=torch.float64)
    pairs = [
        (ours.from_step.weights[0], theirs.weight_ih_l0),
        (ours.from_step.biases[0], theirs.bias_ih_l0),
        (ours.from_state.weights[0], theirs.weight_hh_l0),
        (ours.from_state.biases[0], theirs.bias_hh_l0),
    ]
    with torch.no_grad():
        for mine, other in pairs:
            mine.copy_(other)
    steps = torch.randn(2, 7, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    start = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    (states, last), (wanted, wanted_last) = ours(steps, start), theirs(steps, start[None])
    assert_same(states, wanted)
    assert_same(last, wanted_last[0])
    cotangent = torch.randn(states.shape, generator=generator, dtype=torch.float64)
    own, other = ([steps, *(pair[side] for pair in pairs)] for side in (0, 1))
    for grad, wanted_grad in zip(gradients(states, own, cotangent), gradients(wanted, other, cotangent), strict=True):
        assert_same(grad, wanted_grad)


def test_a_state_goes_on_where_another_call_stopped(generator):
    layer = NdRNN((3, 2), (5, 7), dtype=torch.float64)
    steps = torch.randn(2, 7, 3, 2, generator=generator, dtype=torch.float64)
    whole, (first, state) = layer(steps)[0], layer(steps[:, :4])
    assert_same(torch.cat([first, layer(steps[:, 4:], state)[0]], 1), whole)


def test_without_biases_zeros_stay_zeros():
    layer = NdRNN((3, 2), (5, 7), bias=False)
    assert not layer(torch.zeros(2, 4, 3, 2))[0].any()
    assert sum(each.numel() for each in layer.parameters()) == 3 * 5 + 2 * 7 + 5 * 5 + 7 * 7


@pytest.mark.parametrize("shape", [(2, 7, 2, 3), (2, 0, 3, 2), (7, 3)])
def test_steps_of_other_sizes_are_refused(shape):
    with pytest.raises(ShapeError, match=r"steps must be \(batch, time, 3, 2\) with at least one step"):
        NdRNN((3, 2), (5, 7))(torch.zeros(shape))


def test_a_state_of_another_size_is_refused():
    with pytest.raises(ShapeError, match=r"the state must be \(2, 5, 7\). Got \(2, 7, 5\)"):
        NdRNN((3, 2), (5, 7))(torch.zeros(2, 4, 3, 2), torch.zeros(2, 7, 5))
