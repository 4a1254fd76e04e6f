"""A chain of small products on every sample, forward and backward in one call each (see `chain.c`)."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from multiway.kernels.library import launcher, library

BIASES = {None: 0, "full": 1, "ascending": 2, "descending": 3}
THREAD_WORK = 2_000_000
"""Multiply-adds that are worth a thread of their own."""


class Factor(NamedTuple):
    """Sizes of a layer's factor, (left, out, in, right) within a term, and where an element lies."""

    left: int
    out: int
    in_: int
    right: int
    by_term: int
    by_left: int
    by_out: int
    by_in: int
    by_right: int


class Link(NamedTuple):
    """A product of the chain: factors first to last - 1 joined, an identity behind them, their place in the matrix.

    The matrix (columns, inner) acts on a sample seen as (before, inner, after).
    """

    first: int
    last: int
    rest: int
    by_term: int
    by_left: int
    by_out: int
    by_in: int
    by_right: int
    before: int
    inner: int
    columns: int
    after: int


class Chain(NamedTuple):
    """All that is known before there is a batch."""

    layout: Any
    """`header`, factors and steps of `chain.c`."""
    factors: int
    bias: str | None
    outputs: int
    work: int
    """Multiply-adds per sample."""

    @classmethod
    def of(cls, factors: Sequence[Factor], links: Sequence[Link], inputs: int, outputs: int, **kind: Any) -> "Chain":
        """Lay out a chain; `terms` and `bias` name the rest."""
        bias: str | None = kind["bias"]
        head = (len(factors), len(links), kind["terms"], BIASES[bias], inputs, outputs)
        flat = [*head, *(n for part in (*factors, *links) for n in part)]
        work = sum(link.before * link.inner * link.columns * link.after for link in links)
        return cls((ctypes.c_longlong * len(flat))(*flat), len(factors), bias, outputs, work)


Slow = Callable[..., Tensor]


def can_run(*tensors: Tensor) -> bool:
    """Whether these are plain float32 tensors in the processor's memory, and nobody watches or transforms the ops."""
    return (
        not torch.compiler.is_compiling()
        and library() is not None
        and torch._C._len_torch_dispatch_stack() == 0
        and not torch._C._are_functorch_transforms_active()
        and forward_ad._current_level < 0
        and torch._C._get_tracing_state() is None
        and not torch.is_autocast_enabled("cpu")
        and all(map(_is_plain, tensors))
        and tensors[0].numel() > 0
    )


def _is_plain(tensor: Tensor) -> bool:
    return (
        type(tensor) in (Tensor, torch.nn.Parameter)
        and tensor.dtype is torch.float32
        and tensor.is_cpu
        and tensor.layout is torch.strided
        and tensor.is_contiguous()
        and not tensor.is_neg()
    )


def run_chain(chain: Chain, slow: Slow, x: Tensor, *parameters: Tensor) -> Tensor:
    """Apply a chain to rows `(batch, inputs)` that `can_run`; parameters are its factors, then biases as it has them.

    Args:
        chain: The layout.
        slow: The same function of x and parameters in ops of torch, for derivatives of derivatives.
        x: Rows.
        parameters: One per factor; then, by the kind of bias, none, one, or one per factor.
    """
    if torch.is_grad_enabled():
        return _Run.apply(chain, slow, x, *parameters)  # type: ignore[no-any-return,no-untyped-call]
    return _forward(chain, x, parameters)


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, chain: Chain, slow: Slow, x: Tensor, *parameters: Tensor) -> Tensor:
        ctx.chain, ctx.slow = chain, slow
        ctx.save_for_backward(x, *parameters)
        return _forward(chain, x, parameters)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        tensors, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        if torch.is_grad_enabled() or not can_run(grad := above[0].contiguous()):
            return None, None, *_slow_gradients(ctx.slow, tensors, needed, above[0])
        found = [torch.empty_like(tensor) if need else None for tensor, need in zip(tensors, needed, strict=True)]
        x, *parameters = tensors
        _call(ctx.chain, x, (x, None, grad, found[0]), parameters, found[1:])
        return None, None, *found


def _forward(chain: Chain, x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    out = x.new_empty(x.shape[0], chain.outputs)
    _call(chain, x, (x, out, None, None), parameters, [None] * len(parameters))
    return out


def _call(
    chain: Chain,
    x: Tensor,
    rows: Sequence[Tensor | None],
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
) -> None:
    """Hand over pointers in the order of `pointers` in `chain.c`."""
    pairs = [(p.data_ptr(), None if g is None else g.data_ptr()) for p, g in zip(parameters, gradients, strict=True)]
    count, none = chain.factors, (None, None)
    flat: list[int | None] = [None if tensor is None else tensor.data_ptr() for tensor in rows]
    flat += [*none, *(pairs[count] if chain.bias == "full" else none)]
    biases = pairs[count:] if chain.bias in ("ascending", "descending") else [none] * count
    for pair, bias in zip(pairs[:count], biases, strict=True):
        flat += [*pair, *bias]
    threads = max(1, min(torch.get_num_threads(), x.shape[0] * chain.work // THREAD_WORK))
    start = launcher() if threads > 1 else None
    if library().chain(chain.layout, (ctypes.c_void_p * len(flat))(*flat), x.shape[0], threads, start):  # type: ignore[union-attr]
        raise MemoryError("multiway kernels: no memory for the scratch of a chain of products.")


def _slow_gradients(slow: Slow, tensors: Sequence[Tensor], needed: Sequence[bool], grad: Tensor) -> list[Tensor | None]:
    """Gradients by ops of torch, which can be differentiated again; views stand between them and what they hang on."""
    with torch.enable_grad():
        views = [tensor.view_as(tensor) for tensor in tensors]
        out = slow(*views)
    wanted = [view for view, need in zip(views, needed, strict=True) if need]
    found = iter(torch.autograd.grad(out, wanted, grad, create_graph=torch.is_grad_enabled()))
    return [next(found) if need else None for need in needed]
