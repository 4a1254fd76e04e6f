import pytest
import torch

from multiway import nn
from tolerances import assert_same

DIM, HEADS = 6, 3


def torchs_own(ours: nn.FullAttention) -> torch.nn.MultiheadAttention:
    """`torch.nn.MultiheadAttention` with the same weights."""
    other = torch.nn.MultiheadAttention(DIM, HEADS, batch_first=True, dtype=torch.float64).eval()
    with torch.no_grad():
        other.in_proj_weight.copy_(ours.query_key_value.weight)
        other.in_proj_bias.copy_(ours.query_key_value.bias)
        other.out_proj.load_state_dict(ours.out.state_dict())
    return other


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("crossing", [False, True])
def test_full_attention_is_torchs_own_over_all_tokens(generator, crossing, masked):
    torch.manual_seed(2)
    ours = nn.FullAttention(DIM, num_heads=HEADS, num_modes=2, dtype=torch.float64)
    x = torch.randn(2, 5, 7, DIM, generator=generator, dtype=torch.float64, requires_grad=True)
    context = torch.randn(2, 3, 11, DIM, generator=generator, dtype=torch.float64, requires_grad=True)
    answering = context if crossing else x
    valid = torch.rand(answering.shape[:-1], generator=generator) > 0.4
    given = {("context_valid" if crossing else "valid"): valid} if masked else {}
    found = ours(x, context, **given) if crossing else ours(x, **given)
    flat = answering.flatten(1, 2)
    expected, _ = torchs_own(ours)(x.flatten(1, 2), flat, flat, key_padding_mask=~valid.flatten(1) if masked else None)
    assert_same(found, expected.view_as(x))
    along = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    gradients = [
        torch.autograd.grad((each.view_as(x) * along).sum(), (x, answering)[: 1 + crossing], retain_graph=True)
        for each in (found, expected)
    ]
    for one, other in zip(*gradients, strict=True):
        assert_same(one, other)


def test_the_padding_of_the_askers_says_nothing_of_who_answers(generator):
    torch.manual_seed(2)
    ours = nn.FullAttention(DIM, num_heads=HEADS, num_modes=1, dtype=torch.float64)
    x, context = (torch.randn(2, size, DIM, generator=generator, dtype=torch.float64) for size in (5, 7))
    valid = torch.tensor([[True, False, True, False, True]] * 2)
    assert_same(ours(x, context, valid=valid), ours(x, context))
