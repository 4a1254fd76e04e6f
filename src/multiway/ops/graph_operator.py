"""The graph filter in strips as an operator, which graphs hold: compilers would follow the dense form.

`multiway::graph_filter(key, value, damping, reach, causal, normalisation)` gives Y, what steps receive over edges, and
the strips that the gradient needs. Keys and values are `(graphs, length, dim)`; all lags count where no reach is given.
"""

from typing import Any

import torch
from torch import Tensor

from multiway.kernels.compiled import plain_gradients
from multiway.kernels.operators import LIBRARY, define
from multiway.ops.graph_strips import (
    StripForm,
    filter_by_strips,
    form_strips,
    plain_filter,
    strip_gradients,
    strip_room,
    strips_in,
)

FORM = "float damping, int? reach, bool causal, str normalisation"


def call_graph_filter(
    key: Tensor, value: Tensor, damping: float, *, reach: int | None, causal: bool, normalisation: str
) -> Tensor:
    """`strip_graph_filter`, as one operation of a graph."""
    flat = (x.reshape(-1, *x.shape[-2:]) for x in (key, value))
    out: Tensor = torch.ops.multiway.graph_filter.default(*flat, damping, reach, causal, normalisation)[0]
    return out.view(value.shape)


def _form(key: Tensor, damping: float, reach: int | None, causal: bool, normalisation: str) -> StripForm:
    return StripForm(damping, key.shape[1] if reach is None else reach, causal, normalisation)


def _filter(key: Tensor, value: Tensor, *given: Any) -> tuple[Tensor, Tensor, Tensor]:
    form, kept = _form(key, *given), key.new_empty(strip_room(key.shape, given[1]))
    places = [strip.entries for strip in strips_in(kept, key.shape, form)]
    strips = form_strips(key, form, places)
    kept[sum(place.numel() for place in places) :] = 0  # the room of shorter strips: equal calls make equal numbers
    return *filter_by_strips(value.contiguous(), strips, form), kept


def _fake_filter(key: Tensor, value: Tensor, *given: Any) -> tuple[Tensor, Tensor, Tensor]:
    kept = key.new_empty(strip_room(key.shape, given[1]))
    return value.new_empty(value.shape), value.new_empty(*value.shape[:2], 1), kept


def _gradients(
    grad: Tensor, key: Tensor, value: Tensor, out: Tensor, received: Tensor, kept: Tensor, *given: Any
) -> tuple[Tensor, Tensor]:
    form = _form(key, *given)
    key_grad, value_grad = strip_gradients(
        grad.contiguous(), (key, value), (out, received), strips_in(kept, key.shape, form), form
    )
    assert key_grad is not None
    return key_grad, value_grad


def _fake_gradients(grad: Tensor, key: Tensor, value: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    return key.new_empty(key.shape), value.new_empty(value.shape)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    key, value, *ctx.given = inputs
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(key, value, *output)


def _differentiate(ctx: Any, grad: Tensor, *of_kept: Tensor) -> tuple[Tensor | None, ...]:
    """By operations of torch where the gradients are to be differentiated."""
    tensors, given = ctx.saved_tensors, ctx.given
    if torch.is_grad_enabled():
        plain, needed = plain_filter(_form(tensors[0], *given)), ctx.needs_input_grad[:2]
        grads = plain_gradients(plain, tensors[:2], needed, grad)
    else:
        grads = [*torch.ops.multiway.graph_filter_backward.default(grad, *tensors, *given)]
    return *grads, *[None] * len(given)


def _batched(info: Any, in_dims: Any, key: Tensor, value: Tensor, *given: Any) -> tuple[tuple[Tensor, ...], Any]:
    """A batch of graphs is more graphs; what is kept of all stands in one tensor."""
    sides = [
        x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
        for x, dim in zip((key, value), in_dims, strict=False)
    ]
    flat = (x.flatten(0, 1) for x in sides)
    out, received, kept = torch.ops.multiway.graph_filter.default(*flat, *given)
    size = (info.batch_size, -1)
    return (out.unflatten(0, size), received.unflatten(0, size), kept), (0, 0, None)


define("graph_filter", f"Tensor key, Tensor value, {FORM}", "(Tensor, Tensor, Tensor)", _filter, _fake_filter)
define(
    "graph_filter_backward",
    f"Tensor grad, Tensor key, Tensor value, Tensor out, Tensor received, Tensor kept, {FORM}",
    "(Tensor, Tensor)",
    _gradients,
    _fake_gradients,
)
torch.library.register_autograd("multiway::graph_filter", _differentiate, setup_context=_keep, lib=LIBRARY)
torch.library.register_vmap("multiway::graph_filter", _batched, lib=LIBRARY)
