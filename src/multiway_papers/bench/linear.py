"""Our layers, the package for them and the usual layer, timed in turns on one's own shape."""

import functools
import math
import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from multiway import nn as mnn
from multiway.compress.rules import MIN_CORES, balanced_sizes
from multiway.errors import ConfigError, closest
from multiway_papers.bench.layers import CONVOLUTIONS, LAYERS, Sizes

PASSES = {"forward": 1, "forward and backward": 3}
"""With how many forward passes each is worth."""

Case = Callable[[], object]
Key = TypeVar("Key", bound=Hashable)


def bench(
    layer: str, shape: Sequence[int], to: Sequence[int] | None = None, *, rank: int = 2, repeats: int = 15
) -> dict[str, Any]:
    """Time a layer and its peers in turns.

    Args:
        layer: A name of `LAYERS`.
        shape: Of the input, batch first: `(64, 28, 28, 3)`; of attention, features last; of convolutions, channels
            first; of `NdRNN`, steps and then their sizes; of `TTEmbedding`, ids of a batch and of the table. A single
            size of NdLinear and TTLinear is split into balanced factors.
        to: Sizes of the output without the batch; those of the input if not given, which attention keeps. Of
            convolutions the channels alone, of `NdRNN` the sizes of a state.
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
    if layer in CONVOLUTIONS or layer == "NdRNN":  # places and steps stay as they are
        kept = in_sizes[:1] if layer == "NdRNN" else in_sizes[1:]
        parts = out_sizes[:1] + kept if layer in CONVOLUTIONS else kept + out_sizes
        return in_sizes, in_sizes if in_sizes == out_sizes else parts
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
