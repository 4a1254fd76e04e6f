"""The compiled kernels, forward and backward in one call each: chains (`chain.c`) and scores (`additive.c`)."""

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_in_torch_dispatch_mode  # where torch documents the mode itself

from multiway.kernels.library import launcher, library

Plain = Callable[..., Tensor]
Gradients = list[Tensor | None]
CompiledFunction = Callable[[Sequence[Tensor]], Tensor | None]
"""Of tensors whose sizes fit; None where the kernel cannot run."""

PLAIN = {Tensor, torch.nn.Parameter}
"""Types whose numbers are all there is to them."""
BIASES = {None: 0, "full": 1, "ascending": 2, "descending": 3}
CHAIN_WORK = 2_500_000
"""Multiply-adds, those of half-empty vectors included, that are worth a thread of their own: some 30 µs.

With less, a thread gains little, and where the cores are busy with something else, waiting for it costs milliseconds.
"""
SCORE_WORK = 50_000
"""Values of tanh that are worth as much."""
POOL_WORK = 2_000_000
"""Answers that are compared with a bias that are worth as much."""
FAILED = "multiway kernels: there is no memory for scratch, or a tensor has no numbers."


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

    @property
    def is_single(self) -> bool:
        """Whether the matrix is one factor."""
        return self.last - self.first == 1


