"""Every fast path beside its plain twin: the same values and gradients, and nothing fast where the gate is closed."""

import pytest
import torch

from multiway import ops
from multiway.kernels import gate
from tolerances import TOLERANCES


def masked(logits):
    mask = torch.ones(logits.shape[-2:], dtype=torch.bool).tril()
    mask[1] = False
    return ops.masked_softmax(logits, mask)


TWINS = {
    "masked_softmax": (ops.masked_softmax, [(2, 3, 5, 7)]),
    "masked_softmax, a row hidden": (masked, [(2, 3, 5, 7)]),
    "gated": (ops.gated, [(3, 5, 14)]),
    "rms_norm": (lambda x, weight: ops.rms_norm(x, weight, 1e-6), [(3, 5, 7), (7,)]),
    "strip_graph_filter": (
        lambda key, value: ops.strip_graph_filter(key, value, 0.8, normalisation="symmetric"),
        [(2, 3, 150, 5), (2, 3, 150, 7)],
    ),
    "project_and_pool": (
        lambda x, weight: torch.cat([part.flatten() for part in _parts(ops.project_and_pool(x, weight))]),
        [(2, 3, 5, 7), (11, 7)],
    ),
}


def _parts(pooled):
    values, sums = pooled
    return [values, *(total for total, _ in sums)]


def results(function, leaves):
    out = function(*leaves)
    cotangent = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    return [out, *torch.autograd.grad(out, leaves, cotangent)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", TWINS)
def test_twins_agree(name, dtype, generator, monkeypatch):
    function, shapes = TWINS[name]
    leaves = [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]
    fast = results(function, leaves)
    monkeypatch.setattr(gate, "is_open", lambda *tensors, **options: False)
    plain = results(function, leaves)
    for ours, theirs in zip(fast, plain, strict=True):
        torch.testing.assert_close(ours, theirs, **TOLERANCES[dtype])


def test_where_the_gate_is_closed(monkeypatch):
    x = torch.ones(2)
    assert gate.is_open(x) and gate.is_open(x, cpu=True, autocast=False)
    assert not gate.is_open(x.to("meta"), cpu=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert gate.is_open(x) and not gate.is_open(x, autocast=False)
    seen = []
    torch.func.vmap(lambda row: (seen.append(gate.is_open(row)), row)[1])(x)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert seen == [False] and not gate.is_open(x) and gate.in_graph()
