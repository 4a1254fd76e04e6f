"""Run by test_export.py in a process of its own, without shape checks: compile and export layers, a line for each."""

import contextlib
import json
import os
import warnings
from pathlib import Path

import torch
from torch.export import Dim

from multiway import nn
from multiway.kernels.library import library

BATCHES = (5, 9)
LENGTHS = (7, 12)
RTOL, ATOL = 1e-4, 1e-5
GRAPHS = {
    "dense": {},
    "banded": {"banded": True, "lag_tolerance": 0.3, "causal": True},
    "learnt": {"learn_damping": True},
}


def layers():
    """Name, layer, and the shape of its input with the axes that may vary as names."""
    torch.manual_seed(0)
    nd, tt, attention = nn.NdLinear, nn.TTLinear, nn.KroneckerAttention
    yield "NdLinear", nd((3, 5, 2), (7, 1, 4), init="package"), ("batch", 3, 5, 2)
    yield "NdLinear, two leading axes", nd((2, 8), (16, 3), bias="full"), ("batch", "length", 2, 8)
    yield "NdLinear, descending", nd((13, 13, 3), (4, 6, 5), init="package", descending=True), ("batch", 13, 13, 3)
    yield "NdLinear, rank 3 and flat", nd((3, 5), (2, 4), rank=3, flat=True), ("batch", "length", 15)
    yield "TTLinear", tt((3, 5, 2), (7, 1, 4), tt_ranks=3), ("batch", "length", 30)
    yield "TTLinear, one core", tt((6,), (4,), tt_ranks=1, bias=False), ("batch", 6)
    for name, pooling in {"": None, ", max": "max", ", learned": "learned"}.items():
        layer = attention(8, num_heads=2, num_modes=2, rotary_modes=(1,), pooling=pooling)
        yield "KroneckerAttention" + name, layer, ("batch", 3, "length", 8)
    yield "TTEmbedding", Vectors(nn.TTEmbedding(29, (3, 5), tt_ranks=2, padding_idx=1)), ("batch", "length")
    yield "NdRNN", States(nn.NdRNN((3, 2), (4, 5))), ("batch", 6, 3, 2)
    yield "LowRankLinear", nn.LowRankLinear(15, 28, rank=3), ("batch", "length", 15)
    convolution = torch.nn.Conv2d(3, 5, 3, stride=2, padding=1)
    yield "TuckerConv", nn.TuckerConv(convolution, (2, 4)), ("batch", 3, 7, 8)
    yield "CPConv", nn.CPConv(convolution, (4,)), ("batch", 3, 7, 8)


class Vectors(torch.nn.Module):
    """A table, and as ids what is left of numbers at a division."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        return self.table((100 * x).long().remainder(self.table.num_words))


class States(torch.nn.Module):
    """The states of all steps."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        return self.cell(x)[0]


def sample(shape, batch, length, seed):
    sizes = [{"batch": batch, "length": length}.get(size, size) for size in shape]
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def dynamic(shape):
    return ({axis: Dim(name) for axis, name in enumerate(shape) if isinstance(name, str)},)


def compiled(layer, shape, folder):
    function = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)

    def run(x):
        layer.zero_grad()
        x.requires_grad_()
        layer(x).square().sum().backward()
        expected = [x.grad, *(p.grad.clone() for p in layer.parameters())]
        layer.zero_grad()
        other = x.detach().requires_grad_()
        out = function(other)
        out.square().sum().backward()
        for grad, right in zip([other.grad, *(p.grad for p in layer.parameters())], expected, strict=True):
            torch.testing.assert_close(grad, right, rtol=RTOL, atol=RTOL)
        return out

    return run


def on_default_device(layer, shape, folder):
    """Compiled where torch follows every call to set its device."""
    run = compiled(layer, shape, folder)

    def inside(x):
        with torch.device("cpu"):
            return run(x)

    return inside


def exported(layer, shape, folder):
    x = sample(shape, 2, 3, 0)
    return torch.export.export(layer, (x,), dynamic_shapes=dynamic(shape)).module()


