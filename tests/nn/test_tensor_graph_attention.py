"""What graph attention promises besides its equations, which `tests/papers/reference` compares."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from multiway import nn, ops
from multiway.errors import ConfigError, DtypeError, ShapeError
from tolerances import LONG32, ROUNDING32, SUMS32, TOLERANCES, assert_same

FORMS = [("paper", False), ("paper", True), ("normalised", False), ("normalised", True)]  # preset, causal
DIM = 6


def make_layer(**options):
    torch.manual_seed(3)
    settings = {"in_sizes": (2, 3), "num_heads": 2, "damping": 0.7, "dtype": torch.float64}
    return nn.TensorGraphAttention(DIM, **settings | options)


def tokens(*lead, seed=0, dtype=torch.float64):
    return torch.randn(*lead, DIM, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize(("preset", "causal"), FORMS)
@pytest.mark.parametrize("banded", [False, True])
def test_gradients(preset, causal, banded):
    layer = make_layer(preset=preset, causal=causal, banded=banded, lag_tolerance=0.9, bias=True)
    assert not banded or ops.damping_reach(layer.damping, 0.9) < 5
    inputs = [tokens(1, 5).requires_grad_()]
    assert torch.autograd.gradcheck(layer, inputs, eps=ROUNDING32, atol=ROUNDING32)
    if preset == "normalised" and causal:  # one form: second derivatives of all others are tested in tests/ops
        assert torch.autograd.gradgradcheck(layer, inputs, eps=ROUNDING32, atol=ROUNDING32)


@pytest.mark.parametrize("banded", [False, True])
def test_gradients_of_a_learnt_damping(banded):
    layer = make_layer(banded=banded, learn_damping=True, lag_tolerance=0.9)
    x = tokens(1, 7)

    def run(logits):
        return torch.func.functional_call(layer, {"damping_logits": logits}, (x,))

    assert torch.autograd.gradcheck(run, [layer.damping_logits], eps=ROUNDING32, atol=ROUNDING32)


def test_a_learnt_damping_starts_where_it_is_told_and_adds_a_number_for_each_head():
    fixed, learnt = make_layer(damping=0.8), make_layer(damping=0.8, learn_damping=True)
    assert_same(learnt.dampings, torch.full((2,), 0.8, dtype=torch.float64))
    assert sum(map(torch.numel, learnt.parameters())) == sum(map(torch.numel, fixed.parameters())) + 2
    assert_same(learnt(tokens(2, 7)), fixed(tokens(2, 7)))
    assert repr(learnt).splitlines()[1].endswith("causal=False, learn_damping=True")


def test_a_learnt_damping_decides_how_many_lags_count():
    """Banded where all heads forget soon, with the reach of the one that forgets last; dense where one never does."""
    layer, x = make_layer(learn_damping=True), tokens(1, 150)
    for logits, is_banded in (((-2.0, -1.0), True), ((-2.0, 40.0), False)):
        with torch.no_grad():
            layer.damping_logits.copy_(torch.tensor(logits))
        with Largest() as watch:
            out = layer(x)
        assert (watch.numbers < 150**2) == is_banded
        assert_same(out, layer.forward_with_maps(x)[0])


@pytest.mark.parametrize(("preset", "causal"), FORMS)
@pytest.mark.parametrize("length", [7, 70])
def test_padding_changes_nothing(length, preset, causal):
    """Dense and banded, with NaN for padding: real tokens are as they would be alone, padding is zero."""
    layer = make_layer(preset=preset, causal=causal, damping=0.1, bias=True)
    for each in (*layer.keys, *layer.values, layer.out):
        torch.nn.init.normal_(each.bias, generator=torch.Generator().manual_seed(4))
    x = tokens(2, length)
    padded = torch.full((2, length + 5, DIM), float("nan"), dtype=torch.float64)
    padded[0, 5:], padded[1, :-5] = x[0], x[1]  # in front of one, behind the other
    valid = ~padded.isnan().any(-1)
    want, out = layer(x), layer(padded, valid=valid)
    assert_same(out[valid], want.flatten(0, 1))
    assert bool((out[~valid] == 0).all())
    parameters = list(layer.parameters())
    grads = torch.autograd.grad(out.square().sum(), parameters)
    for grad, expected in zip(grads, torch.autograd.grad(want.square().sum(), parameters), strict=True):
        assert_same(grad, expected)
    graph = layer.forward_with_maps(padded, valid=valid)[1]
    edges = valid[:, None, :, None] & valid[:, None, None, :]
    assert bool((graph.masked_select(~edges) == 0).all())


def test_a_gap_keeps_the_distance_across_it():
    layer, x = make_layer(num_heads=1), tokens(1, 7)
    valid = torch.tensor([[True, True, False, False, True, True, True]])
    changed = torch.where(valid[..., None], x, x + 100)
    assert_same(layer(changed, valid=valid), layer(x, valid=valid))
    dense = layer.forward_with_maps(x)[1]
    assert_same(layer.forward_with_maps(x, valid=valid)[1][:, :, 1, 4], dense[:, :, 1, 4])


def test_nothing_valid_is_zero_and_finite():
    layer, x = make_layer(bias=True), tokens(2, 7).requires_grad_()
    out = layer(x, valid=torch.zeros(2, 7, dtype=torch.bool))
    out.sum().backward()
    assert bool((out == 0).all()) and bool((x.grad == 0).all())


@pytest.mark.parametrize("preset", nn.tensor_graph_attention.PRESETS)
@pytest.mark.parametrize("banded", [False, True])
def test_a_causal_layer_does_not_see_the_future(preset, banded):
    layer = make_layer(preset=preset, causal=True, banded=banded, damping=0.1)
    x = tokens(2, 61)
    later = x.clone()
    later[:, 23:] *= -4
    assert_same(layer(later)[:, :23], layer(x)[:, :23])
    assert_same(layer(x[:, :23]), layer(x)[:, :23])
    assert not torch.allclose(layer(later)[:, 23:], layer(x)[:, 23:])
    both = make_layer(preset=preset, banded=banded, damping=0.1)
    assert not torch.allclose(both(later)[:, :23], both(x)[:, :23])


@pytest.mark.parametrize(("preset", "causal"), FORMS)
def test_the_output_is_the_filter_of_the_maps(preset, causal):
    layer, x = make_layer(preset=preset, causal=causal), tokens(2, 7)
    out, graph = layer.forward_with_maps(x)
    value = torch.stack([head(x) for head in layer.values], 1)
    mixed = ops.graph_filter(value, graph, "none" if preset == "paper" else "row" if causal else "symmetric")
    assert_same(out, layer.out(mixed.transpose(1, 2).flatten(-2)))
    assert bool((graph >= 0).all()) and bool((graph.diagonal(dim1=-2, dim2=-1) == 0).all())
    assert not graph.triu().any() if causal else torch.equal(graph, graph.mT)


@pytest.mark.parametrize("lead", [(), (3,), (2, 1, 3), (0,)])
def test_any_leading_axes(lead):
    layer, x = make_layer(), tokens(*lead, 7)
    out, graph = layer.forward_with_maps(x, valid=torch.ones(*lead, 7, dtype=torch.bool))
    assert out.shape == (*lead, 7, DIM) and graph.shape == (*lead, 2, 7, 7)
    assert_same(out.reshape(-1, 7, DIM), layer(x.reshape(-1, 7, DIM)))
    assert_same(make_layer(banded=True)(x), out)


@pytest.mark.parametrize("banded", [False, True])
@pytest.mark.parametrize("length", [0, 1])
def test_nothing_and_one_token(length, banded):
    layer, x = make_layer(num_heads=1, banded=banded), tokens(2, length)
    assert_same(layer(x), layer.values[0](x))


def test_strided_input_is_as_contiguous():
    layer, x = make_layer(), tokens(7, 2).transpose(0, 1)
    assert_same(layer(x), layer(x.contiguous()))


def test_sizes_are_found_or_given():
    quantised = nn.TensorGraphAttention(8, out_dim=32)
    assert quantised.keys[0].in_sizes == (2, 2, 2, 1, 1) and quantised.keys[0].out_sizes == (2, 2, 2, 2, 2)
    assert quantised(torch.zeros(2, 7, 8)).shape == (2, 7, 32)
    given = make_layer(out_dim=35, out_sizes=(5, 7), tt_ranks=3)
    assert given(tokens(2, 7)).shape == (2, 7, 35)
    assert given.out.in_sizes == (10, 7) and [core.shape[0] for core in given.out.cores] == [1, 3]
    assert nn.TensorGraphAttention(1)(torch.ones(1, 3, 1)).shape == (1, 3, 1)


class Largest(TorchDispatchMode):
    """Watch the numbers in the largest tensor."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.numbers = max(self.numbers, out.numel())
        return out