class Chain:
    """A chain of products on every row: factors, then biases. All that is known before there is a batch.

    Args:
        factors: Of the layer.
        links: The products.
        inputs: Numbers of a sample.
        out_shape: Of a sample's result.
        terms: Terms that the factors have.
        bias: Of the kinds of `BIASES`.
        work: Multiply-adds per sample, about.
    """

    def __init__(
        self,
        factors: Sequence[Factor],
        links: Sequence[Link],
        inputs: int,
        out_shape: tuple[int, ...],
        *,
        terms: int,
        bias: str | None,
        work: int,
    ) -> None:
        self.inputs, self.out_shape, self.work = inputs, out_shape, work
        head = (len(factors), len(links), terms, BIASES[bias], inputs, math.prod(out_shape))
        flat = [*head, *(n for part in (*factors, *links) for n in part)]
        self.layout = (ctypes.c_longlong * len(flat))(*flat)
        self.address = ctypes.addressof(self.layout)
        parameters = len(factors) + (0 if bias is None else 1 if bias == "full" else len(factors))
        self.pack_forward = struct.Struct(f"{8 + parameters}q").pack
        self.pack_backward = struct.Struct(f"{8 + 2 * parameters}q").pack

    def fits(self, *tensors: Tensor) -> bool:
        """Whether rows have as many numbers as the chain takes."""
        return tensors[0].numel() == tensors[0].shape[0] * self.inputs

    def forward(self, tensors: Sequence[Tensor]) -> Tensor:
        """The result, without a gradient."""
        rows = len(tensors[0])
        out = tensors[0].new_empty(rows, *self.out_shape)
        x, *places = [tensor.data_ptr() for tensor in tensors]
        threads = min(torch.get_num_threads(), rows * self.work // CHAIN_WORK)
        start = launcher() if threads > 1 else 0
        call = self.pack_forward(self.address, rows, threads, start, x, out.data_ptr(), 0, 0, *places)
        if library().chain(call):  # type: ignore[union-attr]
            raise RuntimeError(FAILED)
        return out

    def gradients(self, grad: Tensor, tensors: Sequence[Tensor], needed: Sequence[bool]) -> Gradients:
        """Of x and of the parameters where they are needed."""
        rows = len(grad)
        grads = [torch.empty_like(tensor) if need else None for tensor, need in zip(tensors, needed, strict=True)]
        x, *places = [tensor.data_ptr() for tensor in tensors]
        into, *made = [0 if each is None else each.data_ptr() for each in grads]
        threads = min(torch.get_num_threads(), rows * self.work // CHAIN_WORK)
        start = launcher() if threads > 1 else 0
        pointers = x, 0, grad.data_ptr(), into, *places, *made
        if library().chain(self.pack_backward(self.address, rows, threads, start, *pointers)):  # type: ignore[union-attr]
            raise RuntimeError(FAILED)
        return grads


class Scores:
    """The kernel of `ops.additive_scores`: of queries, keys and weights."""

    def fits(self, *tensors: Tensor) -> bool:
        """Whether sizes agree, and there are keys."""
        query, key, weight = tensors
        alike = key.shape[-1] == query.shape[-1] and weight.shape == (query.shape[-3], query.shape[-1])
        return alike and query.shape[:-2] == key.shape[:-2] and key.numel() > 0

    def forward(self, tensors: Sequence[Tensor]) -> Tensor:
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
    inputs, outputs, above = (
        [None if tensor is None else tensor.data_ptr() for tensor in tensors] for tensors in (given, made, [grad])
    )
    if 0 in (*inputs, *above):
        raise RuntimeError(FAILED)
    kinds = [(ctypes.c_void_p * count)(*places) for count, places in ((3, inputs), (4, outputs))]
    start = launcher() if threads > 1 else None
    library().additive(*kinds, *above, (ctypes.c_longlong * 5)(*sizes), threads, start)  # type: ignore[union-attr]


def sum_positives(answers: Tensor, biases: Tensor, kept: Tensor | None) -> Tensor:
    """`ops.positive_sums`, without a gradient."""
    (rows, steps, kernels), count = answers.shape, len(biases)
    out = answers.new_empty(rows, 4, count, kernels)
    threads = max(1, min(torch.get_num_threads(), rows, answers.numel() * count // POOL_WORK))
    places = [None if tensor is None else tensor.data_ptr() for tensor in (answers, biases, kept, out)]
    sizes = (ctypes.c_longlong * 4)(rows, steps, kernels, count)
    library().positives(*places, sizes, threads, launcher() if threads > 1 else None)  # type: ignore[union-attr]
    return out


Kernel = Chain | Scores
"""A compiled function of contiguous float32 tensors. What does not fit, it would read beyond its end."""


def with_gradient(kernel: Kernel, plain: Plain) -> CompiledFunction:
    """A kernel as a function that has a gradient.

    Args:
        kernel: What runs.
        plain: The same function in operations of torch, for derivatives of derivatives.
    """

    class _Compiled(torch.autograd.Function):  # one per kernel: whatever is handed over at a call takes time
        @staticmethod
        def forward(ctx: Any, *tensors: Tensor) -> Tensor:
            ctx.save_for_backward(*tensors)
            return kernel.forward(tensors)

        @staticmethod
        def backward(ctx: Any, *above: Tensor) -> Any:
            tensors, needed, grad = ctx.saved_tensors, ctx.needs_input_grad, above[0].contiguous()
            # Hooks give back tensors of the same sizes and type, but maybe of other strides
            is_whole = all([tensor.is_contiguous() for tensor in tensors])
            if is_whole and not torch.is_grad_enabled() and not is_in_torch_dispatch_mode():
                try:
                    return tuple(kernel.gradients(grad, tensors, needed))
                except RuntimeError:  # a batch of gradients
                    pass
            return tuple(plain_gradients(plain, tensors, needed, grad))

    forward = kernel.forward
    apply: Callable[..., Tensor] = _Compiled.apply

    def run(tensors: Sequence[Tensor]) -> Tensor | None:
        if is_in_torch_dispatch_mode() or not can_run(tensors):
            return None
        try:
            followed = torch.is_grad_enabled() or is_dual(tensors[0])
            return apply(*tensors) if followed else forward(tensors)
        except RuntimeError:  # forward derivatives and transforms of torch.func
            return None

    return run


def can_run(tensors: Sequence[Tensor]) -> bool:
    """Whether these are plain float32 tensors in the processor's memory, outside of tracing and of autocast."""
    single = torch.float32
    for tensor in tensors:
        if not (type(tensor) in PLAIN and tensor.dtype is single and tensor.is_cpu and tensor.is_contiguous()):
            return False
    is_traced = torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
    return len(tensors[0]) > 0 and not (is_traced or torch.is_autocast_enabled("cpu"))


def is_dual(x: Tensor) -> bool:
    """Whether forward derivatives are being taken: a tensor is then no longer its own primal."""
    return forward_ad.unpack_dual(x).primal is not x


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
