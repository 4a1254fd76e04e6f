"""The compiled kernels, forward and backward in one call each: chains (`chain.c`) and scores (`additive.c`)."""

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode  # where torch documents the mode itself

from multiway.kernels.library import launcher, library

Plain = Callable[..., Tensor]
Gradients = list[Tensor | None]

PLAIN = {Tensor, torch.nn.Parameter}
"""Types whose numbers are all there is to them."""
BIASES = {None: 0, "full": 1, "ascending": 2, "descending": 3}
CHAIN_WORK = 2_500_000
"""Multiply-adds, those of half-empty vectors included, that are worth a thread of their own: some 30 µs.

With less, a thread gains little, and where the cores are busy with something else, waiting for it costs milliseconds.
"""
SCORE_WORK = 50_000
"""Values of tanh that are worth as much."""


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
    """A chain of products on every row: factors, then biases. All that is known before there is a batch."""

    layout: Any
    """`header`, factors and steps of `chain.c`."""
    address: int
    pointers: struct.Struct
    """What a backward call hands over; a forward call has zeros at the end."""
    out_shape: tuple[int, ...]
    work: int
    """Multiply-adds per sample, about."""
    inputs: int
    """Numbers of a sample."""

    @classmethod
    def lay_out(
        cls,
        factors: Sequence[Factor],
        links: Sequence[Link],
        inputs: int,
        out_shape: tuple[int, ...],
        *,
        terms: int,
        bias: str | None,
        work: int,
    ) -> "Chain":
        """Write down a chain as `chain.c` reads it."""
        head = (len(factors), len(links), terms, BIASES[bias], inputs, math.prod(out_shape))
        flat = [*head, *(n for part in (*factors, *links) for n in part)]
        layout = (ctypes.c_longlong * len(flat))(*flat)
        parameters = len(factors) + (0 if bias is None else 1 if bias == "full" else len(factors))
        pointers = struct.Struct(f"{4 + 2 * parameters}q")
        return cls(layout, ctypes.addressof(layout), pointers, out_shape, work, inputs)

    def fits(self, *tensors: Tensor) -> bool:
        """Whether rows have as many numbers as the chain takes."""
        return tensors[0].numel() == tensors[0].shape[0] * self.inputs

    def forward(self, *tensors: Tensor) -> Tensor:
        """The result, without a gradient."""
        x, *parameters = tensors
        out = x.new_empty(x.shape[0], *self.out_shape)
        _call_chain(self, x, out.data_ptr(), 0, 0, *map(Tensor.data_ptr, parameters), *[0] * len(parameters))
        return out

    def gradients(self, grad: Tensor, tensors: Sequence[Tensor], needed: Sequence[bool]) -> Gradients:
        """Of x and of the parameters where they are needed."""
        grads = [torch.empty_like(tensor) if need else None for tensor, need in zip(tensors, needed, strict=True)]
        x, *parameters = tensors
        into, *gradients = [0 if tensor is None else tensor.data_ptr() for tensor in grads]
        _call_chain(self, x, 0, grad.data_ptr(), into, *map(Tensor.data_ptr, parameters), *gradients)
        return grads


