"""Scores of additive attention, forward and backward in one call each (see `additive.c`)."""

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from multiway.kernels.chain import can_run
from multiway.kernels.library import launcher, library
from multiway.kernels.plain import Plain, has_memory, plain_gradients

THREAD_WORK = 50_000
"""Values of tanh that are worth a thread of their own: some 30 µs, as for a chain."""


def by_kernel(plain: Plain, query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """`plain(query, key, weight)`, compiled where that `can_run`.

    Args:
        plain: The same function in ops of torch.
        query: `(..., heads, queries, features)`.
        key: `(..., heads, keys, features)`, of the same leading axes.
        weight: `(heads, features)`.
    """
    tensors = (query.contiguous(), key.contiguous(), weight.contiguous())
    if not can_run(*tensors) or query.shape[:-2] != key.shape[:-2] or not key.numel():
        return plain(query, key, weight)
    return _Scores.apply(plain, *tensors)  # type: ignore[no-any-return,no-untyped-call]


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plain: Plain, query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
        ctx.plain = plain
        ctx.save_for_backward(query, key, weight)
        out = query.new_empty(*query.shape[:-1], key.shape[-2])
        _call((query, key, weight), (out,), None)
        return out

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        tensors, grad = ctx.saved_tensors, above[0].contiguous()
        if torch.is_grad_enabled() or not can_run(grad, *tensors) or not has_memory(grad):
            return None, *plain_gradients(ctx.plain, tensors, ctx.needs_input_grad[1:], grad)
        query, key, weight = tensors
        into = torch.empty_like(query), torch.empty_like(key), query.new_empty(*query.shape[:-2], weight.shape[-1])
        _call(tensors, (None, *into), grad)
        return None, *into[:2], into[2].view(-1, *weight.shape).sum(0)


def _call(given: Sequence[Tensor], made: Sequence[Tensor | None], grad: Tensor | None) -> None:
    query, key, weight = given
    batch, (keys, features) = query.shape[:-2].numel(), key.shape[-2:]
    sizes = (batch, len(weight), query.shape[-2], keys, features)
    threads = max(1, min(torch.get_num_threads(), batch, query.numel() * keys // THREAD_WORK))
    library().additive(  # type: ignore[union-attr]
        _addresses(given), _addresses(made, 4), None if grad is None else grad.data_ptr(),
        (ctypes.c_longlong * 5)(*sizes), threads, launcher() if threads > 1 else None,
    )  # fmt: skip


def _addresses(tensors: Sequence[Tensor | None], count: int = 3) -> Any:
    found = (None if tensor is None else tensor.data_ptr() for tensor in tensors)
    return (ctypes.c_void_p * count)(*found)
