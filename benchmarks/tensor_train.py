"""Tensor-train linear layers against dense ones and `tensorly-torch`."""

import math
import warnings
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.comparison import Comparison, measure, same_answers
from multiway import nn as mnn
from multiway_papers.bench import train_flops

BATCH = 64
SHAPES: dict[str, tuple[int, tuple[int, ...], tuple[int, ...], int]] = {
    "64 rank 2": (BATCH, (8, 8), (8, 8), 2),
    "256 rank 2": (BATCH, (16, 16), (16, 16), 2),
    "256 rank 8": (512, (16, 16), (16, 16), 8),
    "1024 rank 2": (BATCH, (32, 32), (32, 32), 2),
    "1024 rank 2, 512 rows": (512, (32, 32), (32, 32), 2),
    "1024 quantised": (BATCH, (2,) * 10, (2,) * 10, 2),
    "1024 rank 8": (BATCH, (32, 32), (32, 32), 8),
    "1024 rank 32": (512, (32, 32), (32, 32), 32),
    "768 to 3072 rank 8": (512, (24, 32), (48, 64), 8),
    "768 to 3072 rank 8, three cores": (512, (8, 8, 12), (12, 16, 16), 8),
    "4096 rank 2": (BATCH, (64, 64), (64, 64), 2),
    "4096 rank 2, four cores": (BATCH, (8, 8, 8, 8), (8, 8, 8, 8), 2),
    "4096 quantised": (BATCH, (2,) * 12, (2,) * 12, 2),
    "4096 rank 8": (BATCH, (64, 64), (64, 64), 8),
}
ALWAYS = {"nn.Linear": 0.85}
BARS = {
    "1024 rank 2": {"nn.Linear": 2.0},
    "1024 rank 2, 512 rows": {"nn.Linear": 2.0},
    "1024 quantised": {"nn.Linear": 2.0},
    "4096 rank 2": {"nn.Linear": 5.0, "tensorly-torch": 5.0},
    "4096 rank 2, four cores": {"nn.Linear": 5.0, "tensorly-torch": 5.0},
    "4096 quantised": {"nn.Linear": 5.0, "tensorly-torch": 5.0},
}


class Chain(nn.Module):
    """Equation 3 of the paper as printed: one contraction per core, over the whole batch."""

    def __init__(self, layer: mnn.TTLinear) -> None:
        super().__init__()
        self.in_sizes, self.cores, self.bias = layer.in_sizes, layer.cores, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        state = x.reshape(len(x), *self.in_sizes).unsqueeze(-1)  # the axis of the rank runs last
        for core in self.cores:
            state = torch.tensordot(state, core, dims=([1, state.ndim - 1], [1, 0]))
        return state.flatten(1) if self.bias is None else state.flatten(1) + self.bias


def peers(in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], rank: int) -> dict[str, nn.Module]:
    """Ours and the others; the chain has our weights, the rest their own."""
    ours = mnn.TTLinear(in_sizes, out_sizes, tt_ranks=rank)
    found: dict[str, nn.Module] = {"ours": ours, "nn.Linear": nn.Linear(math.prod(in_sizes), math.prod(out_sizes))}
    found["chain"] = Chain(ours)
    return {**found, **_tensorly(in_sizes, out_sizes, ours.tt_ranks)}


def _tensorly(in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], ranks: tuple[int, ...]) -> dict[str, nn.Module]:
    """The other library's layer in its two ways, as far as it can be run: many cores exhaust its letters."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from tltorch import FactorizedLinear
    except ImportError:
        return {}
    found = {}
    for name, way in (("tensorly-torch", "factorized"), ("tensorly-torch rebuilt", "reconstructed")):
        layer = FactorizedLinear(
            in_sizes, out_sizes, bias=True, factorization="blocktt", rank=ranks, implementation=way
        )
        try:
            layer(torch.zeros(1, math.prod(in_sizes)))
        except RuntimeError:
            continue
        found[name] = layer
    return found


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every shape."""
    for name, (rows, in_sizes, out_sizes, rank) in SHAPES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        layers = peers(in_sizes, out_sizes, rank)
        ours, x = layers["ours"], torch.randn(rows, math.prod(in_sizes))
        same_answers(ours.double(), layers["chain"].double(), x[:3].double())
        layers = {peer: layer.float() for peer, layer in layers.items()}
        case = Comparison(
            benchmark="tensor_train",
            shape=name,
            facts={"rows": rows, "in_sizes": list(in_sizes), "out_sizes": list(out_sizes), "rank": rank},
            layers=layers,
            x=x,
            flops=rows * train_flops(ours, rows),
            traffic=rows * (math.prod(in_sizes) + math.prod(out_sizes)),
            bars={"forward+backward": {**ALWAYS, **BARS.get(name, {})}},
        )
        yield from measure(case, repeats)
