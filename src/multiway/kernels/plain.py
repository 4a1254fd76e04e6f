"""Gradients of a fast path by plain operations of torch: where they are differentiated again, or come in batches."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Plain = Callable[..., Tensor]


def has_memory(tensor: Tensor) -> bool:
    """Whether there are numbers to point at; a batch of cotangents (`is_grads_batched`) looks plain but has none."""
    try:
        return tensor.data_ptr() != 0
    except RuntimeError:
        return False


def plain_gradients(
    plain: Plain, tensors: Sequence[Tensor], needed: Sequence[bool], grad: Tensor
) -> list[Tensor | None]:
    """Gradients by ops of torch, which can be differentiated again; views stand between them and what they hang on."""
    with torch.enable_grad():
        views = [tensor.view_as(tensor) for tensor in tensors]
        out = plain(*views)
    wanted = [view for view, need in zip(views, needed, strict=True) if need]
    found = iter(torch.autograd.grad(out, wanted, grad, create_graph=torch.is_grad_enabled()))
    return [next(found) if need else None for need in needed]
