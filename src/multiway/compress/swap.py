"""Put layers into a model and take them out again; a model remembers what was swapped."""

import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from multiway.compress.dense import ancestors, from_linear, kind_of
from multiway.compress.fits import Compressed
from multiway.errors import ConfigError

RECORD = "_multiway_compression"


@dataclasses.dataclass
class Swap:
    """One layer that was swapped.

    names: Every name that it goes by.
    kind: Class of the dense layer, "Linear" or "Conv1D".
    original: The dense layer, where it is kept.
    """

    names: tuple[str, ...]
    kind: str
    original: nn.Module | None = None


@dataclasses.dataclass
class Record:
    """What a model remembers: its swaps, and settings of parents that had to change for them."""

    swaps: dict[str, Swap] = dataclasses.field(default_factory=dict)
    settings: list[tuple[str, str, Any]] = dataclasses.field(default_factory=list)


def record_of(model: nn.Module) -> Record | None:
    """The memory of a compressed model, or None."""
    return model.__dict__.get(RECORD)


def swap_in(model: nn.Module, layers: Mapping[tuple[str, ...], Compressed], *, keep_originals: bool) -> None:
    """Put layers in the places of dense ones, under all their names."""
    record = model.__dict__.setdefault(RECORD, Record())
    for names, layer in layers.items():
        dense = model.get_submodule(names[0])
        weight = dense.get_parameter("weight")
        layer.train(dense.training).requires_grad_(weight.requires_grad)
        set_module(model, names, layer)
        record.swaps[names[0]] = Swap(names, kind_of(dense) or "Linear", dense if keep_originals else None)
        record.settings += leave_fast_paths(model, names)


def undo(model: nn.Module, *, originals: bool = True) -> nn.Module:
    """Put dense layers back, in place.

    Args:
        model: From `Plan.apply` or `load`.
        originals: Take the original layers where they were kept; their weights are those from before any training of
            the compressed model. False, and wherever none was kept: the dense layer that equals the compressed one.

    Returns:
        The same model.

    Raises:
        ConfigError: Nothing was swapped in this model.
    """
    record = required_record(model)
    for swap in record.swaps.values():
        layer: Compressed = model.get_submodule(swap.names[0])  # type: ignore[assignment]
        factor = next(layer.parameters())
        kept = copy.deepcopy(swap.original) if originals else None
        dense = from_linear(layer.to_linear(), swap.kind) if kept is None else kept
        dense = dense.to(factor.device, factor.dtype).train(layer.training).requires_grad_(factor.requires_grad)
        set_module(model, swap.names, dense)
    for name, setting, value in reversed(record.settings):
        setattr(model.get_submodule(name), setting, value)
    del model.__dict__[RECORD]
    return model


def required_record(model: nn.Module) -> Record:
    """The memory of a compressed model.

    Raises:
        ConfigError: Nothing was swapped in this model.
    """
    record = record_of(model)
    if record is None or not record.swaps:
        raise ConfigError("compress: nothing was swapped in this model. Give the model that plan.apply() returned.")
    return record


def set_module(model: nn.Module, names: tuple[str, ...], module: nn.Module) -> None:
    """Put one module in the place of another, under every name."""
    for name in names:
        parent, _, last = name.rpartition(".")
        model.get_submodule(parent)._modules[last] = module


@contextlib.contextmanager
def swapped(model: nn.Module, layers: Mapping[tuple[str, ...], nn.Module]) -> Iterator[None]:
    """Lend a model other layers for a moment; whatever happens, it gets its own back."""
    own = {names: model.get_submodule(names[0]) for names in layers}
    settings: list[tuple[str, str, Any]] = []
    try:
        for names, layer in layers.items():
            set_module(model, names, layer)
            settings += leave_fast_paths(model, names)
        yield
    finally:
        for names, module in own.items():
            set_module(model, names, module)
        for name, setting, value in reversed(settings):
            setattr(model.get_submodule(name), setting, value)


def leave_fast_paths(model: nn.Module, names: tuple[str, ...]) -> list[tuple[str, str, Any]]:
    """Keep torch's Transformer encoders from reading weights in place of calling layers; return what was changed.

    In evaluation without gradients `nn.TransformerEncoderLayer` passes the weights of linear1 and linear2 to one fused
    function, and `nn.TransformerEncoder` packs padded batches for it. Both have a setting that says not to.
    """
    changed = []
    for name in names:
        for above, parent in ancestors(model, name).items():
            setting, off = _fast_path(parent)
            if setting and getattr(parent, setting) != off:
                changed.append((above, setting, getattr(parent, setting)))
                setattr(parent, setting, off)
    return changed


def _fast_path(parent: nn.Module) -> tuple[str, Any]:
    if isinstance(parent, nn.TransformerEncoderLayer):
        return "activation_relu_or_gelu", 0
    if isinstance(parent, nn.TransformerEncoder):
        return "use_nested_tensor", False
    return "", None


def copy_without(model: nn.Module, names: list[tuple[str, ...]]) -> nn.Module:
    """A deep copy that shares the named layers with the model: they are about to be swapped."""
    shared = {id(module): module for module in (model.get_submodule(each[0]) for each in names)}
    with torch.no_grad():
        return copy.deepcopy(model, memo=shared)
