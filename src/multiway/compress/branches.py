"""Trainable branches next to frozen dense layers, which the adapters here and those of PEFT share."""

from typing import Any

import torch
from torch import Tensor, nn

from multiway.compress.fits import Compressed
from multiway.compress.kinds import dense_kind
from multiway.compress.layers import build_layer
from multiway.compress.rules import LowRank, NdLinear, Rule, TensorTrain
from multiway.errors import ConfigError


def zero_branch(
    name: str, rule: Rule, in_features: int, out_features: int, generator: torch.Generator | None = None
) -> Compressed:
    """A layer without bias whose last factor is zero, so that it answers zero until it is trained.

    Args:
        name: Of the layer, for errors.
        rule: Its kind and rank.
        in_features: Inputs of the dense layer.
        out_features: Outputs of the dense layer.
        generator: Source of the other factors; torch's own if not given.

    Raises:
        ConfigError: The rule has no rank, and is not NdLinear without a budget.
    """
    if rule.rank is None and not (isinstance(rule, NdLinear) and rule.max_error is None and rule.max_share is None):
        raise ConfigError(f"{name}: an adapter has no weight to measure errors of. Give {type(rule).__name__} a rank.")
    rank = rule.rank or 1
    entry: dict[str, Any] = {"kind": rule.kind, "rank": rank, "tt_ranks": rank, "bias": False, "error": None}
    if isinstance(rule, LowRank):
        entry["rank"] = min(rank, in_features, out_features)
    elif isinstance(rule, NdLinear | TensorTrain):
        entry["in_sizes"], entry["out_sizes"] = rule.sizes(in_features, out_features)
    branch = build_layer(entry, (in_features, out_features))
    factors = list(branch.parameters())
    if factors[0].is_meta:  # to be loaded: there is nothing to draw
        return branch
    with torch.no_grad():
        for factor in factors[:-1]:
            factor.normal_(0.0, float(factor.std(correction=0)), generator=generator)
        factors[-1].zero_()
    return branch


def branch_weight(branch: Any, scale: float, dense: nn.Module) -> Tensor:
    """What a branch adds to the weight of its dense layer, laid out as that weight."""
    weight: Tensor = scale * branch.dense_weight()
    return weight.mT if dense_kind(dense) == "Conv1D" else weight
