"""Masks of attention along one mode: what was given, what lies in the future, and what is padding."""

import functools

import torch
from jaxtyping import Bool
from torch import Tensor


def blank(x: Tensor, valid: Bool[Tensor, "batch *sizes"] | None) -> Tensor:
    """Zeros where nothing is valid, whatever stands there."""
    return x if valid is None else torch.where(valid[..., None], x, 0)


def causal_mask(rows: int, columns: int, device: torch.device | str | None = None) -> Bool[Tensor, "1 1 rows columns"]:
    """Let a position see itself and what comes before."""
    return torch.ones(rows, columns, dtype=torch.bool, device=device).tril()[None, None]


def valid_keys(valid: Bool[Tensor, "batch *sizes"], mode: int) -> Bool[Tensor, "batch 1 1 size"]:
    """Hide positions of one mode that hold no real token."""
    others = [axis for axis in range(1, valid.ndim) if axis != mode + 1]
    return (valid.any(others) if others else valid)[:, None, None, :]


def all_of(masks: list[Tensor]) -> Tensor | None:
    """What every mask allows; None if there is none."""
    return functools.reduce(torch.logical_and, masks) if masks else None
