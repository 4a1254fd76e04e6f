import pytest
import torch
from torch.nn import functional as F

from multiway import nn, ops
from multiway.errors import ConfigError, DtypeError, ShapeError
from reference.parts import axial_rotary
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
    queries = valid if masked and not crossing else torch.ones(x.shape[:-1], dtype=torch.bool)  # padding asks nothing
    assert_same(found[queries], expected.view_as(x)[queries])
    along = torch.randn(x.shape, generator=generator, dtype=torch.float64) * queries[..., None]
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


@pytest.mark.parametrize("kind", [nn.FullAttention, nn.FullKernelAttention])
@pytest.mark.parametrize("crossing", [False, True])
def test_what_is_in_the_padding_reaches_neither_values_nor_gradients(generator, kind, crossing):
    torch.manual_seed(2)
    layer = kind(DIM, num_heads=HEADS, num_modes=2, dtype=torch.float64)
    x, context = (torch.randn(2, *sizes, DIM, generator=generator, dtype=torch.float64) for sizes in ((5, 7), (3, 11)))
    answering = context if crossing else x
    valid = torch.rand(answering.shape[:-1], generator=generator) > 0.4

    def found(filling):
        filled = torch.where(valid[..., None], answering, filling).requires_grad_()
        given = (x, filled) if crossing else (filled,)
        out = layer(*given, **{"context_valid" if crossing else "valid": valid})
        out = out if crossing else out[valid]
        return out, torch.autograd.grad(out.square().sum(), filled)[0]

    for one, other in zip(found(torch.nan), found(3.0), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("name", ["x", "context"])
def test_a_mask_of_numbers_is_no_mask_of_tokens(name, generator):
    layer, x = nn.FullAttention(DIM, num_heads=HEADS, num_modes=1), torch.randn(2, 5, DIM, generator=generator)
    given = {"valid": torch.ones(2, 5)} if name == "x" else {"context": x, "context_valid": torch.ones(2, 5)}
    with pytest.raises(DtypeError, match=rf"tokens of {name} must be boolean and \(2, 5\), .* Got torch\.float32; "):
        layer(x, **given)


@pytest.mark.parametrize("rotary_modes", [(1,), (0, 1)], ids=str)
def test_rotary_turns_queries_and_keys_by_their_own_positions(rotary_modes, generator):
    """Against torch's attention on pairs turned one by one; a context has positions of its own."""
    torch.manual_seed(2)
    layer = nn.FullAttention(8, num_heads=2, num_modes=2, rotary_modes=rotary_modes, dtype=torch.float64)
    x = torch.randn(2, 5, 3, 8, generator=generator, dtype=torch.float64, requires_grad=True)
    context = torch.randn(2, 2, 7, 8, generator=generator, dtype=torch.float64, requires_grad=True)

    def turned(tokens, weight, bias):
        rows = (tokens @ weight.T + bias).flatten(1, 2).unflatten(-1, (2, 4)).transpose(1, 2)
        heads = [[axial_rotary(head, tokens.shape[1:-1], rotary_modes) for head in sample] for sample in rows]
        return torch.stack([torch.stack(sample) for sample in heads])

    weights, biases = layer.query_key_value.weight.chunk(3), layer.query_key_value.bias.chunk(3)
    query, key = turned(x, weights[0], biases[0]), turned(context, weights[1], biases[1])
    value = (context @ weights[2].T + biases[2]).flatten(1, 2).unflatten(-1, (2, 4)).transpose(1, 2)
    mixed = F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(x.shape)
    found, expected = layer(x, context), layer.out(mixed)
    assert_same(found, expected)
    along = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    for one, other in zip(
        *(torch.autograd.grad(each, (x, context), along, retain_graph=True) for each in (found, expected)), strict=True
    ):
        assert_same(one, other)


def test_only_the_distances_of_tokens_count(generator):
    torch.manual_seed(2)
    layer = nn.FullAttention(8, num_heads=2, num_modes=2, rotary_modes=(0, 1), dtype=torch.float64)
    x = torch.randn(2, 5, 7, 8, generator=generator, dtype=torch.float64)
    valid = torch.zeros(2, 5, 7, dtype=torch.bool)
    valid[:, :3, :5] = True
    moved = layer(x.roll((2, 2), (1, 2)), valid=valid.roll((2, 2), (1, 2))).roll((-2, -2), (1, 2))
    assert_same(moved[valid], layer(x, valid=valid)[valid])
    assert not torch.allclose(layer(x.transpose(1, 2)).transpose(1, 2), layer(x))


def test_one_mode_is_kronecker_attention_of_the_papers_form(generator):
    """Along one mode there is nothing to factorise: the two kinds are the same function."""
    torch.manual_seed(2)
    options = {"num_heads": 2, "num_modes": 1, "rotary_modes": (0,), "dtype": torch.float64}
    full, factorised = nn.FullAttention(8, **options), nn.KroneckerAttention(8, preset="paper", **options)
    with torch.no_grad():
        factorised.query_key[0].weight.copy_(full.query_key_value.weight[:16])
        factorised.query_key[0].bias.copy_(full.query_key_value.bias[:16])
        factorised.value.weight.copy_(full.query_key_value.weight[16:])
        factorised.value.bias.copy_(full.query_key_value.bias[16:])
        factorised.out.load_state_dict(full.out.state_dict())
    x = torch.randn(2, 5, 8, generator=generator, dtype=torch.float64)
    assert_same(full(x), factorised(x))


@pytest.mark.parametrize("size", [1e2, 1e6])
@pytest.mark.parametrize("feature_map", ops.FEATURE_MAPS)
def test_a_kernel_of_large_inputs_does_not_overflow_without_a_norm(feature_map, size, generator):
    torch.manual_seed(2)
    layer = nn.FullKernelAttention(8, num_heads=2, num_modes=2, feature_map=feature_map, qk_norm="none")
    x = (size * torch.randn(2, 5, 7, 8, generator=generator)).requires_grad_()
    valid = torch.rand(2, 5, 7, generator=generator) < 0.7
    for given in (None, valid):
        out = layer(x, valid=given)
        assert out.isfinite().all()
        assert all(grad.isfinite().all() for grad in torch.autograd.grad(out.sum(), [x, *layer.parameters()]))


@pytest.mark.parametrize("feature_map", ["smreg", "positive", "elu"])
def test_the_kernel_has_as_many_features_as_the_factorised_one(feature_map):
    options = {"num_heads": 2, "num_modes": 1, "feature_map": feature_map}
    full, factorised = nn.FullKernelAttention(8, **options), nn.KroneckerAttention(8, **options)
    assert full.projection.shape == factorised.projection.shape


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"rotary_modes": (0, 1), "dim": 6}, ShapeError, "2 rotary modes need an even head size of at least 4"),
        ({"rotary_modes": (2,)}, ShapeError, r"FullAttention: rotary_modes=\(2,\) must lie in 0..1"),
        ({"qk_norm": "rsm"}, ConfigError, "FullAttention: qk_norm='rsm' is not one of none, rms, layer; did you mean"),
    ],
    ids=str,
)
def test_what_cannot_be_built_says_why(options, error, words):
    with pytest.raises(error, match=words):
        nn.FullAttention(**{"dim": 8, "num_heads": 2, "num_modes": 2} | options)
