"""The compiled kernels, forward and backward in one call each: chains (`chain.c`) and scores (`additive.c`)."""

import ctypes
import functools
import math
import struct
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad

from multiway.kernels.library import launcher, library, nodes

Plain = Callable[..., Tensor]

PLAIN = {Tensor, torch.nn.Parameter}
"""Types whose numbers are all there is to them."""
BIASES = {None: 0, "full": 1, "ascending": 2, "descending": 3}
CHAIN_WORK = 2_500_000
"""Multiply-adds, those of half-empty vectors included, that are worth a thread of their own: some 30 µs.

With less, a thread gains little, and where the cores are busy with something else, waiting for it costs milliseconds.
"""
SCORE_WORK = 50_000
"""Values of tanh that are worth as much."""


def can_run(*tensors: Tensor) -> bool:
    """Whether these are plain float32 tensors in the processor's memory, and nobody watches or transforms the ops."""
    if torch.compiler.is_compiling() or library() is None or _is_watched():
        return False
    single = torch.float32
    for tensor in tensors:
        if not (type(tensor) in PLAIN and tensor.dtype is single and tensor.is_cpu and tensor.is_contiguous()):
            return False
    return tensors[0].layout is torch.strided and tensors[0].numel() > 0


def _is_watched() -> bool:
    """Whether something acts on operations that compiled code has none of: a transform, a mode, a trace, autocast."""
    return (
        torch._C._are_functorch_transforms_active()
        or forward_ad._current_level >= 0
        or torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None
        or torch.is_autocast_enabled("cpu")
    )


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
    inputs: int
    """Numbers of a sample."""

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
        pointers = struct.Struct(f"{4 + 2 * parameters}q")
        return cls(layout, ctypes.addressof(layout), pointers, out_shape, kind["work"], inputs)


def run_chain(chain: Chain, plain: Plain, x: Tensor, *parameters: Tensor) -> Tensor | None:
    """Apply a chain to rows, batch first; None where it cannot. Parameters are its factors, then biases as it has them.

    Args:
        chain: The layout.
        plain: The same function of x and parameters in ops of torch, for derivatives of derivatives.
        x: Rows.
        parameters: One per factor; then, by the kind of bias, none, one, or one per factor.
    """
    node = _node()
    out: Tensor | None = None if node is None else node(chain, plain, x, *parameters)
    if out is not None or not can_run(x, *parameters) or x.numel() != len(x) * chain.inputs:
        return out
    if torch.is_grad_enabled():
        return _Chain.apply(chain, plain, x, *parameters)  # type: ignore[no-any-return,no-untyped-call]
    return chain_forward(chain, x, parameters)


def has_node() -> bool:
    """Whether autograd reaches a chain without Python: through it, two products of torch take no longer."""
    return _node() is not None


@functools.cache
def _node() -> Callable[..., Tensor | None] | None:
    """`run` of `autograd.cpp`, if it was built."""
    module = started_nodes()
    return None if module is None else module.run


@functools.cache
def started_nodes() -> ModuleType | None:
    """The module of `autograd.cpp`, if it was built, ready to call chains."""
    module, kernels = nodes(), library()
    if module is None or kernels is None:
        return None
    module.start(ctypes.cast(kernels.chain, ctypes.c_void_p).value, launcher(), CHAIN_WORK, plain_gradients)
    return module


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, chain: Chain, plain: Plain, x: Tensor, *parameters: Tensor) -> Tensor:
        ctx.chain, ctx.plain = chain, plain
        ctx.save_for_backward(x, *parameters)
        return chain_forward(chain, x, parameters)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        tensors, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        grad = above[0].contiguous()
        if torch.is_grad_enabled() or not can_run(grad, *tensors) or not has_memory(grad):
            return None, None, *plain_gradients(ctx.plain, tensors, needed, grad)
        return None, None, *chain_gradients(ctx.chain, grad, tensors, needed)


def chain_gradients(
    chain: Chain, grad: Tensor, tensors: Sequence[Tensor], needed: Sequence[bool]
) -> list[Tensor | None]:
    """Gradients of x and of the parameters where they are needed, of contiguous tensors."""
    grads = [torch.empty_like(tensor) if need else None for tensor, need in zip(tensors, needed, strict=True)]
    x, *parameters = tensors
    into, *gradients = [0 if tensor is None else tensor.data_ptr() for tensor in grads]
    _call_chain(chain, x, 0, grad.data_ptr(), into, *map(Tensor.data_ptr, parameters), *gradients)
    return grads


