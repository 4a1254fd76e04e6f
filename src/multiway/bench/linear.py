"""Our layers, the package for them and the usual layer, timed in turns on one's own shape."""

import functools
import itertools
import math
import operator
import statistics
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from multiway import nn as mnn
from multiway import ops
from multiway.compress.rules import MIN_CORES, balanced_sizes
from multiway.errors import ConfigError, closest
from multiway.lazy import is_installed, load_extra

LARGEST_DENSE = 2**24
"""Weights of a dense layer that is still timed."""
PASSES = {"forward": 1, "forward and backward": 3}
"""With how many forward passes each is worth."""

Sizes = tuple[int, ...]
Case = Callable[[], object]
Key = TypeVar("Key", bound=Hashable)


class Flat(nn.Module):
    """A layer that maps one last axis, on flattened modes."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """Flatten what follows the batch, and map it."""
        out: Tensor = self.layer(x.flatten(1))
        return out


def bench(
    layer: str, shape: Sequence[int], to: Sequence[int] | None = None, *, rank: int = 2, repeats: int = 15
) -> dict[str, Any]:
    """Time a layer and its peers in turns.

    Args:
        layer: A name of `LAYERS`.
        shape: Of the input, batch first: `(64, 28, 28, 3)`; of attention, features last; of `TTEmbedding`, ids of a
            batch and of the table. A single size of NdLinear and TTLinear is split into balanced factors.
        to: Sizes of the output without the batch; those of the input if not given, which attention keeps.
        rank: Terms of NdLinear, heads of attention, rank of the others.
        repeats: Timed rounds.

    Returns:
        What was timed, rows of each layer and pass with milliseconds and their ratio to ours, and the roof: the longer
        of the operations at the speed of a large product and the numbers at the speed of memory.

    Raises:
        ConfigError: An unknown layer, or a shape that has no batch.
    """
    if layer not in LAYERS:
        raise ConfigError(f"bench: {layer!r} is not one of {', '.join(LAYERS)}{closest(layer, LAYERS)}")
    batch, *sizes = shape
    if not sizes or batch < 1 or rank < 1:
        raise ConfigError(
            f"bench: shape is the batch and then at least one size. Got shape={tuple(shape)}, rank={rank}."
        )
    if layer == "TTEmbedding" and to is None:
        raise ConfigError("bench: TTEmbedding has vectors of any size. Give it as to.")
    ins, outs = _split(layer, tuple(sizes), tuple(sizes if to is None else to))
    layers, flops = LAYERS[layer](ins, outs, rank, batch)
    x = torch.randint(math.prod(ins), (batch,)) if layer == "TTEmbedding" else torch.randn(batch, *ins)
    roof = max(batch * flops / gemm_flops(), _traffic(x, outs, layers[layer]) / bandwidth())
    rows = [row for name in PASSES for row in _rows(name, layers, x, roof, repeats)]
    facts = {"layer": layer, "shape": (batch, *ins), "to": outs, "rank": rank}
    return {**facts, "threads": torch.get_num_threads(), "rows": rows}


def _traffic(x: Tensor, out_sizes: Sizes, layer: nn.Module) -> int:
    """Bytes that are read or written at least once."""
    weights = sum(parameter.numel() for parameter in layer.parameters())
    if isinstance(layer, mnn.TTEmbedding):  # of each core at most one slice for an id
        cores = zip(layer.cores, layer.words, strict=True)
        weights = sum(core.numel() // count * min(len(x), count) for core, count in cores)
    return x.numel() * x.element_size() + 4 * (len(x) * math.prod(out_sizes) + weights)


def _split(layer: str, in_sizes: Sizes, out_sizes: Sizes) -> tuple[Sizes, Sizes]:
    """Balanced factors where a layer of several modes was given one size: with one mode it would be dense."""
    if layer not in ("NdLinear", "TTLinear"):
        return in_sizes, out_sizes
    count = max(MIN_CORES, len(in_sizes), len(out_sizes))
    ins, outs = (balanced_sizes(*sizes, count) if len(sizes) == 1 else sizes for sizes in (in_sizes, out_sizes))
    return ins, outs


def _rows(name: str, layers: Mapping[str, nn.Module], x: Tensor, roof: float, repeats: int) -> list[dict[str, Any]]:
    with_gradient = PASSES[name] > 1
    times = rounds({key: _call(layer, x, with_gradient) for key, layer in layers.items()}, repeats)
    ours = median(next(iter(times.values())))
    seconds = {**{key: median(each) for key, each in times.items()}, "roof": PASSES[name] * roof}
    counts = {key: sum(parameter.numel() for parameter in layer.parameters()) for key, layer in layers.items()}
    return [
        {"pass": name, "layer": key, "parameters": counts.get(key), "ms": 1e3 * each, "times ours": each / ours}
        for key, each in seconds.items()
    ]


def _call(layer: nn.Module, x: Tensor, with_gradient: bool) -> Callable[[], object]:
    if not with_gradient:
        return torch.no_grad()(lambda: layer(x))
    leaf = x.detach().requires_grad_(x.is_floating_point())
    leaves = [*([leaf] if leaf.requires_grad else []), *layer.parameters()]
    cotangent = torch.ones_like(layer(leaf))
    return lambda: torch.autograd.grad(layer(leaf), leaves, cotangent)


def nd_linear_flops(in_sizes: Sequence[int], out_sizes: Sequence[int]) -> int:
    """Operations per sample of the order of single products that has the fewest."""
    orders = itertools.permutations(range(len(in_sizes)))
    return min(_flops_in_order(in_sizes, out_sizes, order) for order in orders)


def _flops_in_order(in_sizes: Sequence[int], out_sizes: Sequence[int], order: Sequence[int]) -> int:
    sizes, total = list(in_sizes), 0
    for mode in order:
        total += 2 * math.prod(sizes) * out_sizes[mode]
        sizes[mode] = out_sizes[mode]
    return total


def train_flops(layer: mnn.TTLinear, rows: int) -> int:
    """Operations per row of a tensor train in two halves, or of the dense product where that is fewer."""
    cut = ops.cheapest_cut(layer.in_sizes, layer.out_sizes, layer.tt_ranks, rows).position
    rank = layer.tt_ranks[cut]
    (i1, i2), (o1, o2) = ((math.prod(part[:cut]), math.prod(part[cut:])) for part in (layer.in_sizes, layer.out_sizes))
    halves = rank * min(i1 * o2 * (i2 + o1), i2 * o1 * (i1 + o2))
    return 2 * min(halves, i1 * i2 * o1 * o2)


def _dense(in_sizes: Sizes, out_sizes: Sizes) -> dict[str, nn.Module]:
    features = math.prod(in_sizes), math.prod(out_sizes)
    return {"nn.Linear": Flat(nn.Linear(*features))} if math.prod(features) <= LARGEST_DENSE else {}


def _nd_linear(in_sizes: Sizes, out_sizes: Sizes, rank: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    ours = mnn.NdLinear(in_sizes, out_sizes, rank=rank, init="package")
    layers: dict[str, nn.Module] = {"NdLinear": ours}
    package = _imported("ndlinear") if rank == 1 else None
    if package is not None:
        layers["ndlinear"] = package.NdLinear(in_sizes, out_sizes)
        layers["ndlinear"].load_state_dict(ours.package_state_dict())
    return {**layers, **_dense(in_sizes, out_sizes)}, rank * nd_linear_flops(in_sizes, out_sizes)


def _tt_linear(in_sizes: Sizes, out_sizes: Sizes, rank: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    ours = mnn.TTLinear(in_sizes, out_sizes, tt_ranks=rank)
    layers: dict[str, nn.Module] = {"TTLinear": Flat(ours)}
    package = _imported("tltorch")
    if package is not None:
        layers["tensorly-torch"] = Flat(
            package.FactorizedLinear(
                in_sizes, out_sizes, bias=True, factorization="blocktt", rank=ours.tt_ranks, implementation="factorized"
            )
        )
    return {**layers, **_dense(in_sizes, out_sizes)}, train_flops(ours, rows)


def _low_rank(in_sizes: Sizes, out_sizes: Sizes, rank: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    features = math.prod(in_sizes), math.prod(out_sizes)
    ours = Flat(mnn.LowRankLinear(*features, rank=rank))
    return {"LowRankLinear": ours, **_dense(in_sizes, out_sizes)}, 2 * rank * sum(features)


def _attention(sizes: Sizes, out_sizes: Sizes, heads: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    *modes, dim = sizes
    if out_sizes != sizes or not modes:
        raise ConfigError(f"bench: attention keeps its sizes, modes and then features. Got {sizes} to {out_sizes}.")
    given: dict[str, Any] = {"num_heads": heads, "num_modes": len(modes)}
    layers: dict[str, nn.Module] = {
        "KroneckerAttention": mnn.KroneckerAttention(dim, **given),
        "AxialAttention": mnn.AxialAttention(dim, **given),
        "scaled_dot_product_attention": mnn.FullAttention(dim, **given),
    }
    package = _imported("axial_attention")
    if package is not None:
        layers["axial-attention"] = package.AxialAttention(dim, num_dimensions=len(modes), heads=heads)
    return layers, attention_flops(sizes)


def _tt_embedding(in_sizes: Sizes, out_sizes: Sizes, rank: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    count, features = math.prod(in_sizes), math.prod(out_sizes)
    sizes = out_sizes if len(out_sizes) > 1 else balanced_sizes(features, MIN_CORES)
    ours = mnn.TTEmbedding(count, sizes, words=in_sizes if len(in_sizes) == len(sizes) else None, tt_ranks=rank)
    dense = {"nn.Embedding": nn.Embedding(count, features)} if count * features <= LARGEST_DENSE else {}
    return {"TTEmbedding": ours, **dense}, vector_flops(ours)


def vector_flops(table: mnn.TTEmbedding) -> int:
    """Operations of one vector, its slices multiplied from the first on."""
    wide = itertools.accumulate(table.sizes, operator.mul)
    ranks = zip(table.tt_ranks[1:], table.tt_ranks[2:], strict=False)
    return sum(
        2 * before * left * size * right
        for before, size, (left, right) in zip(wide, table.sizes[1:], ranks, strict=False)
    )


def _graph_attention(sizes: Sizes, out_sizes: Sizes, heads: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    if out_sizes != sizes or len(sizes) != 2:
        raise ConfigError(f"bench: attention over tokens keeps its sizes, (length, dim). Got {sizes} to {out_sizes}.")
    length, dim = sizes
    factors = None if dim & (dim - 1) == 0 and dim > 1 else balanced_sizes(dim, MIN_CORES)
    ours = mnn.TensorGraphAttention(dim, num_heads=heads, in_sizes=factors)
    layers: dict[str, nn.Module] = {
        "TensorGraphAttention": ours,
        "DotProductAttention": mnn.DotProductAttention(dim, num_heads=heads),
        "scaled_dot_product_attention": mnn.FullAttention(dim, num_heads=heads, num_modes=1),
    }
    return layers, graph_flops(ours, length, rows)


def graph_flops(layer: mnn.TensorGraphAttention, length: int, rows: int) -> int:
    """Operations per sample: of its trains, and of a filter over all pairs or within the reach of its damping."""
    trains = [part for part in (*layer.keys, *layer.values, layer.out) if isinstance(part, mnn.TTLinear)]
    reach = ops.damping_reach(layer.damping, torch.finfo(torch.float32).eps)
    pairs = min(2 * length**2, 5 * length * reach)
    return (
        length * sum(train_flops(train, rows * length) for train in trains)
        + 2 * pairs * layer.num_heads * layer.out_dim
    )


def attention_flops(sizes: Sequence[int]) -> int:
    """Operations per sample of modes and features: N (4 D² + 2 D Σ Nᵢ)."""
    *modes, dim = sizes
    return math.prod(modes) * (4 * dim**2 + 2 * dim * sum(modes))


def _imported(package: str) -> Any:
    """A package to compare with, or None where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_extra(package, "bench", "benchmarks") if is_installed(package) else None


