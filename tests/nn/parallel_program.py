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
}
FSDP = {
    "graph": (nn.TensorGraphAttention(16), (3, 7, 16)),
    "attention": (nn.KroneckerAttention(8, num_heads=2, num_modes=2), (2, 3, 5, 8)),
    **LAYERS,
}


def results(model, x):
    """Output, and gradients of the input and of the parameters, whole."""
    leaf = x.clone().requires_grad_()
    out = model(leaf)
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    (out.sin() * weights).sum().backward()
    grads = [each.grad.full_tensor() if hasattr(each.grad, "full_tensor") else each.grad for each in model.parameters()]
    return [out.detach(), leaf.grad, *grads]


def compare(name, model, spread, x):
    for left, right in zip(results(spread, x), results(model, x), strict=True):
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12, msg=lambda said: f"{name}: {said}")


def main():
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (2,))
    for name, (layer, shape) in LAYERS.items():
        layer, x = layer.double(), torch.randn(shape, dtype=torch.float64)
        for each in layer.parameters():
            torch_nn.init.normal_(each)
        model = torch_nn.Sequential(copy.deepcopy(layer))
        spread = parallelize_module(copy.deepcopy(model), mesh, parallel_plan(model, 2))
        part = sum(each.to_local().numel() for each in spread.parameters())
        assert part < sum(each.numel() for each in model.parameters()), f"{name}: nothing is split"
        compare(name, model, spread, x)
    for name, (layer, shape) in FSDP.items():
        layer, x = layer.double(), torch.randn(shape, dtype=torch.float64)
        spread = fully_shard(copy.deepcopy(layer), mesh=mesh)
        compare(name, layer, spread, x)
    train = nn.TTLinear((3, 5), (4, 7), tt_ranks=2)
    pair = torch_nn.Sequential(train, torch_nn.Tanh(), torch_nn.Linear(28, 3)).double()
    plan = {"0": OutputParallel(gather=False), "2": RowwiseParallel()}
    compare("pair", pair, parallelize_module(copy.deepcopy(pair), mesh, plan), torch.randn(5, 15, dtype=torch.float64))
    with pytest.raises(ConfigError, match="TTLinear has no mode of outputs that 2 processes divide"):
        parallelize_module(nn.TTLinear((2, 3), (5, 4), tt_ranks=2), mesh, OutputParallel())
    print(torch.distributed.get_rank())
    torch.distributed.destroy_process_group()


main()
