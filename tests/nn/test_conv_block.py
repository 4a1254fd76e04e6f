import pytest
import torch
from torch.nn import functional as F

from multiway import nn
from multiway.errors import ShapeError
from tolerances import assert_same

CONVOLVE = {2: F.conv2d, 3: F.conv3d}


@pytest.mark.parametrize(("num_modes", "sizes"), [(2, (5, 7)), (3, (5, 7, 3))], ids=str)
@pytest.mark.parametrize("out_channels", [6, 10])
def test_a_block_is_its_formula(generator, num_modes, sizes, out_channels):
    block = nn.ConvBlock(6, out_channels, num_modes=num_modes, hidden_channels=9).double()
    for parameter in block.parameters():  # away from ones and zeros, so that every norm matters
        torch.nn.init.normal_(parameter, generator=generator)
    x = torch.randn(2, 6, *sizes, generator=generator, dtype=torch.float64, requires_grad=True)
    state, convolve = dict(block.named_parameters()), CONVOLVE[num_modes]
    hidden = convolve(x, state["first.weight"], padding=1)
    hidden = F.gelu(F.group_norm(hidden, 3, state["first_norm.weight"], state["first_norm.bias"]))
    hidden = convolve(hidden, state["second.weight"], padding=1)
    groups = {6: 6, 10: 5}[out_channels]
    hidden = F.group_norm(hidden, groups, state["second_norm.weight"], state["second_norm.bias"])
    shortcut = x if out_channels == 6 else convolve(x, state["shortcut.weight"])
    expected = F.gelu(hidden + shortcut)
    out = block(x)
    assert_same(out, expected)
    leaves = [x, *block.parameters()]
    cotangent = torch.randn(out.shape, generator=generator, dtype=torch.float64)
    for ours, literal in zip(
        torch.autograd.grad(out, leaves, cotangent), torch.autograd.grad(expected, leaves, cotangent), strict=True
    ):
        assert_same(ours, literal)


def test_groups_are_the_most_that_divide_and_at_most_eight():
    assert [nn.make_group_norm(channels).num_groups for channels in (1, 6, 7, 11, 12, 16, 33)] == [1, 6, 7, 1, 6, 8, 3]


def test_another_number_of_modes_is_refused():
    with pytest.raises(ShapeError, match=r"forms for 2 and 3 modes\. Got num_modes=4"):
        nn.ConvBlock(2, 2, num_modes=4)