@pytest.mark.parametrize("damping", [0.5, 0.9])
def test_long_sequences_are_filtered_in_blocks_and_short_ones_are_not(damping):
    layer = make_layer(damping=damping, dtype=torch.float32)
    reach = ops.damping_reach(damping, torch.finfo(torch.float32).eps)
    assert reach == {0.5: 23, 0.9: 173}[damping]
    for length in (reach, 5 * reach):
        x = tokens(1, length, dtype=torch.float32).requires_grad_()
        with Largest() as watch:
            out = layer(x)
            out.sum().backward()
        assert (watch.numbers < length**2) == (length > reach)
        torch.testing.assert_close(out, layer.forward_with_maps(x)[0], rtol=SUMS32, atol=ROUNDING32)


def test_a_sample_alone_is_as_in_a_batch():
    layer, x = make_layer(dtype=torch.float32), tokens(3, 7, dtype=torch.float32)
    loud = x.clone()
    loud[1:] *= 20
    assert float((layer(x[:1]) - layer(x)[:1]).abs().max().detach()) <= ROUNDING32
    assert float((layer(loud)[:1] - layer(x)[:1]).abs().max().detach()) <= ROUNDING32


@pytest.mark.parametrize("banded", [False, True])
def test_gradients_of_single_samples_through_vmap(banded):
    layer, x = make_layer(banded=banded), tokens(3, 7)
    parameters = dict(layer.named_parameters())

    def loss(given, sample):
        return torch.func.functional_call(layer, given, (sample,)).square().sum()

    together = torch.func.vmap(torch.func.grad(loss), (None, 0))(parameters, x)
    alone = [torch.func.grad(loss)(parameters, sample) for sample in x]
    for name, each in together.items():
        assert_same(each, torch.stack([one[name] for one in alone]))


