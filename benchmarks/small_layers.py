"""Layers so small that calling them costs more than computing them, against `nn.Linear` of as many features."""

from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.comparison import Comparison, measure
from multiway import nn as mnn

ROWS, BAR = 64, {"nn.Linear": 0.95}
CASES: dict[str, tuple[int, Callable[[], nn.Module]]] = {
    "NdLinear 64": (64, lambda: mnn.NdLinear((8, 8), (8, 8))),
    "TTLinear 64": (64, lambda: mnn.TTLinear((8, 8), (8, 8), tt_ranks=2)),
    "LowRankLinear 64": (64, lambda: mnn.LowRankLinear(64, 64, rank=4)),
    "NdLinear 256": (256, lambda: mnn.NdLinear((16, 16), (16, 16))),
    "TTLinear 256": (256, lambda: mnn.TTLinear((16, 16), (16, 16), tt_ranks=2)),
    "LowRankLinear 256": (256, lambda: mnn.LowRankLinear(256, 256, rank=4)),
}


class FromRows(nn.Module):
    """A dense layer that takes what the other takes, by a view."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.flatten(1))


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every layer; what they compute is checked by tests."""
    for name, (features, make) in CASES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        layer = make()
        x = torch.randn(ROWS, *(layer.in_sizes if isinstance(layer, mnn.NdLinear) else (features,)))
        dense = FromRows(features) if x.ndim > 2 else nn.Linear(features, features)
        parameters = sum(parameter.numel() for parameter in layer.parameters())
        case = Comparison(
            benchmark="small_layers",
            shape=name,
            facts={"rows": ROWS, "features": features, "parameters": parameters},
            layers={"ours": layer, "nn.Linear": dense},
            x=x,
            flops=0,
            traffic=2 * x.numel(),
            bars={"forward": BAR, "forward+backward": BAR},
        )
        yield from measure(case, repeats)
