"""The dense layers that can be swapped, whatever their class, and why others cannot."""

import importlib
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from multiway.errors import RunError
from multiway.nn import KroneckerAttention

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
READERS: tuple[type[nn.Module], ...] = (nn.MultiheadAttention, KroneckerAttention)
"""Modules that read the weights of the layers below them instead of calling them."""


def kind_of(module: nn.Module) -> str | None:
    """Name the kind: "Linear", "Conv1D" (Hugging Face's, its weight transposed), or None for any other layer."""
    if isinstance(module, nn.Linear) and type(module).forward is nn.Linear.forward:
        return "Linear"
    cls = type(module)
    return "Conv1D" if cls.__name__ == "Conv1D" and cls.__module__ == "transformers.pytorch_utils" else None


def features_of(module: nn.Module) -> tuple[int, int]:
    """Numbers of inputs and outputs of a dense layer."""
    rows, columns = module.get_parameter("weight").shape
    return (rows, columns) if kind_of(module) == "Conv1D" else (columns, rows)


def as_linear(module: nn.Module) -> nn.Linear:
    """A dense layer of any class as `nn.Linear`, over the same numbers."""
    weight = module.get_parameter("weight").detach()
    weight = weight.mT if kind_of(module) == "Conv1D" else weight
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=module.bias is not None, device="meta")
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if module.bias is not None:
        linear.bias = nn.Parameter(module.get_parameter("bias").detach(), requires_grad=False)
    return linear


def from_linear(linear: nn.Linear, kind: str) -> nn.Module:
    """A dense layer of that kind with the numbers of `linear`.

    Raises:
        RunError: The kind is of a library that is not installed.
    """
    if kind == "Linear":
        return linear
    layer: nn.Module = transformers("pytorch_utils").Conv1D(linear.out_features, linear.in_features)
    layer.weight = nn.Parameter(linear.weight.detach().mT.contiguous())
    layer.bias = nn.Parameter(linear.bias.detach())
    return layer


def transformers(part: str = "") -> Any:
    """Hugging Face's library, or a module of it.

    Raises:
        RunError: It is not installed.
    """
    try:
        return importlib.import_module("transformers" + f".{part}" * bool(part))
    except ImportError:
        raise RunError("compress: this model needs transformers. Install it: pip install transformers.") from None


def refusal(model: nn.Module, name: str, module: nn.Module, owners: dict[int, list[str]]) -> str | None:
    """Why this layer cannot be swapped, or None.

    Args:
        model: The whole model.
        name: Name of the layer in it.
        module: The layer.
        owners: From `parameter_owners`.
    """
    if kind_of(module) is None:
        return (
            f"{type(module).__name__} is not a dense layer that can be swapped (nn.Linear, or Conv1D of transformers)"
        )
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
    reader = next((parent for parent in ancestors(model, name).values() if isinstance(parent, READERS)), None)
    if reader is not None:
        return f"{type(reader).__name__} reads its weight and never calls it, so that a swap would break the attention"
    return None if bool(torch.isfinite(weight).all()) else "its weight holds a NaN or an infinity"


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
