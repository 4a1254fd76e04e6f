"""Kronecker attention against axial, full and literal attention, on the shapes that the tasks have."""

import copy
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.comparison import Comparison, measure
from multiway import nn as mnn
from multiway_papers.bench import attention_flops

DIM, HEADS = 128, 8
SHAPES = {
    "ecl": (8, 321, 24),
    "weather": (32, 21, 24),
    "7^3": (8, 7, 7, 7),
    "14^3": (8, 14, 14, 14),
    "stock": (16, 88, 5),
    "small 8x8": (4, 8, 8),
}
BARS = {
    "axial": dict.fromkeys(("ecl", "weather", "7^3", "14^3", "stock"), 4.0),
    "full": {"7^3": 4.0, "weather": 5.0, "14^3": 19.0, "ecl": 30.0},
}


class Literal(nn.Module):
    """The layer as printed: full-size queries, keys and values, pooled after projection, one product per mode."""

    def __init__(self, layer: mnn.KroneckerAttention) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        layer, sizes = self.layer, x.shape[1:-1]
        query, key = layer.query_key[0](x).chunk(2, -1)
        value = layer.value(x).unflatten(-1, (layer.num_heads, -1)).movedim(-2, 1)
        for mode in range(len(sizes)):
            others = [axis for axis in range(1, x.ndim - 1) if axis != mode + 1]
            q, k = (side.sum(others).unflatten(-1, (layer.num_heads, -1)).transpose(1, 2) for side in (query, key))
            weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
            moved = value.movedim(mode + 2, 2)
            value = torch.einsum("bhij,bhj...->bhi...", weights, moved).movedim(2, mode + 2)
        return layer.out(value.movedim(1, -2).flatten(-2))


def peers(num_modes: int) -> dict[str, nn.Module]:
    """Every layer that takes part, all with the same features and heads."""
    arguments = {"num_heads": HEADS, "num_modes": num_modes}
    paper = mnn.KroneckerAttention(DIM, preset="paper", **arguments)
    found: dict[str, nn.Module] = {
        "paper": paper,
        "trainable": mnn.KroneckerAttention(DIM, **arguments),
        "literal": Literal(paper),
        "axial": mnn.AxialAttention(DIM, **arguments),
        "full": mnn.FullAttention(DIM, **arguments),
        "full kernel": mnn.FullKernelAttention(DIM, **arguments),
    }
    try:
        from axial_attention import AxialAttention
    except ImportError:
        return found
    found["axial package"] = AxialAttention(dim=DIM, heads=HEADS, num_dimensions=num_modes, dim_index=-1)
    return found


def check(paper: mnn.KroneckerAttention, sizes: tuple[int, ...]) -> None:
    """The fast layer equals the literal one, forward and backward in float64; speed is worth nothing before that."""
    fast = copy.deepcopy(paper).double()
    results = []
    for layer in (fast, Literal(fast)):
        torch.manual_seed(1)
        x = torch.randn(2, *sizes[1:], DIM, dtype=torch.float64, requires_grad=True)
        out = layer(x)
        results.append((out.detach(), *torch.autograd.grad(out.square().sum(), [x, *fast.parameters()])))
    for ours, literal in zip(*results, strict=True):
        torch.testing.assert_close(ours, literal, rtol=1e-8, atol=1e-8 * float(literal.abs().max()))


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """Rows of every shape, in float32 and bfloat16."""
    for name, sizes in SHAPES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        layers = peers(len(sizes) - 1)
        check(layers["paper"], sizes)
        yield from measure(_case(name, sizes, layers), repeats)


def _case(name: str, sizes: tuple[int, ...], layers: dict[str, nn.Module]) -> Comparison:
    return Comparison(
        benchmark="attention",
        shape=name,
        facts={"sizes": list(sizes), "dim": DIM, "heads": HEADS},
        layers=layers,
        x=torch.randn(*sizes, DIM),
        flops=sizes[0] * attention_flops((*sizes[1:], DIM)),
        traffic=4 * math.prod(sizes) * DIM,  # read the input, write and read the values once, write the output
        dtypes=(torch.float32, torch.bfloat16),
        bars={"forward+backward": {peer: bar[name] for peer, bar in BARS.items() if name in bar}},
    )
