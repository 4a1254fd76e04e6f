"""Kronecker attention beside axial, full and literal attention, on the shapes that the tasks have."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from benchmarks.timing import bandwidth, gemm_flops, median, rounds, saved_bytes
from multiway import nn as mnn

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
    "axial": dict.fromkeys(("ecl", "weather", "7^3", "14^3", "stock"), 3.5),
    "full": {"7^3": 3.5, "weather": 5.0, "14^3": 19.0, "ecl": 30.0},
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


def check(layers: dict[str, nn.Module], x: Tensor) -> None:
    """The fast layer equals the literal one, forward and backward; speed is worth nothing before that."""
    grads = []
    for name in ("paper", "literal"):
        out = layers[name](x)
        grads.append((out.detach(), *torch.autograd.grad(out.square().sum(), [x, *layers["paper"].out.parameters()])))
    for fast, slow in zip(*grads, strict=True):
        torch.testing.assert_close(fast, slow, rtol=1e-3, atol=1e-4 * float(slow.abs().max()))


def flops(sizes: tuple[int, ...]) -> float:
    """Forward operations: N (4 D² + 2 D Σ Nᵢ), with N the tokens of the whole batch."""
    tokens = math.prod(sizes)
    return tokens * (4 * DIM**2 + 2 * DIM * sum(sizes[1:]))


def traffic(sizes: tuple[int, ...]) -> float:
    """Forward bytes that cannot be avoided: read the input, write and read the values once, write the output."""
    return 4 * math.prod(sizes) * DIM * 4


def run(repeats: int, names: list[str] | None) -> Iterator[dict[str, object]]:
    """One row per shape and pass."""
    peak, speed = gemm_flops(), bandwidth()
    for name, sizes in SHAPES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        layers, x = peers(len(sizes) - 1), torch.randn(*sizes, DIM, requires_grad=True)
        check(layers, torch.randn(*sizes, DIM, requires_grad=True))
        roof = max(flops(sizes) / peak, traffic(sizes) / speed)
        kept = {peer: saved_bytes(layer, x) for peer, layer in layers.items()}
        for direction in ("forward", "forward+backward"):
            times = rounds({peer: _case(layer, x, direction) for peer, layer in layers.items()}, repeats)
            yield _row(name, sizes, direction, times, roof * (1 if direction == "forward" else 3), kept)


def _case(layer: nn.Module, x: Tensor, direction: str):
    if direction == "forward":
        return torch.no_grad()(lambda: layer(x))
    cotangent = torch.randn(x.shape)
    leaves = [x, *(parameter for parameter in layer.parameters() if parameter.requires_grad)]
    return lambda: torch.autograd.grad(layer(x), leaves, cotangent)


def _row(name, sizes, direction, times, roof, kept) -> dict[str, object]:
    ours = times["paper"]
    ratios = {
        peer: round(median([b / a for a, b in zip(ours, theirs, strict=False)]), 2)
        for peer, theirs in times.items()
        if peer != "paper"
    }
    bars = {peer: bar[name] for peer, bar in BARS.items() if name in bar} if direction != "forward" else {}
    return {
        "benchmark": "attention",
        "shape": name,
        "sizes": list(sizes),
        "dim": DIM,
        "heads": HEADS,
        "pass": direction,
        "ms": {peer: round(1e3 * median(each), 3) for peer, each in times.items()},
        "times_slower_than_ours": ratios,
        "bars": bars,
        "met": {peer: ratios[peer] >= bar for peer, bar in bars.items()},
        "over_roof": round(median(ours) / roof, 2),
        "saved_mb": {peer: round(each / 1e6, 2) for peer, each in kept.items()},
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "rounds": len(ours),
    }
