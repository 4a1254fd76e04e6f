"""Kinds of layers that can be swapped, what rules need to know of each, and the layer that a small one equals."""

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from multiway.compress.fits import Compressed
from multiway.errors import RunError
from multiway.nn import CPConv, TTEmbedding, TuckerConv

FAMILY = {
    "Linear": "dense",
    "Conv1D": "dense",
    "Conv1d": "convolution",
    "Conv2d": "convolution",
    "Conv3d": "convolution",
    "Embedding": "embedding",
}
OF_TORCH: dict[str, type[nn.Module]] = {name: getattr(nn, name) for name in FAMILY if name != "Conv1D"}
METHODS = ("forward", "_conv_forward")
EXAMPLE_SIZES = {"Conv1d": (64,), "Conv2d": (16, 16), "Conv3d": (8, 8, 8)}
"""Sizes of the input on which convolutions are timed where no data is given."""


def layer_kind(module: nn.Module) -> str | None:
    """Class of a layer that can be swapped, "Conv1D" being Hugging Face's dense layer; None for any other module.

    A subclass counts as long as it computes what its parent does.
    """
    for name, parent in OF_TORCH.items():
        if isinstance(module, parent):
            own = all(getattr(type(module), each, None) is getattr(parent, each, None) for each in METHODS)
            return name if own else None
    cls = type(module)
    return "Conv1D" if cls.__name__ == "Conv1D" and cls.__module__ == "transformers.pytorch_utils" else None


def dense_kind(module: nn.Module) -> str | None:
    """As `layer_kind`, for dense layers alone."""
    kind = layer_kind(module)
    return kind if kind is not None and FAMILY[kind] == "dense" else None


def features_of(module: nn.Module) -> tuple[int, int]:
    """Numbers of inputs and outputs: features, channels, or ids and features."""
    rows, columns = module.get_parameter("weight").shape[:2]
    return (rows, columns) if layer_kind(module) in ("Conv1D", "Embedding") else (columns, rows)


def as_linear(module: nn.Module) -> nn.Linear:
    """A dense layer of any class as `nn.Linear`, over the same numbers."""
    weight = module.get_parameter("weight").detach()
    weight = weight.mT if dense_kind(module) == "Conv1D" else weight
    return linear_over(weight, None if module.bias is None else module.get_parameter("bias").detach())


def linear_over(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    """A frozen dense layer over these numbers, which are not copied."""
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        linear.bias = nn.Parameter(bias, requires_grad=False)
    return linear


def dense_of(layer: Compressed, kind: str) -> nn.Module:
    """The layer of that kind with the answers of a small one."""
    if isinstance(layer, TuckerConv | CPConv):
        return layer.to_convolution()
    if isinstance(layer, TTEmbedding):
        return layer.to_embedding()
    linear = layer.to_linear()
    if kind == "Linear":
        return linear
    transposed: nn.Module = transformers("pytorch_utils").Conv1D(linear.out_features, linear.in_features)
    transposed.weight = nn.Parameter(linear.weight.detach().mT.contiguous())
    transposed.bias = nn.Parameter(linear.bias.detach())
    return transposed


def transformers(part: str = "") -> Any:
    """Hugging Face's library, or a module of it."""
    try:
        return importlib.import_module("transformers" + f".{part}" * bool(part))
    except ImportError:
        raise RunError("compress: this model needs transformers. Install it: pip install transformers.") from None


def example_input(module: nn.Module, shape: tuple[int, ...] | None, rows: int) -> Tensor:
    """An input to count and time a layer on: of the shape that it has on the data, or of so many rows or ids."""
    weight = module.get_parameter("weight")
    generator = torch.Generator().manual_seed(0)
    if isinstance(module, nn.Embedding):
        return torch.randint(module.num_embeddings, shape or (rows,), generator=generator).to(weight.device)
    inputs, _ = features_of(module)
    if isinstance(module, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        least = [(kernel - 1) * step + 1 for kernel, step in zip(module.kernel_size, module.dilation, strict=True)]
        sizes = zip(EXAMPLE_SIZES[f"Conv{len(least)}d"], least, strict=True)
        shape = shape or (4, inputs, *(max(pair) for pair in sizes))
    return torch.randn(shape or (rows, inputs), generator=generator).to(weight)
