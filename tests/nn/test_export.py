"""Compiled, exported and in ONNX the layers are what they are in Python, at two batches and two lengths."""

import importlib.util
import json

import pytest

import children
from nn import export_program

ATTENTION = ["KroneckerAttention", "KroneckerAttention, max", "KroneckerAttention, learned"]
GRAPHS = [f"TensorGraphAttention, {kind}" for kind in export_program.GRAPHS]
OTHERS = ["TTEmbedding", "NdRNN", "LowRankLinear", "TuckerConv", "CPConv"]
NAMES = {
    "compile": [
        "NdLinear",
        "NdLinear, rank 3 and flat",
        "TTLinear",
        *ATTENTION,
        "KroneckerAttention, masked",
        *GRAPHS,
        *OTHERS,
    ],
    "default device": ["NdLinear", "NdLinear, rank 3 and flat", "TTLinear", *ATTENTION, *OTHERS],
    "export": [
        "NdLinear",
        "NdLinear, two leading axes",
        "NdLinear, descending",
        "NdLinear, rank 3 and flat",
        "TTLinear",
        "TTLinear, one core",
        *ATTENTION,
        *GRAPHS,
        *OTHERS,
    ],
    "onnx": ["NdLinear, two leading axes", "NdLinear, rank 3 and flat", "TTLinear", *ATTENTION, GRAPHS[0]],
}
QUICK = {"NdLinear, two leading axes", "KroneckerAttention", GRAPHS[0]}
"""Those that are exported in the fast suite; a compiler or ONNX takes some ten seconds."""
PAIRS = [
    pytest.param(way, name, id=f"{way}: {name}", marks=() if way == "export" and name in QUICK else pytest.mark.slow)
    for way, names in NAMES.items()
    for name in names
]


def has_onnx():
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "onnxscript"))


@pytest.fixture(scope="module")
def problems(request, tmp_path_factory):
    """What went wrong, by way and layer, of those that are run; empty where nothing did."""
    folder = tmp_path_factory.mktemp("onnx")
    chosen = [item.callspec.params for item in request.session.items if item.path == request.path]
    pairs = [(pair["way"], pair["name"]) for pair in chosen if pair["way"] != "onnx" or has_onnx()]
    child = children.start(export_program.main, folder, pairs, folder / "rows.jsonl")
    child.join()
    rows = map(json.loads, (folder / "rows.jsonl").read_text().splitlines())
    problems = {(way, name): problem for way, name, problem in rows}
    assert list(problems) == pairs
    return problems


@pytest.mark.parametrize(("way", "name"), PAIRS)
def test_a_graph_of_any_batch_and_length_is_the_layer(way, name, problems):
    if way == "onnx" and not has_onnx():
        pytest.skip("onnxruntime or onnxscript absent")
    assert problems[way, name] == ""
