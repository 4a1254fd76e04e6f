"""The paper's algorithm taken literally: against identities that are not ours, and then the layer against it."""

import math

import pytest
import torch

from multiway import nn, ops
from reference import tga
from tolerances import assert_same

SIZES = [((7,), (5,)), ((2, 3), (3, 2)), ((2, 3, 5), (3, 1, 2)), ((2, 2, 2), (2, 2, 2))]  # in, out
FORMS = [("paper", False), ("paper", True), ("normalised", False), ("normalised", True)]  # preset, causal


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def random_cores(ins, outs, tt_rank=2, seed=0):
    ranks = [1, *[tt_rank] * (len(ins) - 1), 1]
    shapes = zip(ranks[:-1], ins, outs, ranks[1:], strict=True)
    return [normal(*shape, seed=seed + place) for place, shape in enumerate(shapes)]


def make_layer(ins, outs, **options):
    torch.manual_seed(3)
    sizes = {"in_sizes": ins, "out_sizes": outs, "out_dim": math.prod(outs), "dtype": torch.float64}
    return nn.TensorGraphAttention(math.prod(ins), **sizes, **options)


def trains(heads):
    return [list(head.cores) for head in heads]


def literal(layer, x):
    """Algorithm 1 with the layer's own parameters, sequence by sequence."""
    done = [
        tga.tensor_graph_attention(
            sequence,
            trains(layer.keys),
            trains(layer.values),
            None if layer.out is None else list(layer.out.cores),
            damping=layer.damping,
            causal=layer.causal,
            by_degree=layer.preset != "paper",
        )
        for sequence in x
    ]
    return torch.stack([out for out, _ in done]), torch.stack([graph for _, graph in done])


@pytest.mark.parametrize(("ins", "outs"), SIZES, ids=str)
def test_the_literal_product_is_a_sum_over_entries(ins, outs):
    """Eq. (2) entry by entry: w_{i₁j₁⋯} = G₁[i₁, j₁] ⋯ G_N[i_N, j_N]."""
    cores, x = random_cores(ins, outs), normal(3, math.prod(ins), seed=9)
    weight = torch.empty(math.prod(ins), math.prod(outs), dtype=torch.float64)
    for row, i in enumerate(torch.cartesian_prod(*map(torch.arange, ins)).reshape(-1, len(ins)).tolist()):
        for column, j in enumerate(torch.cartesian_prod(*map(torch.arange, outs)).reshape(-1, len(outs)).tolist()):
            entry = torch.eye(1, dtype=torch.float64)
            for core, each_i, each_j in zip(cores, i, j, strict=True):
                entry = entry @ core[:, each_i, each_j, :]
            weight[row, column] = entry.squeeze()
    assert_same(tga.tensorised_product(x, cores), x @ weight)


def test_the_literal_product_is_that_of_tensorly():
    tt_matrix = pytest.importorskip("tensorly.tt_matrix")
    tensorly = pytest.importorskip("tensorly")
    ins, outs = (2, 3, 5), (3, 1, 2)
    cores, x = random_cores(ins, outs), normal(3, 30, seed=9)
    with tensorly.backend_context("pytorch", local_threadsafe=True):
        weight = tt_matrix.tt_matrix_to_matrix(cores)
    assert_same(tga.tensorised_product(x, cores), x @ weight)


def test_the_literal_filter_by_hand():
    """Two steps with keys 2 and 3 over one feature: ψ = c / 2 · 6, and c · 6 from the first to the second."""
    x, one = torch.tensor([[2.0], [3.0]]).double(), [torch.ones(1, 1, 1, 1).double()]
    out, graph = tga.tensor_graph_attention(x, [one], [one], damping=0.5)
    assert graph.tolist() == [[[0, 1.5], [1.5, 0]]]
    assert out.tolist() == [[2 + 1.5 * 3], [3 + 1.5 * 2]]
    out, graph = tga.tensor_graph_attention(x, [one], [one], damping=0.5, causal=True)
    assert graph.tolist() == [[[0, 0], [3, 0]]]
    assert out.tolist() == [[2], [3 + 3 * 2]]
    out, _ = tga.tensor_graph_attention(x, [one], [one], damping=0.5, causal=True, by_degree=True)
    assert out.tolist() == [[2], [(3 + 3 * 2) / 4]]


