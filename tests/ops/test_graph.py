"""Graph filters: adjacencies by their definition, the banded form against the dense one, and what a wrong call says."""

import functools
import itertools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from multiway import ops
from multiway.errors import ConfigError, ShapeError
from tolerances import ROUNDING32, ROUNDING64, SUMS64, assert_same

KINDS = list(itertools.product((False, True), ops.graph.NORMALISATIONS))  # causal, normalisation


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def dense(key, value, damping, causal, normalisation):
    return ops.graph_filter(value, ops.attention_adjacency(key, damping, causal=causal), normalisation)


def test_time_adjacency_by_hand():
    both = torch.tensor([[0, 0.25, 0.125], [0.25, 0, 0.25], [0.125, 0.25, 0]], dtype=torch.float64)
    past = torch.tensor([[0, 0, 0], [0.5, 0, 0], [0.25, 0.5, 0]], dtype=torch.float64)
    assert_same(ops.time_adjacency(3, 0.5, dtype=torch.float64), both)
    assert_same(ops.time_adjacency(3, 0.5, causal=True, dtype=torch.float64), past)
    assert_same((past + past.T) / 2, both)


def test_content_adjacency_by_hand():
    key = torch.tensor([[1.0, 2.0, 0.0, 2.0], [3.0, 0.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0]], dtype=torch.float64)
    assert_same(ops.content_adjacency(key), torch.tensor([[0, 1.5, 0.5], [1.5, 0, 0], [0.5, 0, 0]]).double())


@pytest.mark.parametrize("causal", [False, True])
def test_attention_adjacency_is_the_product_of_both(causal):
    key = normal(2, 3, 7, 5)
    time = ops.time_adjacency(7, 0.8, causal=causal, dtype=torch.float64)
    assert_same(ops.attention_adjacency(key, 0.8, causal=causal), time * ops.content_adjacency(key))


def test_normalisations_by_hand():
    graph = ops.attention_adjacency(normal(7, 5), 0.8)
    x, eye = normal(7, 3, seed=1), torch.eye(7, dtype=torch.float64)
    degrees = (eye + graph).sum(1)
    assert_same(ops.graph_filter(x, graph), (eye + graph) @ x)
    assert_same(ops.graph_filter(x, graph, "row"), torch.diag(1 / degrees) @ (eye + graph) @ x)
    root = torch.diag(degrees**-0.5)
    assert_same(ops.graph_filter(x, graph, "symmetric"), root @ (eye + graph) @ root @ x)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_filter_divided_by_degrees_does_not_amplify(scale):
    graph = ops.attention_adjacency(scale * normal(31, 5), 0.9)
    eye = torch.eye(31, dtype=torch.float64)
    assert float(torch.linalg.matrix_norm(ops.graph_filter(eye, graph, "symmetric"), 2)) <= 1 + ROUNDING64
    assert_same(ops.graph_filter(eye, graph, "row").sum(1), torch.ones(31, dtype=torch.float64))


@pytest.mark.parametrize(("causal", "normalisation"), KINDS)
@pytest.mark.parametrize("length", [1, 5, 33, 34, 35, 71])
def test_banded_is_dense_forward_and_backward(length, causal, normalisation):
    """A reach of 34 lags at c = 0.35 leaves out what is below rounding; lengths around one and two blocks."""
    reach = ops.damping_reach(0.35, torch.finfo(torch.float64).eps)
    assert reach == 34
    key, value = normal(2, 3, length, 5).requires_grad_(), normal(2, 3, length, 7, seed=1).requires_grad_()
    want = dense(key, value, 0.35, causal, normalisation)
    got = ops.banded_graph_filter(key, value, 0.35, reach=reach, causal=causal, normalisation=normalisation)
    assert_same(got, want)
    cotangent = normal(*want.shape, seed=2)
    for grad, expected in zip(
        torch.autograd.grad(got, (key, value), cotangent),
        torch.autograd.grad(want, (key, value), cotangent),
        strict=True,
    ):
        assert_same(grad, expected)


def test_both_sides_are_looked_at_unless_it_is_said():
    key, value = normal(1, 11, 5), normal(1, 11, 3, seed=1)
    assert_same(ops.banded_graph_filter(key, value, 0.35, reach=34), dense(key, value, 0.35, False, "none"))


