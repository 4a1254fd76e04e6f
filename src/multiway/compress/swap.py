"""Put layers into a model and take them out again, dense ones among them; a model remembers what was swapped.

A layer whose weight the model reads in place of calling it stays: by the code of its modules, and by running it.
"""

import ast
import contextlib
import copy
import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from multiway.compress.fits import Compressed
from multiway.compress.kinds import FAMILY, OF_TORCH, dense_of, layer_kind
from multiway.errors import ConfigError
from multiway.nn import KroneckerAttention

RECORD = "_multiway_compression"
READERS: tuple[type[nn.Module], ...] = (nn.MultiheadAttention, KroneckerAttention)
"""Modules that read the weights of all layers below them."""
LEFT_FAST_PATHS: tuple[type[nn.Module], ...] = (nn.TransformerEncoderLayer, nn.TransformerEncoder)
"""Modules that read weights on a path which a swap switches off."""
NOT_RUN = ("__init__", "extra_repr", "reset_parameters", "init_weights", "_init_weights", "_reset_parameters")
"""Methods that a model that is trained does not call any more."""


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
        record.swaps[names[0]] = Swap(names, layer_kind(dense) or "Linear", dense if keep_originals else None)
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
        dense = dense_of(layer, swap.kind) if kept is None else kept
        dense = dense.to(factor.device, factor.dtype).train(layer.training).requires_grad_(factor.requires_grad)
        set_module(model, swap.names, dense)
    take_fast_paths(model, record.settings)
    del model.__dict__[RECORD]
    return model


def required_record(model: nn.Module) -> Record:
    """The memory of a compressed model."""
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
        take_fast_paths(model, settings)


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


def take_fast_paths(model: nn.Module, settings: Sequence[tuple[str, str, Any]]) -> None:
    """Undo what `leave_fast_paths` changed."""
    for name, setting, value in reversed(settings):
        setattr(model.get_submodule(name), setting, value)


def _fast_path(parent: nn.Module) -> tuple[str, Any]:
    if isinstance(parent, nn.TransformerEncoderLayer):
        return "activation_relu_or_gelu", 0
    if isinstance(parent, nn.TransformerEncoder):
        return "use_nested_tensor", False
    return "", None


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
        return "its projections of queries, keys and values (in_proj) are parameters and no layers"
    if layer_kind(module) is None and isinstance(module, tuple(OF_TORCH.values())):
        return f"{type(module).__name__} of {type(module).__module__} has a forward of its own, which a swap would lose"
    if layer_kind(module) is None:
        return f"{type(module).__name__} is none of the layers that can be swapped ({', '.join(FAMILY)})"
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
    return unlike_others(module)


def unlike_others(module: nn.Module) -> str | None:
    """What a convolution or an embedding does that its small form would not, or None."""
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


def ancestors(model: nn.Module, name: str) -> dict[str, nn.Module]:
    """Every module above a layer, by name; the model itself is ""."""
    parts = name.split(".")[:-1]
    names = [".".join(parts[:count]) for count in range(len(parts) + 1)]
    return {above: model.get_submodule(above) for above in names}


def reads(parent: nn.Module, name: str) -> bool:
    """Whether a module reads the weight of a layer below it: by its kind, in `read_layers`, or in its code."""
    named = name in getattr(parent, "read_layers", ())
    return isinstance(parent, READERS) or named or name in read_in_code(type(parent))  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4096)
def read_in_code(cls: type[nn.Module]) -> frozenset[str]:
    """Names of the layers of which a class says `self.NAME.weight` in `forward`, or in what that calls of itself.

    A class that has no `forward` is called by methods of any name.
    """
    if issubclass(cls, LEFT_FAST_PATHS):
        return frozenset()
    methods = _methods_of(cls)
    waiting = ["forward"] if "forward" in methods else [name for name in methods if name not in NOT_RUN]
    names, seen = set[str](), set[str]()
    while waiting:
        name = waiting.pop()
        chains = set[str]() if name in seen else set().union(*map(_chains_of_self, methods[name]))
        seen.add(name)
        names |= {chain.removesuffix(".weight") for chain in chains if chain.endswith(".weight")}
        waiting += chains & methods.keys()
    return frozenset(names)


def _methods_of(cls: type[nn.Module]) -> dict[str, list[Any]]:
    """Functions and properties of a class by name, with those of its parents, which `super()` may call."""
    methods: dict[str, list[Any]] = {}
    for each in cls.__mro__[: cls.__mro__.index(nn.Module)]:
        for name, value in vars(each).items():
            function = value.fget if isinstance(value, property) else value
            if inspect.isfunction(function):
                methods.setdefault(name, []).append(function)
    return methods


def _chains_of_self(function: Any) -> set[str]:
    """What a function says of itself, such as `a` and `a.weight` for `self.a.weight`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):  # no source at hand
        return set()
    chains = (_chain(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {chain.removeprefix("self.") for chain in chains if chain.startswith("self.")}


def _chain(node: ast.expr) -> str:
    """An expression such as `self.a.b` as text, `super()` being `self`; "" for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        return "self"
    before = _chain(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


@contextlib.contextmanager
def watched(layers: Mapping[str, nn.Module]) -> Iterator[set[str]]:
    """Names of those layers whose weight is read while the block runs, other than by their own forward."""
    seen, kinds = set[str](), {name: type(layer) for name, layer in layers.items()}
    try:
        for name, layer in layers.items():
            layer.__class__ = _watching(type(layer), name, seen)
        yield seen
    finally:
        for name, layer in layers.items():
            layer.__class__ = kinds[name]


def _watching(cls: type[nn.Module], name: str, seen: set[str]) -> type[nn.Module]:
    """A class like this one that says when its weight is read from outside."""
    running: list[bool] = []

    def __getattr__(self: nn.Module, attribute: str) -> Any:
        if attribute == "weight" and not running:
            seen.add(name)
        return nn.Module.__getattr__(self, attribute)

    def forward(self: nn.Module, *inputs: Any, **named: Any) -> Any:
        running.append(True)
        try:
            return cls.forward(self, *inputs, **named)
        finally:
            running.pop()

    return type(cls.__name__, (cls,), {"__getattr__": __getattr__, "forward": forward, "__module__": cls.__module__})
