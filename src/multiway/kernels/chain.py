"""A chain of small products on every sample, forward and backward in one call each (see `chain.c`)."""

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from multiway.kernels import gate
from multiway.kernels.library import launcher, library
from multiway.kernels.plain import Plain, has_memory, plain_gradients

BIASES = {None: 0, "full": 1, "ascending": 2, "descending": 3}
THREAD_WORK = 2_500_000
"""Multiply-adds, those of half-empty vectors included, that are worth a thread of their own: some 30 µs.

With less, a thread gains little, and where the cores are busy with something else, waiting for it costs milliseconds.
"""


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
    address: int
    pointers: struct.Struct
    """What a backward call hands over; a forward call has zeros at the end."""
    out_shape: tuple[int, ...]
    work: int
    """Multiply-adds per sample, about."""

    @classmethod
    def of(
        cls, factors: Sequence[Factor], links: Sequence[Link], inputs: int, out_shape: tuple[int, ...], **kind: Any
    ) -> "Chain":
        """Lay out a chain; `terms`, `bias` and `work` name the rest."""
        bias: str | None = kind["bias"]
        head = (len(factors), len(links), kind["terms"], BIASES[bias], inputs, math.prod(out_shape))
        flat = [*head, *(n for part in (*factors, *links) for n in part)]
        layout = (ctypes.c_longlong * len(flat))(*flat)
        parameters = len(factors) + (0 if bias is None else 1 if bias == "full" else len(factors))
        return cls(layout, ctypes.addressof(layout), struct.Struct(f"{4 + 2 * parameters}q"), out_shape, kind["work"])


def can_run(*tensors: Tensor) -> bool:
    """Whether these are plain float32 tensors in the processor's memory, and nobody watches or transforms the ops."""
    if not gate.is_open(tensors[0]) or library() is None or _is_watched():
        return False
    for tensor in tensors:
        plain = type(tensor) is Tensor or type(tensor) is torch.nn.Parameter
        if not (plain and tensor.dtype is torch.float32 and tensor.is_cpu and tensor.is_contiguous()):
            return False
    return tensors[0].layout is torch.strided and tensors[0].numel() > 0


def _is_watched() -> bool:
    """Whether something acts on operations that compiled code has none of: a mode, a trace, autocast."""
    return (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None
        or torch.is_autocast_enabled("cpu")
    )


def by_chain(choose: Callable[[int], Chain | None], plain: Plain, x: Tensor, *parameters: Tensor) -> Tensor:
    """`plain(x, *parameters)`, by a chain where it `can_run` and one is chosen for so many rows; see `run_chain`."""
    chain = choose(x.shape[0]) if can_run(x, *parameters) else None
    return plain(x, *parameters) if chain is None else run_chain(chain, plain, x, *parameters)


def run_chain(chain: Chain, plain: Plain, x: Tensor, *parameters: Tensor) -> Tensor:
    """Apply a chain to rows, batch first, that `can_run`; parameters are its factors, then biases as it has them.

    Args:
        chain: The layout.
        plain: The same function of x and parameters in ops of torch, for derivatives of derivatives.
        x: Rows.
        parameters: One per factor; then, by the kind of bias, none, one, or one per factor.
    """
    if torch.is_grad_enabled():
        return _Run.apply(chain, plain, x, *parameters)  # type: ignore[no-any-return,no-untyped-call]
    return _forward(chain, x, parameters)


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, chain: Chain, plain: Plain, x: Tensor, *parameters: Tensor) -> Tensor:
        ctx.chain, ctx.plain = chain, plain
        ctx.save_for_backward(x, *parameters)
        return _forward(chain, x, parameters)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        tensors, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        grad = above[0].contiguous()
        if torch.is_grad_enabled() or not can_run(grad, *tensors) or not has_memory(grad):
            return None, None, *plain_gradients(ctx.plain, tensors, needed, grad)
        found = [torch.empty_like(tensor) if need else None for tensor, need in zip(tensors, needed, strict=True)]
        x, *parameters = tensors
        into, *gradients = [0 if tensor is None else tensor.data_ptr() for tensor in found]
        _call(ctx.chain, x, 0, grad.data_ptr(), into, *map(Tensor.data_ptr, parameters), *gradients)
        return None, None, *found


def _forward(chain: Chain, x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    out = x.new_empty(x.shape[0], *chain.out_shape)
    _call(chain, x, out.data_ptr(), 0, 0, *map(Tensor.data_ptr, parameters), *[0] * len(parameters))
    return out


def _call(chain: Chain, x: Tensor, *pointers: int) -> None:
    """Hand over pointers in the order of `pointers` in `chain.c`."""
    rows = x.shape[0]
    threads = max(1, min(torch.get_num_threads(), rows * chain.work // THREAD_WORK))
    given = chain.pointers.pack(x.data_ptr(), *pointers)
    failed = library().chain(chain.address, given, rows, threads, launcher() if threads > 1 else None)  # type: ignore[union-attr]
    if failed:
        raise MemoryError("multiway kernels: no memory for the scratch of a chain of products.")
