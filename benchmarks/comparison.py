"""One layer against its peers: time of each in turns, ratios, the roof, and what autograd keeps."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from benchmarks.rows import MARKS, aligned, machine, times_slower
from benchmarks.timing import saved_bytes
from multiway.kernels.library import library
from multiway_papers.bench import bandwidth, gemm_flops, median, rounds

PASSES = ("forward", "forward+backward")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Layers that answer the same question on the same input; the first is ours."""

    benchmark: str
    shape: str
    facts: Mapping[str, object]
    """Sizes and whatever else describes the case."""
    layers: Mapping[str, nn.Module]
    x: Tensor
    flops: float
    """Forward operations that cannot be avoided."""
    traffic: float
    """Forward numbers that must be read or written at least once."""
    dtypes: tuple[torch.dtype, ...] = (torch.float32,)
    """Ours is measured in each; a peer counts in its best."""
    bars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Pass to peer to the requested ratio."""


def measure(case: Comparison, repeats: int) -> Iterator[dict[str, object]]:
    """One row per pass and type of number."""
    layers = {(name, dtype): _cast(layer, dtype) for name, layer in case.layers.items() for dtype in case.dtypes}
    inputs = {dtype: case.x.detach().to(dtype).requires_grad_() for dtype in case.dtypes}
    kept = {key: saved_bytes(layer, inputs[key[1]]) for key, layer in layers.items()}
    roofs = {dtype: _roof(case, dtype) for dtype in case.dtypes}
    for direction in PASSES:
        cases = {key: _call(layer, inputs[key[1]], direction) for key, layer in layers.items()}
        times = rounds(cases, repeats)
        for dtype in case.dtypes:
            yield _row(case, direction, dtype, times, kept, roofs[dtype] * (1 if direction == "forward" else 3))


def same_answers(ours: nn.Module, theirs: nn.Module, x: Tensor) -> None:
    """Refuse to time what is wrong: answers and gradients of the input agree, to the precision of the input."""
    tolerance = 1e-8 if x.dtype == torch.float64 else 1e-4
    results = []
    for layer in (ours, theirs):
        leaf = x.detach().clone().requires_grad_()
        out = layer(leaf)
        results.append((out.detach().reshape(-1), torch.autograd.grad(out.square().sum(), leaf)[0]))
    for mine, other in zip(*results, strict=True):
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance * float(other.abs().max()))


def _cast(layer: nn.Module, dtype: torch.dtype) -> nn.Module:
    if dtype == torch.float32:
        return layer
    return copy.deepcopy(layer).to(dtype)


def _call(layer: nn.Module, x: Tensor, direction: str):
    if direction == "forward":
        return torch.no_grad()(lambda: layer(x))
    with torch.no_grad():
        cotangent = torch.randn_like(layer(x))
    leaves = [x, *(parameter for parameter in layer.parameters() if parameter.requires_grad)]
    return lambda: torch.autograd.grad(layer(x), leaves, cotangent)


def _roof(case: Comparison, dtype: torch.dtype) -> float:
    return max(case.flops / gemm_flops(dtype), case.traffic * dtype.itemsize / bandwidth())


def _row(case, direction, dtype, times, kept, roof) -> dict[str, object]:
    ours_name = next(iter(case.layers))
    ours = times[ours_name, dtype]
    best = {
        name: min((times[name, each] for each in case.dtypes), key=median) for name in case.layers if name != ours_name
    }
    ratios = times_slower({ours_name: ours, **best}, ours_name)
    bars = {name: bar for name, bar in case.bars.get(direction, {}).items() if name in ratios}
    return {
        "benchmark": case.benchmark,
        "shape": case.shape,
        **case.facts,
        "pass": direction,
        "dtype": str(dtype).removeprefix("torch."),
        "ms": {f"{name}": round(1e3 * median(times[name, dtype]), 3) for name in case.layers},
        "times_slower_than_ours": ratios,
        "bars": bars,
        "met": {name: ratios[name] >= bar for name, bar in bars.items()},
        "over_roof": round(median(ours) / roof, 2),
        "saved_mb": {name: round(kept[name, dtype] / 1e6, 3) for name in case.layers},
        **machine(),
        "kernels": library() is not None,
        "rounds": len(ours),
    }


def table(rows: list[dict[str, object]]) -> Iterator[str]:
    """Lines of a table of all rows: one column per peer, a star where a bar is met and a minus where it is missed."""
    peers = list(dict.fromkeys(peer for row in rows for peer in row["times_slower_than_ours"]))
    head = ["shape", "pass", "type", "ours ms", "x roof", "kept MB", *peers]
    body = [_cells(row, peers) for row in rows]
    return aligned(head, body, 3)


def _cells(row: dict[str, object], peers: list[str]) -> list[str]:
    times, ratios, met = row["ms"], row["times_slower_than_ours"], row["met"]
    ours = next(iter(times))
    cells = [f"{ratios[peer]:.2f}x{MARKS[met.get(peer)]}" if peer in ratios else "" for peer in peers]
    short = {"forward": "fwd", "forward+backward": "fwd+bwd"}[row["pass"]]
    return [
        row["shape"],
        short,
        row["dtype"],
        f"{times[ours]:.3f}",
        f"{row['over_roof']:.1f}",
        f"{row['saved_mb'][ours]:.2f}",
        *cells,
    ]
