"""Put layers into a model and take them out again, dense ones among them; a model remembers what was swapped."""

import contextlib
import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from multiway.compress.attentions import OpenAttention, close, open_attentions
from multiway.compress.fits import Compressed
from multiway.compress.kinds import FAMILY, OF_TORCH, dense_of, layer_kind
from multiway.compress.reading import ancestors, leave_fast_paths, reads, take_fast_paths
from multiway.errors import ConfigError

RECORD = "_multiway_compression"
ADAPTERS = "_multiway_adapters"
"""Where a model remembers its adapters."""


@dataclasses.dataclass
class Swap:
    """One layer that was swapped.

    names: Every name that it goes by.
    kind: Class of the layer that was swapped, as `layer_kind` has it.
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


def is_swapped(model: nn.Module) -> bool:
    """Whether layers of a model were swapped."""
    return bool(model.__dict__.get(RECORD, Record()).swaps)


def swap_in(model: nn.Module, layers: Mapping[tuple[str, ...], Compressed], *, keep_originals: bool) -> None:
    """Put layers in the places of dense ones, under all their names."""
    record = model.__dict__.setdefault(RECORD, Record())
    with open_attentions(model):
        for names, layer in layers.items():
            dense = model.get_submodule(names[0])
            weight = dense.get_parameter("weight")
            layer.train(dense.training).requires_grad_(weight.requires_grad)
            set_module(model, names, layer)
            record.swaps[names[0]] = Swap(names, layer_kind(dense) or "Linear", dense if keep_originals else None)
    for names in layers:
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
    record = require_record(model)
    for swap in record.swaps.values():
        layer: Compressed = model.get_submodule(swap.names[0])  # type: ignore[assignment]
        factor = next(layer.parameters())
        kept = copy.deepcopy(swap.original) if originals else None
        dense = dense_of(layer, swap.kind) if kept is None else kept
        dense = dense.to(factor.device, factor.dtype).train(layer.training).requires_grad_(factor.requires_grad)
        set_module(model, swap.names, dense)
    close(model, record.settings)
    del model.__dict__[RECORD]
    return model


def require_record(model: nn.Module) -> Record:
    """The memory of a compressed model."""
    if not is_swapped(model):
        raise ConfigError("compress: nothing was swapped in this model. Give the model that plan.apply() returned.")
    record: Record = model.__dict__[RECORD]
    return record


def to_save(model: nn.Module) -> nn.Module:
    """The model itself where torch.compile wraps it, which renames its parameters; one with adapters is refused."""
    plain: nn.Module = getattr(model, "_orig_mod", model)
    if any(ADAPTERS in module.__dict__ for module in plain.modules()):
        raise ConfigError("save: this model has adapters. Merge them first, or write them alone by save_adapters.")
    return plain


def set_module(model: nn.Module, names: tuple[str, ...], module: nn.Module) -> None:
    """Put one module in the place of another, under every name."""
    for name in names:
        parent, _, last = name.rpartition(".")
        model.get_submodule(parent)._modules[last] = module


@contextlib.contextmanager
def lend_layers(model: nn.Module, layers: Mapping[tuple[str, ...], nn.Module]) -> Iterator[None]:
    """Lend a model other layers for a moment; whatever happens, it gets its own back."""
    with open_attentions(model):
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
            take_fast_paths(model, settings)


def copy_without(model: nn.Module, names: list[tuple[str, ...]]) -> nn.Module:
    """A deep copy that shares the named layers with the model: they are about to be swapped."""
    shared = {id(module): module for module in (model.get_submodule(aliases[0]) for aliases in names)}
    with torch.no_grad():
        return copy.deepcopy(model, memo=shared)


HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def refusal(model: nn.Module, name: str, module: nn.Module, owners: dict[int, list[str]]) -> str | None:
    """Why this layer cannot be swapped, or None."""
    above = ancestors(model, name)
    adapter = next((each for each in (module, *above.values()) if hasattr(type(each), "adapter_layer_names")), None)
    if adapter is not None:
        return f"it is part of an adapter of PEFT ({type(adapter).__name__}); merge that first"
    if isinstance(module, nn.MultiheadAttention):
        return (
            "its projections (in_proj) are parameters and no layers, and stay so for keys of another size, with bias_k "
            "or add_zero_attn, and where the model reads them"
        )
    if isinstance(module, OpenAttention):
        return "its layers are in_proj and out_proj"
    if layer_kind(module) is None and isinstance(module, tuple(OF_TORCH.values())):
        return f"{type(module).__name__} of {type(module).__module__} has a forward of its own, which a swap would lose"
    if layer_kind(module) is None:
        kind = type(module)
        place = f" of {kind.__module__}" if kind.__name__ in FAMILY else ""  # quantised ones bear the same name
        return f"{kind.__name__}{place} is none of the layers that can be swapped ({', '.join(FAMILY)})"
    if parametrize.is_parametrized(module) or "weight" not in module._parameters:
        return (
            "its weight is computed from others (a parametrisation such as weight_norm, or pruning); remove that first"
        )
    weight = module.get_parameter("weight")
    if isinstance(weight, nn.UninitializedParameter):
        return "its sizes are not known yet; run the model once first"
    if type(weight.data) is not Tensor or not weight.is_floating_point():
        return f"its weight is a {type(weight.data).__name__} of {weight.dtype}, quantised or spread over devices"
    if weight.is_meta:
        return "its weight is on the meta device and holds no numbers; load the model first"
    if any(getattr(module, hooks) for hooks in HOOKS):
        return "it has hooks, which a swap would lose; remove them first"
    for part in module._parameters.values():
        if part is not None and len(owners[_place(part)]) > 1:
            return f"its parameters are tied: {' and '.join(owners[_place(part)])} are the same tensor"
    for prefix, parent in above.items():
        if reads(parent, name.removeprefix(f"{prefix}.")):
            return f"{type(parent).__name__} reads its weight, so that a swap would break it"
    if not bool(torch.isfinite(weight).all()):
        return "its weight holds a NaN or an infinity"
    if getattr(module, "groups", 1) > 1:
        return f"its channels are in {module.groups} groups, each of which is small already"
    if isinstance(module, nn.Embedding) and (module.max_norm is not None or module.sparse):
        return "its vectors are scaled when they are read (max_norm), or its gradients are sparse"
    return None


def parameter_owners(model: nn.Module) -> dict[int, list[str]]:
    """Names of every parameter's tensor, one for each module that owns it; a shared module counts once."""
    owners: dict[int, list[str]] = {}
    for prefix, module in model.named_modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                owners.setdefault(_place(parameter), []).append(f"{prefix}.{name}" if prefix else name)
    return owners


def _place(parameter: Tensor) -> int:
    """Where the tensor's numbers are; what has none yet is itself."""
    known = not isinstance(parameter, nn.UninitializedParameter) and not parameter.is_meta
    return (parameter.data_ptr() or id(parameter)) if known else id(parameter)
