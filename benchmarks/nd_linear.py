"""NdLinear against the `ndlinear` package, the printed algorithm and a dense layer."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.comparison import Comparison, measure, same_answers
from multiway import nn as mnn
from multiway_papers.bench import nd_linear_flops

SHAPES: dict[str, tuple[int, tuple[int, ...], tuple[int, ...]]] = {
    "image expanded": (64, (28, 28, 3), (64, 64, 6)),
    "feature map": (64, (64, 8, 8), (32, 8, 8)),
    "patch to token": (64, (16, 16, 3), (1, 1, 768)),
    "early expansion": (32, (8, 28, 28), (128, 7, 7)),
    "square map": (64, (64, 8, 8), (64, 8, 8)),
    "tokens x features": (32, (197, 64), (197, 64)),
    "small square": (128, (16, 16), (16, 16)),
    "BERT head": (256, (96, 8), (2, 2)),
    "table": (128, (14, 1), (32, 64)),
    "four modes": (64, (4, 4, 4, 4), (4, 4, 4, 4)),
    "one sample": (1, (28, 28, 3), (64, 64, 6)),
    "tiny": (8, (4, 4), (4, 4)),
}
ALWAYS = 0.95
BARS = {
    "image expanded": (2.0, 2.0),
    "feature map": (2.0, 2.0),
    "patch to token": (2.0, 2.0),
    "early expansion": (15.0, 15.0),
}
LARGEST_DENSE = 2**24


class Literal(nn.Module):
    """Algorithm 1 as printed: bring the mode last, flatten, multiply, add the bias, restore."""

    def __init__(self, layer: mnn.NdLinear) -> None:
        super().__init__()
        self.weights, self.biases = layer.weights, layer.biases

    def forward(self, x: Tensor) -> Tensor:
        for mode, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True), start=1):
            moved = x.transpose(mode, -1).contiguous()
            rows = moved.reshape(-1, moved.shape[-1]) @ weight.T + bias
            x = rows.reshape(*moved.shape[:-1], -1).transpose(mode, -1).contiguous()
        return x


class FlatDense(nn.Module):
    """The dense layer that NdLinear stands for, on flattened modes."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.flatten(1))


def peers(in_sizes: tuple[int, ...], out_sizes: tuple[int, ...]) -> dict[str, nn.Module]:
    """Ours and the others, with the same weights where they can have them."""
    ours = mnn.NdLinear(in_sizes, out_sizes, init="package")
    found: dict[str, nn.Module] = {"ours": ours, "literal": Literal(ours)}
    features = math.prod(in_sizes), math.prod(out_sizes)
    if math.prod(features) <= LARGEST_DENSE:
        found["nn.Linear"] = FlatDense(*features)
    try:
        from ndlinear import NdLinear
    except ImportError:
        return found
    package = NdLinear(in_sizes, out_sizes)
    package.load_state_dict(ours.package_state_dict())
    return {**found, "ndlinear": package}


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every shape."""
    for name, (batch, in_sizes, out_sizes) in SHAPES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        layers = peers(in_sizes, out_sizes)
        for peer in layers.keys() - {"ours", "nn.Linear"}:
            same_answers(layers["ours"].double(), layers[peer].double(), torch.randn(2, *in_sizes).double())
        layers = {peer: layer.float() for peer, layer in layers.items()}
        weights = sum(parameter.numel() for parameter in layers["ours"].parameters())
        forward, both = BARS.get(name, (ALWAYS, ALWAYS))
        case = Comparison(
            benchmark="nd_linear",
            shape=name,
            facts={"batch": batch, "in_sizes": list(in_sizes), "out_sizes": list(out_sizes)},
            layers=layers,
            x=torch.randn(batch, *in_sizes),
            flops=batch * nd_linear_flops(in_sizes, out_sizes),
            traffic=batch * (math.prod(in_sizes) + math.prod(out_sizes)) + weights,
            bars={"forward": {"ndlinear": forward}, "forward+backward": {"ndlinear": both}},
        )
        yield from measure(case, repeats)
