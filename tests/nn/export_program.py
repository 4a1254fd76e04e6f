"""Run by test_export.py in a process of its own, without shape checks: compile and export layers, a line for each.

`python export_program.py FOLDER PAIRS`, the pairs as JSON, each a way (compile, export, onnx) and a layer's name.
"""

import json
import sys
import warnings
from pathlib import Path

import torch
from torch.export import Dim

from multiway import nn

BATCHES = (5, 9)
LENGTHS = (7, 12)
RTOL, ATOL = 1e-4, 1e-5


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
        wanted = [x.grad, *(p.grad.clone() for p in layer.parameters())]
        layer.zero_grad()
        again = x.detach().requires_grad_()
        out = function(again)
        out.square().sum().backward()
        for grad, want in zip([again.grad, *(p.grad for p in layer.parameters())], wanted, strict=True):
            torch.testing.assert_close(grad, want, rtol=RTOL, atol=RTOL)
        return out

    return run


def exported(layer, shape, folder):
    x = sample(shape, 2, 3, 0)
    return torch.export.export(layer, (x,), dynamic_shapes=dynamic(shape)).module()


def in_onnx(layer, shape, folder):
    import onnxruntime

    path = Path(folder) / "layer.onnx"
    x = sample(shape, 2, 3, 0)
    torch.onnx.export(layer, (x,), path, dynamo=True, dynamic_shapes=dynamic(shape), verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda x: torch.from_numpy(session.run(None, {name: x.numpy()})[0])


def check(make, layer, shape, folder):
    """Same as the layer itself at two batches and two lengths."""
    function = make(layer.eval(), shape, folder)
    for batch, length in zip(BATCHES, LENGTHS, strict=True):
        x = sample(shape, batch, length, batch)
        out = function(x.clone())
        torch.testing.assert_close(out, layer(x), rtol=RTOL, atol=ATOL)


def main():
    warnings.simplefilter("ignore")
    folder, pairs = sys.argv[1:]
    known = {name: (layer, shape) for name, layer, shape in layers()}
    for way, name in json.loads(pairs):
        problem = ""
        try:
            check({"compile": compiled, "export": exported, "onnx": in_onnx}[way], *known[name], folder)
        except Exception as error:  # said in the test of this layer
            problem = f"{type(error).__name__}: {error}"[:2000]
        print(json.dumps([way, name, problem]), flush=True)


if __name__ == "__main__":
    main()