def test_saved_and_loaded_is_the_same():
    layer = make_layer()
    torch.manual_seed(99)
    other = nn.TensorGraphAttention(DIM, in_sizes=(2, 3), num_heads=2, damping=0.7, dtype=torch.float64)
    assert not torch.allclose(other(tokens(2, 7)), layer(tokens(2, 7)))
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(tokens(2, 7)), layer(tokens(2, 7)))
    assert "6, num_heads=2, out_dim=6, preset='normalised', damping=0.7, causal=False" in repr(layer)


@pytest.mark.parametrize(("preset", "causal"), FORMS)
def test_low_precision_is_near_float64(preset, causal):
    """Within twice the rounding of the precision, relative to the largest output."""
    layer, x = make_layer(preset=preset, causal=causal), tokens(2, 13)
    want = layer(x)
    scale = float(want.abs().max().detach())
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        out = make_layer(preset=preset, causal=causal).to(dtype)(x.to(dtype))
        assert out.dtype == dtype
        assert float((out.double() - want).abs().max().detach()) <= 2 * TOLERANCES[dtype]["atol"] * scale
    with torch.autocast("cpu", torch.bfloat16):
        cast = make_layer(preset=preset, causal=causal).float()(x.float())
    assert float((cast.double() - want).abs().max().detach()) <= 2 * TOLERANCES[torch.bfloat16]["atol"] * scale


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [1, 13, 96])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_outputs_and_gradients_are_finite(dtype, length, causal):
    """The printed form is a third power of its input: float16 cannot hold it, nor does it have to at scale 1e4."""
    cases = [("normalised", scale) for scale in (1e-4, 1, 30, 1e4)]
    cases += [("paper", scale) for scale in (1e-4, 1, 30) if dtype != torch.float16]
    for preset, scale in cases:
        layer = make_layer(preset=preset, causal=causal, damping=0.5, dtype=dtype)  # 96 tokens are banded in float32
        for offset in (0, 1, 4):
            x = scale * (tokens(2, length, dtype=torch.float32) + offset)
            x = (x.clamp(-1e4, 1e4) if dtype == torch.float16 else x).to(dtype).requires_grad_()
            out = layer(x)
            grads = torch.autograd.grad(out.float().mean(), [x, *layer.parameters()])
            if dtype == torch.float16:  # whose parameter gradients need loss scaling, as everywhere
                grads = grads[:1]
            assert all(torch.isfinite(each).all() for each in (out, *grads)), (preset, scale, offset)


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_keys_learn_at_every_offset(offset):
    layer, x = make_layer(dtype=torch.float32), tokens(2, 50, dtype=torch.float32) + offset
    out, graph = layer.forward_with_maps(x)
    out.mul(tokens(2, 50, seed=2, dtype=torch.float32)).sum().backward()
    assert all(float(core.grad.norm()) > LONG32 for head in layer.keys for core in head.cores)
    assert bool((graph.sum(-1) > 0).float().mean() > 0.9)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: nn.TensorGraphAttention(12), "dim must be a power of two. Got dim=12; give in_sizes and out_sizes"),
        (lambda: nn.TensorGraphAttention(8, out_dim=12), "out_dim must be a power of two. Got out_dim=12; give"),
        (lambda: nn.TensorGraphAttention(0), "dim must be a power of two. Got dim=0"),
        (lambda: nn.TensorGraphAttention(12, in_sizes=(3, 5)), "in_sizes must multiply to dim. Got in_sizes=(3, 5)"),
        (lambda: nn.TensorGraphAttention(12, out_dim=8, in_sizes=(3, 4)), "out_sizes must multiply to out_dim. Got"),
        (lambda: nn.TensorGraphAttention(12, in_sizes=(3, 4), out_sizes=(2, 3, 2)), "(2 and 3 modes)"),
        (lambda: nn.TensorGraphAttention(8, num_heads=0), "at least one head is needed. Got num_heads=0."),
        (lambda: nn.TensorGraphAttention(8, preset="papr"), "is not one of normalised, paper; did you mean paper?"),
        (lambda: nn.TensorGraphAttention(8, damping=1.0), "damping must lie between 0 and 1"),
        (lambda: nn.TensorGraphAttention(8, lag_tolerance=0.0), "Got tolerance=0.0."),
        (lambda: nn.TensorGraphAttention(8, tt_ranks=(2, 2, 2)), "Got tt_ranks=(2, 2, 2)"),
        (lambda: make_layer()(tokens(2, 7)[..., :4]), "x must be (..., length, 6), any leading axes. Got (2, 7, 4)"),
        (lambda: make_layer()(tokens(2, 7).unflatten(-1, (2, 3))), "Got (2, 7, 2, 3); flatten a tensorised embedding."),
        (lambda: make_layer()(tokens(2, 7), valid=torch.ones(2, 6) > 0), "boolean and (2, 7), batch first. Got (2, 6)"),
        (lambda: make_layer()(tokens(2, 7), valid=torch.ones(2, 7)), "Got torch.float32; convert it with .bool()"),
    ],
)  # fmt: skip
def test_a_misuse_names_rule_and_values(call, text):
    with pytest.raises((ShapeError, DtypeError, ConfigError)) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_ensemble_with_dampings_of_their_own_is_its_members():
    layers = [make_layer(learn_damping=True) for _ in range(3)]
    with torch.no_grad():
        for number, layer in enumerate(layers):
            layer.damping_logits.add_(number)
    x = tokens(2, 9)
    parameters, buffers = torch.func.stack_module_state(layers)
    mapped = torch.func.vmap(lambda *given: torch.func.functional_call(layers[0], given, (x,)))(parameters, buffers)
    assert_same(mapped, torch.stack([layer(x) for layer in layers]))
