"""Counting, timing and comparing one layer before and after."""

import dataclasses
from typing import Any

import torch

from multiway.compress import measuring
from multiway.compress.advice import advice_of
from multiway.compress.budget import count_parameters
from multiway.compress.dense import features_of
from multiway.compress.fits import Compressed, approximation_of
from multiway.compress.layer import LayerPlan
from multiway.compress.rules import LowRank, NdLinear, Rule
from multiway.compress.targets import Target


def measured_layer(target: Target, layer: Compressed | None, seen: measuring.Observed, *, measure: bool) -> LayerPlan:
    """Count, time and compare one layer before and after."""
    in_features, out_features = features_of(target.module)
    weight = target.module.get_parameter("weight")
    shape = seen.shape or (measuring.DEFAULT_ROWS, in_features)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(weight)
    before = measuring.count_flops(target.module, x)
    times = measuring.compare_layers(target.module, layer, x) if measure and layer is not None else None
    after = count_parameters(target.module) if layer is None else sum(each.numel() for each in layer.parameters())
    numbers = LayerPlan(
        names=target.names,
        kind=type(target.module).__name__,
        in_features=in_features,
        out_features=out_features,
        becomes="dense" if layer is None else _describe(target.rule, layer),
        parameters=(count_parameters(target.module), after),
        input_shape=shape,
        flops=(before, before if layer is None else measuring.count_flops(layer, x)),
        times=times,
        weight_error=0.0 if layer is None else approximation_of(layer).error,
        output_error=seen.error,
        advice=(),
        replacement=layer,
    )
    return dataclasses.replace(numbers, advice=advice_of(numbers, is_called=seen.was_called))


def _describe(rule: Rule, layer: Any) -> str:
    if isinstance(rule, LowRank):
        return f"low rank {layer.rank}"
    sizes = f"{_sizes(layer.in_sizes)} to {_sizes(layer.out_sizes)}"
    if isinstance(rule, NdLinear):
        return f"NdLinear {sizes}, rank {layer.rank}"
    return f"tensor train {sizes}, rank{'s' * (len(layer.tt_ranks) > 3)} {_sizes(layer.tt_ranks[1:-1], ', ')}"


def _sizes(sizes: tuple[int, ...], between: str = "×") -> str:
    return between.join(map(str, sizes))
