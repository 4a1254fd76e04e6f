"""Our layers and the usual ones beside them, made for a shape, with the operations that a sample takes at least."""

import functools
import itertools
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from multiway import nn as mnn
from multiway import ops
from multiway.compress.rules import MIN_CORES, balanced_sizes
from multiway.errors import ConfigError
from multiway.lazy import is_installed, load_extra

LARGEST_DENSE = 2**24
"""Weights of a dense layer that is still timed."""
CONVOLUTIONS: dict[str, type[mnn.TuckerConv] | type[mnn.CPConv]] = {
    "TuckerConv": mnn.TuckerConv,
    "CPConv": mnn.CPConv,
}
KERNEL = 3
"""Places of a kernel along each mode."""

Sizes = tuple[int, ...]


class Flat(nn.Module):
    """A layer that maps one last axis, on flattened modes."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """Flatten what follows the batch, and map it."""
        out: Tensor = self.layer(x.flatten(1))
        return out


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
    *modes, dim = _kept(sizes, out_sizes)
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
    length, dim = _length_and_dim(sizes, out_sizes)
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


def _kept(sizes: Sizes, out_sizes: Sizes) -> Sizes:
    if out_sizes != sizes or len(sizes) < 2:
        raise ConfigError(f"bench: attention keeps its sizes, modes and then features. Got {sizes} to {out_sizes}.")
    return sizes


def _length_and_dim(sizes: Sizes, out_sizes: Sizes) -> Sizes:
    if out_sizes != sizes or len(sizes) != 2:
        raise ConfigError(f"bench: attention over tokens keeps its sizes, (length, dim). Got {sizes} to {out_sizes}.")
    return sizes


def _full(name: str, sizes: Sizes, out_sizes: Sizes, heads: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    """One of the attentions over tokens of a grid that Kronecker attention is compared with."""
    *modes, dim = _kept(sizes, out_sizes)
    given: dict[str, Any] = {"num_heads": heads, "num_modes": len(modes)}
    ours: nn.Module = getattr(mnn, name)(dim, **given)
    peers = {} if name == "FullAttention" else {"scaled_dot_product_attention": mnn.FullAttention(dim, **given)}
    return {name: ours, **peers, "KroneckerAttention": mnn.KroneckerAttention(dim, **given)}, full_flops(ours, sizes)


def full_flops(layer: nn.Module, sizes: Sequence[int]) -> int:
    """Operations per sample of modes and features: four maps of every token, along each mode if axial, and mixing."""
    *modes, dim = sizes
    tokens = math.prod(modes)
    if isinstance(layer, mnn.AxialAttention):
        return tokens * (8 * len(modes) * dim**2 + 4 * dim * sum(modes))
    if isinstance(layer, mnn.FullKernelAttention):
        return tokens * (8 * dim**2 + 4 * dim * _num_features(layer))
    return tokens * (8 * dim**2 + 4 * dim * tokens)


def _num_features(layer: mnn.FullKernelAttention) -> int:
    """Features of a head."""
    with torch.no_grad():
        return int(layer.log_features(torch.zeros(1, 1, 1, layer.dim // layer.num_heads), layer.projection).shape[-1])


def _tokens(name: str, sizes: Sizes, out_sizes: Sizes, heads: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    """One of the attentions over tokens that graph attention is compared with."""
    length, dim = _length_and_dim(sizes, out_sizes)
    layers: dict[str, nn.Module] = {
        name: getattr(mnn, name)(dim, num_heads=heads),
        "scaled_dot_product_attention": mnn.FullAttention(dim, num_heads=heads, num_modes=1),
    }
    maps = 3 + (heads > 1)
    return layers, length * (2 * maps * dim**2 + 4 * dim * length)


def _convolution(name: str, sizes: Sizes, out_sizes: Sizes, rank: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    """A chain of convolutions in the place of one with a kernel of three along each mode."""
    count = len(sizes) - 1
    if not 1 <= count <= 3 or len(out_sizes) != len(sizes):
        raise ConfigError(f"bench: a convolution takes channels and one to three modes to channels. Got {sizes}.")
    kind = getattr(nn, f"Conv{count}d")
    dense: Any = kind(sizes[0], out_sizes[0], KERNEL, padding=KERNEL // 2)
    ours: nn.Module = CONVOLUTIONS[name](dense, (rank, rank) if name == "TuckerConv" else (rank,))
    weights = sum(each.numel() for each in ours.parameters() if each.ndim > 1)
    return {name: ours, kind.__name__: dense}, 2 * weights * math.prod(sizes[1:])


class States(nn.Module):
    """A recurrent layer's states of all steps, their modes flattened first where it takes features."""

    def __init__(self, layer: nn.Module, *, is_flat: bool) -> None:
        super().__init__()
        self.layer, self.is_flat = layer, is_flat

    def forward(self, x: Tensor) -> Tensor:
        """Leave the last state out."""
        states: Tensor = self.layer(x.flatten(2) if self.is_flat else x)[0]
        return states


def _recurrent(sizes: Sizes, out_sizes: Sizes, rank: int, rows: int) -> tuple[dict[str, nn.Module], int]:
    (steps, *step), state = sizes, out_sizes[1:]
    if not step or len(step) != len(state):
        raise ConfigError(f"bench: NdRNN takes steps of as many sizes as states. Got {tuple(step)} to {state}.")
    layers: dict[str, nn.Module] = {"NdRNN": States(mnn.NdRNN(step, state), is_flat=False)}
    features = math.prod(step), math.prod(state)
    if math.prod(features) + features[1] ** 2 <= LARGEST_DENSE:
        layers["nn.RNN"] = States(nn.RNN(*features, batch_first=True), is_flat=True)
    return layers, steps * (nd_linear_flops(step, state) + nd_linear_flops(state, state))


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
    **{name: functools.partial(_convolution, name) for name in CONVOLUTIONS},
    "NdRNN": _recurrent,
    **{name: functools.partial(_full, name) for name in ("FullAttention", "FullKernelAttention", "AxialAttention")},
    **{name: functools.partial(_tokens, name) for name in ("DotProductAttention", "AdditiveAttention")},
}
"""Layers that are timed, each with how it and its peers are made and the operations of a sample."""
