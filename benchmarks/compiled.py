"""Layers under `torch.compile(fullgraph=True)` against the same layers called directly."""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.comparison import Comparison, measure, same_answers
from multiway import nn as mnn

BAR = {"eager": 1.0}
Case = tuple[Callable[[], nn.Module], tuple[int, ...]]


def four(make: Callable[[], nn.Module]) -> nn.Module:
    """Layers in a row."""
    return nn.Sequential(*(make() for _ in range(4)))


def nd_linear(into: tuple[int, ...], out: tuple[int, ...], rows: int) -> Case:
    return (lambda: mnn.NdLinear(into, out)), (rows, *into)


def tensor_train(side: int, rank: int, rows: int = 64) -> Case:
    return (lambda: mnn.TTLinear((side, side), (side, side), tt_ranks=rank)), (rows, side**2)


def low_rank(features: int, rank: int, rows: int = 64) -> Case:
    return (lambda: mnn.LowRankLinear(features, features, rank=rank)), (rows, features)


def kronecker(*sizes: int, dim: int = 64) -> Case:
    modes = len(sizes) - 1
    return (lambda: mnn.KroneckerAttention(dim, num_heads=4, num_modes=modes)), (*sizes, dim)


def graph(rows: int, tokens: int, dim: int) -> Case:
    return (lambda: mnn.TensorGraphAttention(dim)), (rows, tokens, dim)


CASES: dict[str, Case] = {
    "NdLinear 8x8": nd_linear((8, 8), (8, 8), 64),
    "NdLinear 16x16": nd_linear((16, 16), (16, 16), 128),
    "NdLinear 32x32": nd_linear((32, 32), (32, 32), 128),
    "NdLinear 64x8x8": nd_linear((64, 8, 8), (32, 8, 8), 64),
    "NdLinear 28x28x3": nd_linear((28, 28, 3), (64, 64, 6), 64),
    "NdLinear 196x768": nd_linear((196, 768), (49, 512), 8),
    "TTLinear 64": tensor_train(8, 2),
    "TTLinear 256": tensor_train(16, 2),
    "TTLinear 1024": tensor_train(32, 8),
    "TTLinear 4096": tensor_train(64, 2),
    "TTLinear 4096, rank 16": tensor_train(64, 16),
    "TTLinear 1024, 2048 rows": tensor_train(32, 8, rows=2048),
    "LowRankLinear 64": low_rank(64, 4),
    "LowRankLinear 256": low_rank(256, 8),
    "LowRankLinear 1024": low_rank(1024, 32),
    "LowRankLinear 4096": low_rank(4096, 64),
    "LowRankLinear 256, 2048 rows": low_rank(256, 8, rows=2048),
    "LowRankLinear 1024, 2048 rows": low_rank(1024, 32, rows=2048),
    "KroneckerAttention 8x8": kronecker(4, 8, 8),
    "KroneckerAttention 7x31": kronecker(8, 7, 31),
    "KroneckerAttention 21x24": kronecker(32, 21, 24, dim=128),
    "KroneckerAttention 88x5": kronecker(16, 88, 5, dim=128),
    "KroneckerAttention 7x7x7": kronecker(8, 7, 7, 7, dim=128),
    "KroneckerAttention 14x14x14": kronecker(4, 14, 14, 14, dim=128),
    "TensorGraphAttention 8": graph(2, 8, 16),
    "TensorGraphAttention 32": graph(16, 32, 64),
    "TensorGraphAttention 128": graph(32, 128, 64),
    "TensorGraphAttention 128, wide": graph(8, 128, 256),
    "TensorGraphAttention 512": graph(4, 512, 256),
    "TensorGraphAttention 2000": graph(1, 2000, 64),
    "four NdLinear 8x8": (lambda: four(lambda: mnn.NdLinear((8, 8), (8, 8))), (64, 8, 8)),
    "four LowRankLinear 64": (lambda: four(lambda: mnn.LowRankLinear(64, 64, rank=4)), (64, 64)),
    "nn.Linear 64": (lambda: nn.Linear(64, 64), (64, 64)),
    "nn.Linear 1024": (lambda: nn.Linear(1024, 1024), (64, 1024)),
    "four nn.Linear 64": (lambda: four(lambda: nn.Linear(64, 64)), (64, 64)),
}
"""Six shapes a layer; dense layers show what a call of a graph costs by itself, four in a row what is left of it."""


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
                benchmark="compiled",
                shape=name,
                facts={"input": list(shape)},
                layers={"compiled": compiled, "eager": layer},
                x=x,
                flops=0,
                traffic=2 * x.numel(),
                bars={"forward": BAR, "forward+backward": BAR},
            ),
            repeats,
        )