def chain_forward(chain: Chain, x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """The result without a gradient, of contiguous tensors that `can_run`."""
    out = x.new_empty(x.shape[0], *chain.out_shape)
    _call_chain(chain, x, out.data_ptr(), 0, 0, *map(Tensor.data_ptr, parameters), *[0] * len(parameters))
    return out


def _call_chain(chain: Chain, x: Tensor, *pointers: int) -> None:
    """Hand over pointers in the order of `pointers` in `chain.c`."""
    rows = x.shape[0]
    threads = max(1, min(torch.get_num_threads(), rows * chain.work // CHAIN_WORK))
    given = chain.pointers.pack(x.data_ptr(), *pointers)
    failed = library().chain(chain.address, given, rows, threads, launcher() if threads > 1 else None)  # type: ignore[union-attr]
    if failed:
        raise MemoryError("multiway kernels: no memory for the scratch of a chain of products.")


def run_scores(plain: Plain, query: Tensor, key: Tensor, weight: Tensor) -> Tensor | None:
    """Scores of additive attention, or None where the kernel has no say."""
    tensors = (query.contiguous(), key.contiguous(), weight.contiguous())
    if not can_score(*tensors):
        return None
    return _Scores.apply(plain, *tensors)  # type: ignore[no-any-return,no-untyped-call]


def can_score(query: Tensor, key: Tensor, weight: Tensor) -> bool:
    """Whether the kernel for scores serves these; it would read sizes that differ beyond their end."""
    fits = key.shape[-1] == query.shape[-1] and weight.shape == (query.shape[-3], query.shape[-1])
    return fits and can_run(query, key, weight) and query.shape[:-2] == key.shape[:-2] and key.numel() > 0


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plain: Plain, query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
        ctx.plain = plain
        ctx.save_for_backward(query, key, weight)
        return scores_forward(query, key, weight)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> Any:
        tensors, grad = ctx.saved_tensors, above[0].contiguous()
        if torch.is_grad_enabled() or not can_run(grad, *tensors) or not has_memory(grad):
            return None, *plain_gradients(ctx.plain, tensors, ctx.needs_input_grad[1:], grad)
        return None, *scores_gradients(grad, *tensors)


def scores_forward(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """The result without a gradient, of contiguous tensors that `can_score`."""
    out = query.new_empty(*query.shape[:-1], key.shape[-2])
    _call_scores((query, key, weight), (out,), None)
    return out


def scores_gradients(grad: Tensor, query: Tensor, key: Tensor, weight: Tensor) -> list[Tensor]:
    """Gradients of all three, of contiguous tensors."""
    into = torch.empty_like(query), torch.empty_like(key), query.new_empty(*query.shape[:-2], weight.shape[-1])
    _call_scores((query, key, weight), (None, *into), grad)
    return [*into[:2], into[2].view(-1, *weight.shape).sum(0)]


def _call_scores(given: Sequence[Tensor], made: Sequence[Tensor | None], grad: Tensor | None) -> None:
    query, key, weight = given
    batch, (keys, features) = query.shape[:-2].numel(), key.shape[-2:]
    sizes = (batch, len(weight), query.shape[-2], keys, features)
    threads = max(1, min(torch.get_num_threads(), batch, query.numel() * keys // SCORE_WORK))
    library().additive(  # type: ignore[union-attr]
        _addresses(given), _addresses(made, 4), None if grad is None else grad.data_ptr(),
        (ctypes.c_longlong * 5)(*sizes), threads, launcher() if threads > 1 else None,
    )  # fmt: skip


def _addresses(tensors: Sequence[Tensor | None], count: int = 3) -> Any:
    return (ctypes.c_void_p * count)(*(None if tensor is None else tensor.data_ptr() for tensor in tensors))


def has_memory(tensor: Tensor) -> bool:
    """Whether there are numbers to point at; a batch of cotangents (`is_grads_batched`) looks plain but has none."""
    try:
        return tensor.data_ptr() != 0
    except RuntimeError:
        return False


def plain_gradients(
    plain: Plain, tensors: Sequence[Tensor], needed: Sequence[bool], grad: Tensor
) -> list[Tensor | None]:
    """Gradients by ops of torch, which can be differentiated twice; views stand between them and what they hang on."""
    with torch.enable_grad():
        views = [tensor.view_as(tensor) for tensor in tensors]
        out = plain(*views)
    inputs = [view for view, need in zip(views, needed, strict=True) if need]
    gradients = iter(torch.autograd.grad(out, inputs, grad, create_graph=torch.is_grad_enabled()))
    return [next(gradients) if need else None for need in needed]
