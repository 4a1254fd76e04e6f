"""Compiled, exported and in ONNX the layers are what they are in Python, at two batches and two lengths."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ATTENTION = ["KroneckerAttention", "KroneckerAttention, max", "KroneckerAttention, learned"]
NAMES = {
    "compile": ["NdLinear", "NdLinear, rank 3 and flat", "TTLinear", *ATTENTION],
    "export": [
        "NdLinear",
        "NdLinear, two leading axes",
        "NdLinear, descending",
        "NdLinear, rank 3 and flat",
        "TTLinear",
        "TTLinear, one core",
        *ATTENTION,
    ],
    "onnx": ["NdLinear, two leading axes", "NdLinear, rank 3 and flat", "TTLinear", *ATTENTION],
}
QUICK = {
    ("compile", "NdLinear, rank 3 and flat"), ("compile", "TTLinear"), ("export", "NdLinear, two leading axes"),
    ("export", "NdLinear, descending"), ("export", "KroneckerAttention"), ("onnx", "NdLinear, two leading axes"),
}  # fmt: skip
"""Enough for every layer and every way; attention is compiled, in all its poolings, beside its other tests."""
PAIRS = [
    pytest.param(way, name, id=f"{way}: {name}", marks=() if (way, name) in QUICK else pytest.mark.slow)
    for way, names in NAMES.items()
    for name in names
]


def has_onnx():
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "onnxscript"))


@pytest.fixture(scope="module")
def problems(request, tmp_path_factory):
    """What went wrong, by way and layer, of those that are run; empty where nothing did."""
    program, folder = Path(__file__).with_name("export_program.py"), tmp_path_factory.mktemp("onnx")
    chosen = [item.callspec.params for item in request.session.items if item.path == request.path]
    pairs = [(pair["way"], pair["name"]) for pair in chosen if pair["way"] != "onnx" or has_onnx()]
    command = [sys.executable, str(program), str(folder), json.dumps(pairs)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    found = {(way, name): problem for way, name, problem in rows}
    assert list(found) == pairs
    return found


@pytest.mark.parametrize(("way", "name"), PAIRS)
def test_a_graph_of_any_batch_and_length_is_the_layer(way, name, problems):
    if way == "onnx" and not has_onnx():
        pytest.skip("onnxruntime or onnxscript absent")
    assert problems[way, name] == ""
