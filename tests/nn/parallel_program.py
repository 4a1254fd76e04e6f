"""Run by two processes: each layer spread over them, against the same layer whole; prints the rank when all agree."""

import copy

import pytest
import torch
from torch import nn as torch_nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module

from multiway import nn
from multiway.errors import ConfigError
from multiway.nn.parallel import OutputParallel, parallel_plan

torch.manual_seed(0)
LAYERS = {
    "modes": (nn.NdLinear((3, 5), (7, 4)), (11, 3, 5)),
    "more axes": (nn.NdLinear((3, 5), (6, 7), rank=2), (2, 3, 3, 5)),
    "full bias": (nn.NdLinear((3, 5, 2), (3, 2, 8), bias="full"), (7, 3, 5, 2)),
    "flat": (nn.NdLinear((3, 5), (4, 7), flat=True), (3, 2, 15)),
    "train": (nn.TTLinear((3, 5), (2, 7), tt_ranks=3), (11, 15)),
    "low rank": (nn.LowRankLinear(15, 14, rank=3, bias=False), (2, 7, 15)),
    "tucker": (nn.TuckerConv(torch_nn.Conv2d(3, 8, (3, 5), padding=1, stride=2), (2, 3)), (3, 3, 9, 7)),
    "tucker of a place": (nn.TuckerConv(torch_nn.Conv1d(3, 8, 1, bias=False), (2,)), (3, 5)),
    "polyadic": (nn.CPConv(torch_nn.Conv3d(3, 4, 3), (5,)), (2, 3, 5, 4, 3)),
    "table": (nn.TTEmbedding(30, (6, 5), tt_ranks=3, padding_idx=7), (2, 9)),
    "attention": (nn.KroneckerAttention(8, num_heads=4, num_modes=2, rotary_modes=(0,)), (2, 3, 5, 8)),
    "paper's": (nn.KroneckerAttention(12, num_heads=2, num_modes=2, preset="paper"), (2, 3, 5, 12)),
    "per mode": (
        nn.KroneckerAttention(12, num_heads=2, num_modes=3, preset="per_mode", feature_map="elu", combine="sum"),
        (2, 3, 2, 5, 12),
    ),
    "weighted": (
        nn.KroneckerAttention(12, num_heads=2, num_modes=2, pooling="learned"),
        (2, 3, 5, 12),
    ),
}
FSDP = {
    "graph": (nn.TensorGraphAttention(16), (3, 7, 16)),
    **LAYERS,
}


def results(model, x):
    """Output, and gradients of the input and of the parameters, whole."""
    leaf = x.clone().requires_grad_(x.is_floating_point())
    out = model(leaf)
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    (out.sin() * weights).sum().backward()
    grads = [each.grad.full_tensor() if hasattr(each.grad, "full_tensor") else each.grad for each in model.parameters()]
    return [out.detach(), *([] if leaf.grad is None else [leaf.grad]), *grads]


def drawn(layer, shape):
    """Ids for a table, numbers for any other layer."""
    return torch.randint(30, shape) if isinstance(layer, nn.TTEmbedding) else torch.randn(shape, dtype=torch.float64)


def compare(name, model, spread, x):
    for left, right in zip(results(spread, x), results(model, x), strict=True):
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12, msg=lambda said: f"{name}: {said}")


def cross(mesh):
    """Attention to a context, padded, with heads spread; gradients of both inputs."""
    layer = nn.KroneckerAttention(12, num_heads=4, num_modes=2).double()
    spread = parallelize_module(copy.deepcopy(layer), mesh, OutputParallel(gather=False))
    x, context = (torch.randn(2, length, 5, 12, dtype=torch.float64) for length in (3, 4))
    valid, found = torch.rand(2, 4, 5) > 0.2, []
    for each in (spread, layer):
        leaves = [x.clone().requires_grad_(), context.clone().requires_grad_()]
        out = each(leaves[0], leaves[1], context_valid=valid)
        found.append([out, *torch.autograd.grad(out.sin().sum(), leaves)])
    for left, right in zip(*found, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)
    assert spread.num_heads == 4


def main():
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (2,))
    for name, (layer, shape) in LAYERS.items():
        layer, x = layer.double(), drawn(layer, shape)
        for each in layer.parameters():
            torch_nn.init.normal_(each)
        model = torch_nn.Sequential(copy.deepcopy(layer))
        spread = parallelize_module(copy.deepcopy(model), mesh, parallel_plan(model, 2))
        part = sum(each.to_local().numel() for each in spread.parameters())
        assert part < sum(each.numel() for each in model.parameters()), f"{name}: nothing is split"
        compare(name, model, spread, x)
    for name, (layer, shape) in FSDP.items():
        layer, x = layer.double(), drawn(layer, shape)
        spread = fully_shard(copy.deepcopy(layer), mesh=mesh)
        compare(name, layer, spread, x)
    train = nn.TTLinear((3, 5), (4, 7), tt_ranks=2)
    pair = torch_nn.Sequential(train, torch_nn.Tanh(), torch_nn.Linear(28, 3)).double()
    plan = {"0": OutputParallel(gather=False), "2": RowwiseParallel()}
    compare("pair", pair, parallelize_module(copy.deepcopy(pair), mesh, plan), torch.randn(5, 15, dtype=torch.float64))
    cross(mesh)
    with pytest.raises(ConfigError, match="TTLinear has no mode of outputs that 2 processes divide"):
        parallelize_module(nn.TTLinear((2, 3), (5, 4), tt_ranks=2), mesh, OutputParallel())
    print(torch.distributed.get_rank())
    torch.distributed.destroy_process_group()


main()
