"""Layers under `torch.compile(fullgraph=True)` against the same layers called directly."""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.comparison import Comparison, measure, same_answers
from multiway import nn as mnn

BAR = {"eager": 1.0}


def four(make: Callable[[], nn.Module]) -> nn.Module:
    """Layers in a row."""
    return nn.Sequential(*(make() for _ in range(4)))


CASES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "NdLinear 8x8": (lambda: mnn.NdLinear((8, 8), (8, 8)), (64, 8, 8)),
    "NdLinear 16x16": (lambda: mnn.NdLinear((16, 16), (16, 16)), (128, 16, 16)),
    "NdLinear 28x28x3": (lambda: mnn.NdLinear((28, 28, 3), (64, 64, 6)), (64, 28, 28, 3)),
    "NdLinear 64x8x8": (lambda: mnn.NdLinear((64, 8, 8), (32, 8, 8)), (64, 64, 8, 8)),
    "TTLinear 64": (lambda: mnn.TTLinear((8, 8), (8, 8), tt_ranks=2), (64, 64)),
    "TTLinear 256": (lambda: mnn.TTLinear((16, 16), (16, 16), tt_ranks=2), (64, 256)),
    "TTLinear 4096": (lambda: mnn.TTLinear((64, 64), (64, 64), tt_ranks=2), (64, 4096)),
    "LowRankLinear 64": (lambda: mnn.LowRankLinear(64, 64, rank=4), (64, 64)),
    "LowRankLinear 1024": (lambda: mnn.LowRankLinear(1024, 1024, rank=32), (64, 1024)),
    "four NdLinear 8x8": (lambda: four(lambda: mnn.NdLinear((8, 8), (8, 8))), (64, 8, 8)),
    "four LowRankLinear 64": (lambda: four(lambda: mnn.LowRankLinear(64, 64, rank=4)), (64, 64)),
    "KroneckerAttention 7x31": (lambda: mnn.KroneckerAttention(64, num_heads=4, num_modes=2), (8, 7, 31, 64)),
    "TensorGraphAttention 32": (lambda: mnn.TensorGraphAttention(64), (16, 32, 64)),
    "nn.Linear 64": (lambda: nn.Linear(64, 64), (64, 64)),
    "four nn.Linear 64": (lambda: four(lambda: nn.Linear(64, 64)), (64, 64)),
}
"""Layers and inputs; dense layers show what a call of a graph costs by itself, four in a row what is left of it."""


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every layer."""
    for name, (make, shape) in CASES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        torch.compiler.reset()
        layer, x = make(), torch.randn(shape)
        compiled = torch.compile(layer, fullgraph=True)
        same_answers(compiled, layer, x)
        yield from measure(
            Comparison(
                benchmark="compiled", shape=name, facts={"input": list(shape)},
                layers={"compiled": compiled, "eager": layer}, x=x, flops=0, traffic=2 * x.numel(),
                bars={"forward": BAR, "forward+backward": BAR},
            ),
            repeats,
        )  # fmt: skip
