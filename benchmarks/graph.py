"""Graph attention against its printed algorithm, its dense form on long sequences, and ordinary attention."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.comparison import PASSES, Comparison, measure, same_answers
from benchmarks.tensor_train import Chain
from multiway import nn as mnn

SHAPES = {
    "sentence 64 x 50 x 64": (64, 50, 64),
    "text 32 x 128 x 256": (32, 128, 256),
    "text 8 x 512 x 256": (8, 512, 256),
    "long 1 x 2000 x 64": (1, 2000, 64),
    "longer 1 x 8000 x 64": (1, 8000, 64),
    "tiny 2 x 8 x 16": (2, 8, 16),
}
HEADS = 2
BARS = {"full attention": 1.0}
"""As fast as full attention where a text has some hundred tokens."""


class Literal(nn.Module):
    """Algorithm 1 as printed, head by head: keys and values core by core, Θ, its diagonal out, times Ω, plus I."""

    def __init__(self, layer: mnn.TensorGraphAttention) -> None:
        super().__init__()
        self.keys, self.values = (nn.ModuleList(map(Chain, heads)) for heads in (layer.keys, layer.values))
        self.damping, self.out = layer.damping, Chain(layer.out)

    def forward(self, x: Tensor) -> Tensor:
        steps = torch.arange(x.shape[1])
        lags = (steps[:, None] - steps).abs()
        time = torch.where(lags > 0, self.damping ** lags.to(x.dtype) / 2, 0)
        eye, flat = torch.eye(x.shape[1], dtype=x.dtype), x.flatten(0, 1)
        heads = []
        for make_key, make_value in zip(self.keys, self.values, strict=True):
            key, value = (make(flat).view(*x.shape[:2], -1) for make in (make_key, make_value))
            content = (key @ key.mT / math.sqrt(key.shape[-1])).relu()
            content = content - torch.diag_embed(content.diagonal(dim1=1, dim2=2))
            heads.append((eye + content * time) @ value)
        return self.out(torch.cat(heads, -1).flatten(0, 1)).view(x.shape)


def peers(dim: int, length: int) -> dict[str, nn.Module]:
    """Ours as printed, and the others."""
    ours = mnn.TensorGraphAttention(dim, num_heads=HEADS, preset="paper")
    dense = mnn.TensorGraphAttention(dim, num_heads=HEADS, preset="paper", banded=False)
    dense.load_state_dict(ours.state_dict())
    return {
        "ours": ours,
        "normalised": mnn.TensorGraphAttention(dim, num_heads=HEADS),
        "dense": dense,
        **({"literal": Literal(ours)} if length <= 2000 else {}),
        "full attention": mnn.FullAttention(dim, num_heads=HEADS, num_modes=1),
    }


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every shape."""
    for name, (batch, length, dim) in SHAPES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        layers = peers(dim, length)
        for peer in {"dense", "literal"} & layers.keys():
            same_answers(layers["ours"].double(), layers[peer].double(), torch.randn(1, min(length, 700), dim).double())
        layers = {peer: layer.float() for peer, layer in layers.items()}
        reach = min(length, 2 * layers["ours"].reaches[torch.float32] + 1)
        case = Comparison(
            benchmark="graph",
            shape=name,
            facts={"batch": batch, "length": length, "dim": dim, "heads": HEADS},
            layers=layers,
            x=torch.randn(batch, length, dim),
            flops=batch * HEADS * 4 * length * reach * dim,
            traffic=2 * batch * length * dim * (1 + 2 * HEADS),
            bars=dict.fromkeys(PASSES, BARS) if name.startswith("text") else {},
        )
        yield from measure(case, repeats)
