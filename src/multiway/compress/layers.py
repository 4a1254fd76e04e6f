"""Small layers as plain values, from which they are built again: kind, sizes, ranks and error."""

import math
from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import nn

from multiway.compress.fits import Compressed
from multiway.compress.rules import CP, LowRank, NdLinear, TensorTrain, Tucker
from multiway.errors import RunError
from multiway.nn import Approximation, CPConv, LowRankLinear, TTEmbedding, TTLinear, TuckerConv
from multiway.nn import NdLinear as NdLayer
from multiway.nn.factorised_convolutions import Convolution

TABLE = "tt_embedding"
KEPT: dict[str, tuple[type[nn.Module], tuple[str, ...]]] = {
    Tucker.kind: (TuckerConv, ("ranks",)),
    CP.kind: (CPConv, ("ranks",)),
    TABLE: (TTEmbedding, ("tt_ranks", "padding_idx", "words", "sizes")),
    LowRank.kind: (LowRankLinear, ("rank",)),
    TensorTrain.kind: (TTLinear, ("tt_ranks", "in_sizes", "out_sizes")),
    NdLinear.kind: (NdLayer, ("rank", "in_sizes", "out_sizes")),
}
"""Layers by the name of their kind, and what of each is needed to rebuild it."""


def describe_layer(layer: Compressed) -> dict[str, Any]:
    """What is needed to rebuild such a layer."""
    kind = next(kind for kind, (known, _) in KEPT.items() if isinstance(layer, known))
    facts = {"kind": kind, **{name: getattr(layer, name) for name in KEPT[kind][1]}}
    if isinstance(layer, NdLayer | TTLinear | LowRankLinear):
        facts["bias"] = (layer.full_bias if isinstance(layer, NdLayer) else layer.bias) is not None
    return facts | {"error": layer.approximation.error if layer.approximation else None}


def build_layer(entry: Mapping[str, Any], features: tuple[int, int], dense: nn.Module | None = None) -> Compressed:
    """The layer that `describe_layer` describes, its numbers still to come; torch's generator is left as it was.

    Args:
        entry: From `describe_layer`.
        features: Inputs and outputs of the layer whose place it takes.
        dense: That layer; only small convolutions need it.

    Raises:
        RunError: There is no such kind, or its sizes are not those of the layer.
    """
    with torch.random.fork_rng(devices=[]):
        layer = _build(entry, features, dense)
    layer.approximation = None if entry["error"] is None else Approximation(entry["error"])
    return layer


def _build(entry: Mapping[str, Any], features: tuple[int, int], dense: nn.Module | None) -> Compressed:
    kind = entry["kind"]
    if kind == TABLE:
        return TTEmbedding(features[0], **{name: entry[name] for name in KEPT[TABLE][1]})
    if kind in (Tucker.kind, CP.kind):
        return (TuckerConv if kind == Tucker.kind else CPConv)(cast(Convolution, dense), entry["ranks"])
    bias = bool(entry["bias"])
    if kind == LowRank.kind:
        return LowRankLinear(*features, rank=entry["rank"], bias=bias)
    sizes = entry["in_sizes"], entry["out_sizes"]
    if (math.prod(sizes[0]), math.prod(sizes[1])) != features:
        raise RunError(
            f"sizes {sizes[0]} and {sizes[1]} do not multiply to the layer's {features[0]} inputs "
            f"and {features[1]} outputs."
        )
    if kind == TensorTrain.kind:
        return TTLinear(*sizes, tt_ranks=entry["tt_ranks"], bias=bias)
    if kind == NdLinear.kind:
        return NdLayer(*sizes, rank=entry["rank"], bias="full" if bias else False, flat=True)
    raise RunError(f"there is no kind of layer {kind!r}.")