@pytest.mark.parametrize(("causal", "normalisation"), KINDS)
def test_a_short_reach_drops_long_lags_and_nothing_else(causal, normalisation):
    """Blocks of 4: entries beyond the next block are zero, all others exact."""
    key, value = normal(1, 11, 5), normal(1, 11, 3, seed=1)
    steps = torch.arange(11)
    near = (steps[:, None] // 4 - steps // 4).abs() <= 1
    assert bool(near[(steps[:, None] - steps).abs() <= 4].all())  # every lag within reach is kept
    graph = ops.attention_adjacency(key, 0.9, causal=causal) * near
    got = ops.banded_graph_filter(key, value, 0.9, reach=4, causal=causal, normalisation=normalisation)
    assert_same(got, ops.graph_filter(value, graph, normalisation))
    assert not torch.allclose(got, dense(key, value, 0.9, causal, normalisation))


@pytest.mark.parametrize("damping", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("tolerance", [1e-3, 1.2e-7, 2.2e-16])
def test_the_lags_left_out_weigh_at_most_the_tolerance(damping, tolerance):
    reach = ops.damping_reach(damping, tolerance)
    beyond = damping ** (reach + 1) / (1 - damping)
    assert beyond <= tolerance * (1 + SUMS64)
    assert reach == 1 or beyond / damping > tolerance * (1 - SUMS64)  # and no lag is kept for nothing


def test_the_lags_that_rounding_leaves_at_the_default_damping():
    assert [ops.damping_reach(0.9, torch.finfo(dtype).eps) for dtype in (torch.float32, torch.float64)] == [173, 363]


class Largest(TorchDispatchMode):
    """Watch the numbers in the largest tensor."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for each in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(each, torch.Tensor):
                self.numbers = max(self.numbers, each.numel())
        return out


@pytest.mark.parametrize("causal", [False, True])
def test_no_square_of_the_length_forward_or_backward(causal):
    largest = []
    for length in (1024, 4096):
        key, value = (normal(1, length, 4, seed=seed).requires_grad_() for seed in (0, 1))
        with Largest() as watch:
            ops.banded_graph_filter(key, value, 0.35, reach=16, causal=causal, normalisation="row").sum().backward()
        largest.append(watch.numbers)
        assert watch.numbers <= 16 * length
    assert largest[1] == 4 * largest[0]


@pytest.mark.parametrize("causal", [False, True])
def test_work_and_saved_memory_are_linear_in_length(causal):
    flops, saved = [], []
    for blocks in (9, 17):  # 8 and 16 pairs of neighbours: the count of pairs doubles, that of blocks nearly
        key, value = (normal(1, 16 * blocks, 4, seed=seed).requires_grad_() for seed in (0, 1))
        bytes_of = {}

        def note(tensor, bytes_of=bytes_of):
            bytes_of[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with FlopCounterMode(display=False) as counter, torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
            out = ops.banded_graph_filter(key, value, 0.35, reach=16, causal=causal, normalisation="row")
            out.sum().backward()
        flops.append(counter.get_total_flops())
        saved.append(sum(bytes_of.values()))
    assert 1.8 < flops[1] / flops[0] <= 2 and 1.8 < saved[1] / saved[0] <= 2


def test_only_the_graph_itself_is_saved_at_full_size():
    key = normal(3, 31, 4).requires_grad_()
    saved = {}

    def note(tensor):
        if tensor.shape[-2:] == (31, 31) and tensor.ndim == 3:
            saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        ops.graph_filter(normal(3, 31, 2), ops.attention_adjacency(key, 0.9), "symmetric")
    assert len(saved) == 1


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("form", [dense, ops.banded_graph_filter])
def test_gradients(form, causal):
    options = {"causal": causal, "normalisation": "row" if causal else "symmetric"}
    options |= {} if form is dense else {"reach": 2}
    inputs = (normal(1, 5, 3).requires_grad_(), normal(1, 5, 2, seed=1).requires_grad_())

    def run(key, value):
        return form(key, value, damping=0.6, **options)

    assert torch.autograd.gradcheck(run, inputs, eps=ROUNDING32, atol=ROUNDING32)
    assert torch.autograd.gradgradcheck(run, inputs, eps=ROUNDING32, atol=ROUNDING32)


@pytest.mark.parametrize("length", [0, 1])
def test_nothing_and_one_step(length):
    key, value = normal(2, length, 3), normal(2, length, 5)
    for normalisation in ops.graph.NORMALISATIONS:
        assert_same(dense(key, value, 0.9, False, normalisation), value)
        assert_same(ops.banded_graph_filter(key, value, 0.9, reach=4, normalisation=normalisation), value)


def test_everything_is_made_on_the_inputs_device():
    key = torch.empty(2, 61, 3, device="meta")
    filtered = dense(key, key, 0.9, True, "row")
    blocks = ops.banded_graph_filter(key, key, 0.9, reach=7, normalisation="symmetric")
    assert filtered.device == blocks.device == ops.content_adjacency(key).device == key.device
    assert filtered.shape == blocks.shape == key.shape


KEY = torch.zeros(2, 5, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ops.time_adjacency(3, 1.0), "time_adjacency: damping must lie between 0 and 1, neither included. Got"),
        (lambda: ops.attention_adjacency(KEY, 0.0), "Got damping=0.0."),
        (lambda: ops.attention_adjacency(KEY, float("nan")), "Got damping=nan."),
        (lambda: ops.banded_graph_filter(KEY, KEY, 1.5, reach=2), "banded_graph_filter: damping must lie between"),
        (lambda: ops.banded_graph_filter(KEY, KEY, 0.5, reach=0), "at least one lag must count. Got reach=0."),
        (
            lambda: ops.banded_graph_filter(KEY, KEY[:, :4], 0.5, reach=1),
            "the same batch and length. Got key (2, 5, 3)",
        ),
        *(
            (functools.partial(ops.graph_attention, torch.zeros(2, length, 3), value, 0.5), f"Got key (2, {length}, 3)")
            for length in (5, 40, 2000)
            for value in (torch.zeros(2, length + 10, 3), torch.zeros(length, 3))
        ),
        (
            lambda: ops.strip_graph_filter(torch.zeros(2, 3, 40, 3), torch.zeros(3, 2, 40, 3), 0.5),
            "strip_graph_filter: keys and values need the same batch and length",
        ),
        (lambda: ops.graph_filter(KEY, torch.zeros(2, 4, 4)), "must be (5, 5), as x has 5 vertices. Got x (2, 5, 3)"),
        (lambda: ops.graph_filter(KEY, torch.zeros(2, 5, 5), "rows"), "is not one of none, symmetric, row; did you"),
        (lambda: ops.damping_reach(1.0, 0.1), "damping_reach: damping must lie"),
        (
            lambda: ops.damping_reach(0.9, 0.0),
            "tolerance must lie between 0 and 1, neither included. Got tolerance=0.0",
        ),
    ],
)
def test_a_misuse_names_rule_and_values(call, text):
    with pytest.raises((ShapeError, ConfigError)) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