@pytest.mark.parametrize(("preset", "causal"), FORMS)
@pytest.mark.parametrize("num_heads", [1, 3])
@pytest.mark.parametrize(("ins", "outs"), SIZES, ids=str)
def test_the_layer_is_the_papers_forward_and_backward(ins, outs, num_heads, preset, causal):
    layer = make_layer(ins, outs, num_heads=num_heads, preset=preset, causal=causal, damping=0.7)
    x = normal(2, 11, math.prod(ins)).requires_grad_()
    out, graph = layer.forward_with_maps(x)
    want, want_graph = literal(layer, x)
    assert_same(out, want)
    assert_same(graph, want_graph)
    assert_same(layer(x), want)
    wanted = [x, *layer.parameters()]
    cotangent = normal(*out.shape, seed=5)
    for grad, expected in zip(
        torch.autograd.grad(out, wanted, cotangent), torch.autograd.grad(want, wanted, cotangent), strict=True
    ):
        assert_same(grad, expected)


@pytest.mark.parametrize(("preset", "causal"), FORMS)
def test_the_banded_layer_is_the_papers_forward_and_backward(preset, causal):
    options = {"num_heads": 2, "preset": preset, "causal": causal, "damping": 0.1}
    banded, dense = (make_layer((2, 3), (3, 2), banded=form, **options) for form in (True, False))
    x = normal(2, 37, 6).requires_grad_()
    assert ops.damping_reach(0.1, torch.finfo(torch.float64).eps) < 37 / 2
    out, (want, _) = banded(x), literal(dense, x)
    assert_same(out, want)
    cotangent = normal(*out.shape, seed=5)
    (grad,), (expected,) = (torch.autograd.grad(each, x, cotangent) for each in (out, want))
    assert_same(grad, expected)


@pytest.mark.parametrize(("preset", "causal"), FORMS)
def test_each_head_learns_its_own_damping(preset, causal):
    """Values as the literal form with one damping per head, and its gradients through the sigmoid."""
    layer = make_layer((2, 3), (2, 3), num_heads=3, preset=preset, causal=causal, learn_damping=True)
    starts = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)
    with torch.no_grad():
        layer.damping_logits.copy_(starts)
    x, logits = normal(2, 9, 6), starts.clone().requires_grad_()
    want = torch.stack([by_head(layer, sequence, logits.sigmoid()) for sequence in x])
    out = layer(x)
    assert_same(out, want)
    cotangent = normal(*out.shape, seed=5)
    (grad,) = torch.autograd.grad(out, layer.damping_logits, cotangent)
    assert_same(grad, torch.autograd.grad(want, logits, cotangent)[0])


def by_head(layer, x, dampings):
    """Algorithm 1 head by head, each with a damping of its own, and the train that combines them."""
    cores = zip(trains(layer.keys), trains(layer.values), dampings, strict=True)
    options = {"causal": layer.causal, "by_degree": layer.preset != "paper"}
    heads = [tga.tensor_graph_attention(x, [k], [v], damping=c, **options)[0] for k, v, c in cores]
    return tga.tensorised_product(torch.cat(heads, 1), list(layer.out.cores))


@pytest.mark.parametrize("count", range(2, 13))
def test_a_quantised_head_has_32_parameters_per_further_mode(count):
    """Remark 5: 16 (N - 1) for K and as many for V, against 3 · 4^N for dot-product attention."""
    heads = [nn.TensorGraphAttention(2**count, num_heads=1), nn.TensorGraphAttention(2**count, num_heads=3)]
    sizes = [sum(p.numel() for p in [*layer.keys.parameters(), *layer.values.parameters()]) for layer in heads]
    assert sizes == [32 * (count - 1), 3 * 32 * (count - 1)]
    assert sum(p.numel() for p in heads[0].parameters()) == 32 * (count - 1)
    assert sum(p.numel() for p in heads[1].out.parameters()) == 16 * (count - 1) + 2 * 8  # first core: 6 in, not 2


@pytest.mark.parametrize("seed", range(4))
def test_a_deep_stack_of_the_printed_filter_explodes_and_the_default_does_not(seed):
    """Fifty tokens, no norm between: root mean squares 3, 200 to 700, 2e8 to 3e10, inf against 0.4, 0.2, 0.2, 0.2, …"""
    spreads = {}
    for preset in ("paper", "normalised"):
        torch.manual_seed(seed)
        x, spreads[preset] = torch.randn(1, 50, 64), []
        for _ in range(8):
            x = nn.TensorGraphAttention(64, num_heads=4, tt_ranks=8, preset=preset)(x).detach()
            spreads[preset].append(float(x.square().mean().sqrt()))
    printed, default = spreads["paper"], spreads["normalised"]
    assert 2.4 < printed[0] < 3.2 and 150 < printed[1] < 700 and 1e8 < printed[2] < 1e11 and printed[3] == math.inf
    assert 0.35 < default[0] < 0.45 and 0.05 < min(default) < max(default[1:]) < 0.3