def _call_chain(chain: Chain, x: Tensor, *pointers: int) -> None:
    """Hand over pointers in the order of `pointers` in `chain.c`."""
    rows = x.shape[0]
    threads = max(1, min(torch.get_num_threads(), rows * chain.work // CHAIN_WORK))
    given = chain.pointers.pack(x.data_ptr(), *pointers)
    failed = library().chain(chain.address, given, rows, threads, launcher() if threads > 1 else None)  # type: ignore[union-attr]
    if failed:
        raise MemoryError("multiway kernels: no memory for the scratch of a chain of products.")


class Scores:
    """The kernel of `ops.additive_scores`: of queries, keys and weights."""

    def fits(self, *tensors: Tensor) -> bool:
        """Whether sizes agree, and there are keys."""
        query, key, weight = tensors
        alike = key.shape[-1] == query.shape[-1] and weight.shape == (query.shape[-3], query.shape[-1])
        return alike and query.shape[:-2] == key.shape[:-2] and key.numel() > 0

    def forward(self, *tensors: Tensor) -> Tensor:
        """The scores, without a gradient."""
        query, key, _ = tensors
        out = query.new_empty(*query.shape[:-1], key.shape[-2])
        _call_scores(tensors, (out,), None)
        return out

    def gradients(self, grad: Tensor, tensors: Sequence[Tensor], needed: Sequence[bool]) -> Gradients:
        """Of all three."""
        query, key, weight = tensors
        into = torch.empty_like(query), torch.empty_like(key), query.new_empty(*query.shape[:-2], weight.shape[-1])
        _call_scores(tensors, (None, *into), grad)
        return [*into[:2], into[2].view(-1, *weight.shape).sum(0)]


def _call_scores(given: Sequence[Tensor], made: Sequence[Tensor | None], grad: Tensor | None) -> None:
    query, key, weight = given
    batch, (keys, features) = query.shape[:-2].numel(), key.shape[-2:]
    sizes = (batch, len(weight), query.shape[-2], keys, features)
    threads = max(1, min(torch.get_num_threads(), batch, query.numel() * keys // SCORE_WORK))
    call = library().additive  # type: ignore[union-attr]
    pointers = _addresses(given), _addresses(made, 4), None if grad is None else grad.data_ptr()
    call(*pointers, (ctypes.c_longlong * 5)(*sizes), threads, launcher() if threads > 1 else None)


def _addresses(tensors: Sequence[Tensor | None], count: int = 3) -> Any:
    return (ctypes.c_void_p * count)(*(None if tensor is None else tensor.data_ptr() for tensor in tensors))


Kernel = Chain | Scores
"""A compiled function of contiguous float32 tensors. What does not fit, it would read beyond its end."""


def run_kernel(kernel: Kernel, plain: Plain, *tensors: Tensor) -> Tensor | None:
    """The result of a kernel with its gradient, or None where it cannot run.

    Args:
        kernel: What runs.
        plain: The same function in operations of torch, for derivatives of derivatives.
        tensors: What both take.
    """
    if is_in_torch_dispatch_mode() or not (can_run(*tensors) and kernel.fits(*tensors)):
        return None
    try:
        return _Compiled.apply(kernel, plain, *tensors)  # type: ignore[no-any-return,no-untyped-call]
    except RuntimeError:  # forward derivatives and transforms of torch.func take no function of this kind
        return None


def can_run(*tensors: Tensor) -> bool:
    """Whether these are plain float32 tensors in the processor's memory, outside of graphs and of autocast."""
    if library() is None or torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined,no-untyped-call]
        return False
    single = torch.float32
    for tensor in tensors:
        if not (type(tensor) in PLAIN and tensor.dtype is single and tensor.is_cpu and tensor.is_contiguous()):
            return False
    x = tensors[0]
    return x.layout is torch.strided and x.numel() > 0 and not torch.is_autocast_enabled("cpu")


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, kernel: Kernel, plain: Plain, *tensors: Tensor) -> Tensor:
        ctx.kernel, ctx.plain = kernel, plain
        ctx.save_for_backward(*tensors)
        return kernel.forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        tensors, needed, grad = ctx.saved_tensors, ctx.needs_input_grad[2:], above[0].contiguous()
        is_followed = torch.is_grad_enabled() or is_in_torch_dispatch_mode()
        if is_followed or not can_run(grad, *tensors) or not has_memory(grad):
            return None, None, *plain_gradients(ctx.plain, tensors, needed, grad)
        return None, None, *ctx.kernel.gradients(grad, tensors, needed)


def has_memory(tensor: Tensor) -> bool:
    """Whether there are numbers to point at; what `torch.func` wraps and batches of cotangents have none."""
    try:
        return tensor.data_ptr() != 0
    except RuntimeError:
        return False


def plain_gradients(plain: Plain, tensors: Sequence[Tensor], needed: Sequence[bool], grad: Tensor) -> Gradients:
    """Gradients by ops of torch, which can be differentiated twice; views stand between them and what they hang on."""
    with torch.enable_grad():
        views = [tensor.view_as(tensor) for tensor in tensors]
        out = plain(*views)
    inputs = [view for view, need in zip(views, needed, strict=True) if need]
    gradients = iter(torch.autograd.grad(out, inputs, grad, create_graph=torch.is_grad_enabled()))
    return [next(gradients) if need else None for need in needed]
