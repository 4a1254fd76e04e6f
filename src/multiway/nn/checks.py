"""What layers refuse, in words: each check names the rule, the values and the fix."""

import math
import operator
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from multiway.errors import ConfigError, DtypeError, ShapeError, closest


def check_choice(argument: str, name: str, known: Collection[str], layer: str = "KroneckerAttention") -> str:
    """Refuse a name that is not known."""
    if name not in known:
        raise ConfigError(f"{layer}: {argument}={name!r} is not one of {', '.join(known)}{closest(name, known)}")
    return name


def check_heads(dim: int, num_heads: int, num_modes: int, rotary: bool) -> None:
    """Refuse heads that do not divide the features, odd ones where pairs are turned, and no modes."""
    if num_modes < 1:
        raise ShapeError(f"KroneckerAttention: at least one mode is needed. Got num_modes={num_modes}.")
    check_heads_divide("KroneckerAttention", dim, num_heads)
    if rotary and dim // num_heads % 2:
        raise ShapeError(
            f"KroneckerAttention: rotary modes need an even head size. Got dim={dim} / num_heads={num_heads} = "
            f"{dim // num_heads}."
        )


def check_modes(name: str, modes: Sequence[int], num_modes: int, layer: str = "KroneckerAttention") -> tuple[int, ...]:
    """Refuse modes that are none; each once, in order."""
    chosen = tuple(sorted(set(modes)))
    if any(not 0 <= mode < num_modes for mode in chosen):
        raise ShapeError(f"{layer}: {name}={tuple(modes)} must lie in 0..{num_modes - 1}; modes skip the batch axis.")
    return chosen


def check_pairs(layer: str, dim: int, num_heads: int, rotary_modes: Sequence[int]) -> None:
    """Refuse heads with an odd number of features, or fewer pairs of them than modes that turn."""
    head_dim, fewest = dim // num_heads, 2 * len(rotary_modes)
    if rotary_modes and (head_dim % 2 or head_dim < fewest):
        raise ShapeError(
            f"{layer}: {len(rotary_modes)} rotary modes need an even head size of at least {fewest}, a pair of "
            f"features each. Got dim={dim} / num_heads={num_heads} = {head_dim}."
        )


def find_step_mode(causal_modes: Sequence[int], attended_modes: Sequence[int]) -> int | None:
    """The causal mode beside which others attend, step by step; None if none does. Two have no order."""
    accompanied = [causal for causal in causal_modes if any(mode != causal for mode in attended_modes)]
    if accompanied and len(causal_modes) > 1:
        raise ConfigError(
            f"KroneckerAttention: beside one causal mode the others attend step by step, beside two they cannot. Got "
            f"causal_modes={tuple(causal_modes)} and attended_modes={tuple(attended_modes)}; name one causal mode."
        )
    return accompanied[0] if accompanied else None


def check_heads_divide(layer: str, dim: int, num_heads: int) -> None:
    """Refuse heads that do not divide the features."""
    if num_heads < 1 or dim % num_heads:
        raise ShapeError(f"{layer}: num_heads must divide dim. Got dim={dim}, num_heads={num_heads}.")


def check_sizes(
    where: str, in_sizes: Sequence[int], out_sizes: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both lists as tuples."""
    ins, outs = whole_numbers(in_sizes), whole_numbers(out_sizes)
    if not ins or not outs or min(ins + outs) < 1 or len(ins) != len(outs):
        counts = f" ({len(ins)} and {len(outs)} modes)" if ins and outs and min(ins + outs) >= 1 else ""
        raise ShapeError(
            f"{where}: in_sizes and out_sizes must be lists of whole numbers from 1 on, one output size per mode and "
            f"at least one mode. Got in_sizes={in_sizes if ins is None else ins} and "
            f"out_sizes={out_sizes if outs is None else outs}{counts}."
        )
    return ins, outs


def check_fit(where: str, linear: nn.Linear, in_sizes: Sequence[int], out_sizes: Sequence[int]) -> None:
    """Refuse sizes that do not multiply to the features of a dense layer."""
    products = math.prod(in_sizes), math.prod(out_sizes)
    if products != (linear.in_features, linear.out_features):
        raise ShapeError(
            f"{where}: in_sizes and out_sizes must multiply to the layer's {linear.in_features} inputs and "
            f"{linear.out_features} outputs. Got {tuple(in_sizes)}, that is {products[0]}, and {tuple(out_sizes)}, "
            f"that is {products[1]}."
        )


def whole_numbers(given: Any) -> tuple[int, ...] | None:
    """A list of whole numbers, numpy's among them, as Python's; None for anything else."""
    try:
        numbers = list(given)
        return None if any(isinstance(each, bool) for each in numbers) else tuple(map(operator.index, numbers))
    except TypeError:
        return None


def check_dtype(layer: str, name: str, x: Tensor, weight: Tensor) -> None:
    """Refuse an input of another type than the layer's parameters, unless autocast brings both to one."""
    is_wide = not x.is_meta and x.is_floating_point()
    if x.dtype == weight.dtype or (is_wide and torch.is_autocast_enabled(x.device.type)):
        return
    raise DtypeError(
        f"{layer}: {name} must have the type of the layer's parameters, {weight.dtype}. Got {x.dtype}; convert one of "
        f"them, as {name}.to({weight.dtype})."
    )


def check_valid(layer: str, valid: Tensor | None, tokens: Tensor, name: str = "x") -> None:
    """Refuse a mask that is not one of the tokens `(batch, ..., features)`; one of numbers would be computed with."""
    if valid is None:
        return
    rule = f"{layer}: the mask of valid tokens of {name} must be boolean and {tuple(tokens.shape[:-1])}, batch first"
    if valid.dtype != torch.bool:
        raise DtypeError(f"{rule}. Got {valid.dtype}; convert it with .bool(), True for real tokens.")
    if valid.shape != tokens.shape[:-1]:
        raise ShapeError(f"{rule}. Got {tuple(valid.shape)}; give one truth value per token.")
