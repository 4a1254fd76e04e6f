"""Graph attention outside of eager mode: compiled, exported, in another runtime, at batches and lengths not seen."""

import importlib.util
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import torch
from multiway import nn

OPTIONS = {"dense": {}, "banded": {"banded": True, "lag_tolerance": 0.3, "causal": True}}
SHAPES = {name: {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")} for name in ("x", "valid")}
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

def layer(kind):
    return nn.TensorGraphAttention(8, num_heads=2, **OPTIONS[kind]).eval()

def tokens(batch, length):
    return torch.randn(batch, length, 8), torch.rand(batch, length) > 0.2

def agree(attend, run, sizes=((2, 7), (5, 41), (1, 300))):
    for x, valid in (tokens(*size) for size in sizes):
        torch.testing.assert_close(run(x, valid), attend(x, valid=valid))

def compiled(kind):
    attend = layer(kind)
    traced = torch.compile(attend, backend="aot_eager", fullgraph=True)
    x, valid = tokens(3, 61)
    parameters = list(attend.parameters())
    got, want = ([out, *torch.autograd.grad(out.square().sum(), parameters)]
                 for out in (each(x, valid=valid) for each in (traced, attend)))
    torch.testing.assert_close(got, want)

def exported(kind):
    attend = layer(kind)
    x, valid = tokens(3, 61)
    shapes = None if kind == "banded" else SHAPES
    program = torch.export.export(attend, (x,), {"valid": valid}, dynamic_shapes=shapes).module()
    agree(attend, lambda x, valid: program(x, valid=valid), **({"sizes": [(3, 61)]} if kind == "banded" else {}))

def onnx(kind):
    import onnxruntime
    torch.set_default_dtype(torch.float32)  # the runtime's exponentials are
    attend = layer(kind)
    x, valid = tokens(3, 29)
    torch.onnx.export(
        attend, (x,), sys.argv[1], kwargs={"valid": valid}, dynamic_shapes=SHAPES, dynamo=True, verbose=False
    )
    session = onnxruntime.InferenceSession(sys.argv[1])
    agree(attend, lambda x, valid: torch.tensor(session.run(None, {"x": x.numpy(), "valid": valid.numpy()})[0]))

for check in sys.argv[2:]:
    way, kind = check.split("-")
    globals()[way](kind)
    print(check, flush=True)
"""

CHECKS = ["compiled-dense", "compiled-banded", "exported-dense", "exported-banded", "onnx-dense"]
QUICK = {"exported-dense"}


@pytest.fixture(scope="module")
def outcome(request, tmp_path_factory):
    """All checks that are run, in one process without the shape checks, which tracing cannot follow, and without the
    kernels, which no graph has: their rounding is another."""
    installed = all(importlib.util.find_spec(name) for name in ("onnxscript", "onnxruntime"))
    chosen = [item.callspec.params["check"] for item in request.session.items if item.path == request.path]
    checks = [check for check in chosen if installed or not check.startswith("onnx")]
    words = [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("onnx") / "model.onnx"), *checks]
    ops_only = {**os.environ, "MULTIWAY_KERNELS": "0"}
    return subprocess.run(words, env=ops_only, capture_output=True, text=True)


@pytest.mark.parametrize(
    "check", [pytest.param(check, marks=() if check in QUICK else pytest.mark.slow) for check in CHECKS]
)
def test_another_mode_agrees_with_eager(check, outcome):
    if check.startswith("onnx"):
        pytest.importorskip("onnxscript")
        pytest.importorskip("onnxruntime")
    assert check in outcome.stdout.split(), outcome.stderr[-2000:]