LAYERS: dict[str, Callable[[Sizes, Sizes, int, int], tuple[dict[str, nn.Module], int]]] = {
    "NdLinear": _nd_linear,
    "TTLinear": _tt_linear,
    "LowRankLinear": _low_rank,
    "KroneckerAttention": _attention,
    "TTEmbedding": _tt_embedding,
    "TensorGraphAttention": _graph_attention,
}
"""Layers that are timed, each with how it and its peers are made and the operations of a sample."""


def rounds(cases: dict[Key, Case], repeats: int, slow_seconds: float = 0.5) -> dict[Key, list[float]]:
    """Seconds of every case, one timed call of each per round, so that drift hits all alike.

    An untimed call goes before each timed one: the first call after a peer finds the caches full of the peer's
    data. Neither matters to a case slower than `slow_seconds`, which is called once, in every third round only.
    """
    times: dict[Key, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        _finish(case)
    for turn in range(repeats):
        for name, case in cases.items():
            slow = bool(times[name]) and times[name][0] > slow_seconds
            if not slow:
                _finish(case)
            if turn % 3 == 0 or not slow:
                times[name].append(_timed(case))
    return times


def median(times: list[float]) -> float:
    """Of seconds."""
    return statistics.median(times)


@functools.cache
def gemm_flops(dtype: torch.dtype = torch.float32) -> float:
    """Operations per second of a large product."""
    side = 1536 if torch.get_default_device().type == "cpu" else 8192
    a, b = torch.randn(side, side, dtype=dtype), torch.randn(side, side, dtype=dtype)
    best = min(_timed(lambda: a @ b) for _ in range(12))
    return 2 * side**3 / best


@functools.cache
def bandwidth() -> float:
    """Bytes per second of a copy larger than the caches, reads and writes counted."""
    source = torch.randn(2 ** (24 if torch.get_default_device().type == "cpu" else 28))
    target = torch.empty_like(source)
    best = min(_timed(lambda: target.copy_(source)) for _ in range(12))
    return 2 * source.numel() * source.element_size() / best


def _timed(case: Case) -> float:
    start = time.perf_counter()
    _finish(case)
    return time.perf_counter() - start


def _finish(case: Case) -> None:
    """Call, and wait for an accelerator to be done."""
    case()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