def in_onnx(layer, shape, folder):
    import onnxruntime

    path = folder / "layer.onnx"
    x = sample(shape, 2, 3, 0)
    torch.onnx.export(layer, (x,), path, dynamo=True, dynamic_shapes=dynamic(shape), verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda x: torch.from_numpy(session.run(None, {name: x.numpy()})[0])


WAYS = {"compile": compiled, "default device": on_default_device, "export": exported, "onnx": in_onnx}


def check(way, name, folder):
    """Same as the layer itself at two batches and two lengths."""
    torch.compiler.reset()  # recompilations count over all layers of a class
    if name.startswith("TensorGraphAttention"):
        return check_graph(way, name.split(", ")[1], folder)
    if name == "KroneckerAttention, masked":
        return check_masked()
    layer, shape = next((layer.eval(), shape) for other, layer, shape in layers() if other == name)
    function = WAYS[way](layer, shape, folder)
    for batch, length in zip(BATCHES, LENGTHS, strict=True):
        x = sample(shape, batch, length, batch)
        out = function(x.clone())
        torch.testing.assert_close(out, layer(x), rtol=RTOL, atol=ATOL)


def check_masked():
    """Attention in all its poolings, with and without a mask."""
    torch.manual_seed(0)
    x, valid = torch.randn(2, 3, 5, 8), torch.rand(2, 3, 5) < 0.7
    for pooling in ("mean", "sum", "max", "learned"):
        layer = nn.KroneckerAttention(8, num_heads=2, num_modes=2, rotary_modes=(1,), pooling=pooling)
        function = torch.compile(layer, backend="aot_eager", fullgraph=True)
        if pooling == "mean":
            torch.testing.assert_close(function(x), layer(x))
        torch.testing.assert_close(function(x, valid=valid), layer(x, valid=valid))


def check_graph(way, kind, folder):
    """Attention by a graph, without the kernels, which no graph of torch has: their rounding is another."""
    with without_kernels(), in_double(way != "onnx"):
        torch.manual_seed(0)
        attend = nn.TensorGraphAttention(8, num_heads=2, **GRAPHS[kind]).eval()
        {"compile": graph_compiled, "export": graph_exported, "onnx": graph_in_onnx}[way](attend, kind, folder)


@contextlib.contextmanager
def without_kernels():
    os.environ["MULTIWAY_KERNELS"] = "0"
    library.cache_clear()
    yield
    del os.environ["MULTIWAY_KERNELS"]
    library.cache_clear()


@contextlib.contextmanager
def in_double(wanted):
    if wanted:  # else as the runtime's exponentials are
        torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def tokens(batch, length):
    return torch.randn(batch, length, 8), torch.rand(batch, length) > 0.2


def any_sizes():
    return {name: {0: Dim("batch"), 1: Dim("length")} for name in ("x", "valid")}


def agree(attend, run, sizes=((2, 7), (5, 41), (1, 300))):
    for x, valid in (tokens(*size) for size in sizes):
        torch.testing.assert_close(run(x, valid), attend(x, valid=valid))


def graph_compiled(attend, kind, folder):
    traced = torch.compile(attend, backend="aot_eager", fullgraph=True)
    x, valid = tokens(3, 61)
    parameters = list(attend.parameters())
    outs = (function(x, valid=valid) for function in (traced, attend))
    result, expected = ([out, *torch.autograd.grad(out.square().sum(), parameters)] for out in outs)
    torch.testing.assert_close(result, expected)


def graph_exported(attend, kind, folder):
    x, valid = tokens(3, 61)
    shapes, sizes = (None, {"sizes": [(3, 61)]}) if kind == "banded" else (any_sizes(), {})
    program = torch.export.export(attend, (x,), {"valid": valid}, dynamic_shapes=shapes).module()
    agree(attend, lambda x, valid: program(x, valid=valid), **sizes)


def graph_in_onnx(attend, kind, folder):
    import onnxruntime

    (x, valid), path = tokens(3, 29), folder / "graph.onnx"
    torch.onnx.export(
        attend, (x,), path, kwargs={"valid": valid}, dynamic_shapes=any_sizes(), dynamo=True, verbose=False
    )
    session = onnxruntime.InferenceSession(path)
    agree(attend, lambda x, valid: torch.tensor(session.run(None, {"x": x.numpy(), "valid": valid.numpy()})[0]))


def main(folder: Path, pairs: list[tuple[str, str]], out: Path) -> None:
    """Check layers, each in a way, and write what went wrong with each."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with out.open("w") as file:
        for way, name in pairs:
            problem = ""
            try:
                check(way, name, folder)
            except Exception as error:  # said in the test of this layer
                problem = f"{type(error).__name__}: {error}"[:2000]
            print(json.dumps([way, name, problem]), file=file, flush=True)
