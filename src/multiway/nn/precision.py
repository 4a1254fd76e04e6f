"""The precision that layers compute in: apart from autocast, and that of their parameters."""

import contextlib

import torch
from torch import Tensor

from multiway.errors import DtypeError


def without_autocast(x: Tensor) -> contextlib.AbstractContextManager[object]:
    """Compute in the precision of the operands; the meta device has no autocast to switch off."""
    return contextlib.nullcontext() if x.is_meta else torch.autocast(x.device.type, enabled=False)


def check_dtype(layer: str, name: str, x: Tensor, weight: Tensor) -> None:
    """Refuse an input of another type than the layer's parameters, unless autocast brings both to one.

    Raises:
        DtypeError: It is.
    """
    if x.dtype == weight.dtype or _is_autocast(x):
        return
    raise DtypeError(
        f"{layer}: {name} must have the type of the layer's parameters, {weight.dtype}. Got {x.dtype}; convert one of "
        f"them, as {name}.to({weight.dtype})."
    )


def _is_autocast(x: Tensor) -> bool:
    return not x.is_meta and x.is_floating_point() and torch.is_autocast_enabled(x.device.type)
