"""The dense graph filter on a processor: Ψ in strips of rows, each score computed once, its gradient written out.

Graphs hold it as an operator: `multiway::graph_filter(key, value, damping, reach, causal, normalisation)` gives Y, what
steps receive over edges, and the strips that the gradient needs. Its keys and values are `(graphs, length, dim)`; all
lags count where no reach is given.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from multiway.kernels.compiled import Plain, has_memory, plain_gradients
from multiway.kernels.operators import LIBRARY, define
from multiway.ops.checks import check_signals
from multiway.ops.graph import (
    attention_adjacency,
    check_damping,
    degree_scales,
    graph_filter,
    rescale,
    time_weights,
)

ROWS = 128
"""Of a strip: enough for matrix products at full speed."""
COLUMNS = 64
"""A strip ends at a multiple of so many; products of odd widths are slower."""

Way = Literal["both", "later", "earlier"]
"""Where edges lead: both ways between rows and columns, to later steps, or to earlier ones."""
BACK: dict[Way, Way] = {"both": "both", "later": "earlier", "earlier": "later"}


class StripForm(NamedTuple):
    """Which filter: what Ω is made of, the longest lag that must count, and how degrees divide."""

    damping: float
    reach: int
    causal: bool
    normalisation: str

    @property
    def way(self) -> Way:
        """Where edges lead."""
        return "later" if self.causal else "both"


class Strip(NamedTuple):
    """Entries of Ψ in the rows from `start` to `stop` and the columns from `start` to `end`."""

    entries: Tensor
    start: int
    stop: int
    end: int


def strip_graph_filter(
    key: Float[Tensor, "*batch length dim"],
    value: Float[Tensor, "*value_batch value_length out"],
    damping: float,
    *,
    reach: int | None = None,
    causal: bool = False,
    normalisation: str = "none",
) -> Float[Tensor, "*batch length out"]:
    """`graph_filter` by the `attention_adjacency` with fewer operations, and half of Ψ or less kept for the gradient.

    A strip is 128 rows of Ψ from the diagonal on. As K Kᵀ is symmetric, its transpose is what lies below, and both
    gradients of K Kᵀ are one product.

    Args:
        key: Keys (TGA: K).
        value: Signals at the vertices (TGA: V).
        damping: One number.
        reach: Longest lag that must count; strips leave out most longer ones. All count if not given.
        causal: Whether a step sees only what came before.
        normalisation: As for `graph_filter`.

    Raises:
        ShapeError: Keys and values differ in length or batch.
        ConfigError: `damping` or `normalisation` is out of range.
    """
    check_damping("strip_graph_filter", damping)
    check_signals("strip_graph_filter", key, value)
    form = StripForm(damping, key.shape[-2] if reach is None else reach, causal, normalisation)
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (key, value)]
    try:
        out: Tensor = _StripFilter.apply(*flat, form)  # type: ignore[no-untyped-call]
    except RuntimeError:  # transforms of torch.func take no function of this kind
        out = plain_filter(form)(*flat)
    return out.view(value.shape)


class _StripFilter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, key: Tensor, value: Tensor, form: StripForm) -> Tensor:  # type: ignore[no-untyped-def]
        strips = form_strips(key, form)
        out, received = filter_by_strips(value, strips, form)
        ctx.form = form
        kept = received if form.normalisation == "none" else out  # degrees alone need the output too
        ctx.save_for_backward(key, value, received, kept, *(strip.entries for strip in strips))
        return out

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        key, value, received, out, *entries = ctx.saved_tensors
        if torch.is_grad_enabled() or not has_memory(grad):
            return *plain_gradients(plain_filter(ctx.form), (key, value), ctx.needs_input_grad[:2], grad), None
        spans = _spans(key.shape[1], ctx.form)
        strips = [Strip(kept_entries, *span) for kept_entries, span in zip(entries, spans, strict=True)]
        return *strip_gradients(grad, (key, value), (out, received), strips, ctx.form, ctx.needs_input_grad[0]), None


def form_strips(key: Tensor, form: StripForm, places: Iterable[Tensor | None] = itertools.repeat(None)) -> list[Strip]:
    """Ψ from the diagonal on, in these places if given; causal: transposed, so that a row holds what its step sends."""
    time, strips = _strip_weights(key, form), []
    for (start, stop, end), place in zip(_spans(key.shape[1], form), places, strict=False):
        scores = torch.bmm(key[:, start:stop], key[:, start:end].mT, out=place)
        strips.append(Strip(_weigh_strip(scores, time).relu_(), start, stop, end))
    return strips


def filter_by_strips(value: Tensor, strips: Sequence[Strip], form: StripForm) -> tuple[Tensor, Tensor]:
    """Y, and what every step receives over its edges."""
    received = torch.zeros_like(value[..., :1])  # sums of the rows of Ψ, where something is divided by them
    for entries, rows, _ in _edges(strips, form.way) if form.normalisation != "none" else ():
        received[:, rows] += entries.sum(-1, keepdim=True)
    before, after = degree_scales(received[..., 0], form.normalisation)
    sent = rescale(value, before)
    return rescale(_add_sent(sent.clone(), sent, strips, form.way), after), received


def strip_gradients(
    grad: Tensor,
    inputs: tuple[Tensor, Tensor],
    made: tuple[Tensor, Tensor],
    strips: Sequence[Strip],
    form: StripForm,
    of_key: bool = True,
) -> tuple[Tensor | None, Tensor]:
    """Of keys and values, which are the inputs, by what `filter_by_strips` made of them."""
    (key, value), (out, received) = inputs, made
    before, after = degree_scales(received[..., 0], form.normalisation)
    arrived, sent = rescale(grad, after), rescale(value, before)
    value_grad = rescale(_add_sent(arrived.clone(), arrived, strips, BACK[form.way]), before)
    if not of_key:
        return None, value_grad
    degree_grad = _degree_gradient((grad, out), (value_grad, value), received, form)
    return _key_gradient(key, strips, arrived, sent, degree_grad, form), value_grad


def strips_in(kept: Tensor, shape: Sequence[int], form: StripForm) -> list[Strip]:
    """The strips of keys of that shape, whose entries stand in one tensor one after another."""
    graphs, length, _ = shape
    strips, used = [], 0
    for start, stop, end in _spans(length, form):
        rows, columns = stop - start, end - start
        count = graphs * rows * columns
        strips.append(Strip(kept.narrow(0, used, count).view(graphs, rows, columns), start, stop, end))
        used += count
    return strips


def strip_room(shape: Sequence[Any], reach: int | None) -> Any:  # numbers or symbols
    """How many numbers `strips_in` needs at most."""
    graphs, length, _ = shape
    widest = length if reach is None else torch.sym_min(length, ROWS + _ahead(reach))
    return graphs * (-(-length // ROWS) * ROWS) * widest


def _spans(length: int, form: StripForm) -> list[tuple[int, int, int]]:
    """Start, stop and end of every strip."""
    starts, ahead = range(0, length, ROWS), _ahead(form.reach)
    return [(start, min(start + ROWS, length), min(start + ROWS + ahead, length)) for start in starts]


def _ahead(reach: int) -> int:
    """Columns of a strip behind its square."""
    return -(-reach // COLUMNS) * COLUMNS


def _strip_weights(key: Tensor, form: StripForm) -> Tensor:
    """Ω / √d in the first strip; in the others lags are the same."""
    _, stop, end = _spans(key.shape[1], form)[0]
    steps = torch.arange(end, device=key.device)
    lags = steps - steps[:stop, None]
    return time_weights(lags, form.damping, form.causal, key.dtype) / math.sqrt(key.shape[2])


def _weigh_strip(entries: Tensor, time: Tensor) -> Tensor:
    """Entries of a strip times the weights, in their place; the last strips are smaller than the first."""
    return entries.mul_(time[: entries.shape[1], : entries.shape[2]])


def _add_sent(out: Tensor, x: Tensor, strips: Sequence[Strip], way: Way) -> Tensor:
    """Add to `out`, in its place, what the steps receive of X along the edges."""
    for entries, rows, columns in _edges(strips, way):
        if entries.shape[1] == out.shape[1]:
            out.baddbmm_(entries, x[:, columns])  # of a part it would be slow, one graph after another
        else:
            out[:, rows] += entries @ x[:, columns]
    return out


def _edges(strips: Sequence[Strip], way: Way) -> Iterator[tuple[Tensor, slice, slice]]:
    """Blocks of Ψ with the rows that receive and the columns that send."""
    for entries, start, stop, end in strips:
        if way != "later":
            yield entries, slice(start, stop), slice(start, end)
        first = start if way == "later" else stop  # both: the block on the diagonal has been sent
        if way != "earlier" and first < end:
            yield entries[..., first - start :].mT, slice(first, end), slice(start, stop)


def _degree_gradient(
    after: tuple[Tensor, Tensor], before: tuple[Tensor, Tensor], received: Tensor, form: StripForm
) -> Tensor:
    """Of the sums of the rows, from gradient and number after the filter and before it.

    Y holds D⁻¹ as a factor, or D^-½, which V has too: ⟨∂Y, Y⟩ counts once or half, as ⟨∂V, V⟩ does.
    """
    if form.normalisation == "none":
        return torch.zeros_like(received)
    share = (after[0] * after[1]).sum(-1, keepdim=True)
    if form.normalisation == "symmetric":
        share = (share + (before[0] * before[1]).sum(-1, keepdim=True)) / 2
    return -share / (1 + received)


def _key_gradient(
    key: Tensor, strips: Sequence[Strip], arrived: Tensor, sent: Tensor, degree_grad: Tensor, form: StripForm
) -> Tensor:
    """Strip by strip: of Ψ, of K Kᵀ, whose two gradients are the same block transposed, and of K."""
    time, key_grad = _strip_weights(key, form), torch.zeros_like(key)
    for strip in strips:
        entries = _edge_gradient(strip, arrived, sent, degree_grad, form)
        entries = _weigh_strip(torch.ops.aten.threshold_backward(entries, strip.entries, 0), time)
        square = entries[..., : entries.shape[1]]
        square.copy_(square + square.mT)
        _add_sent(key_grad, key, [strip._replace(entries=entries)], "both")
    return key_grad


def _edge_gradient(strip: Strip, arrived: Tensor, sent: Tensor, degree_grad: Tensor, form: StripForm) -> Tensor:
    """Of the entries of Ψ that a strip stands for: its own, those below the diagonal, or both added up.

    An edge carries what is sent at one end to what arrives at the other, and counts in the degree of the latter.
    """
    _, start, stop, end = strip
    first, divides = start if form.causal else stop, int(form.normalisation != "none")
    received = degree_grad[:, first:end].mT
    below = torch.baddbmm(received, sent[:, start:stop], arrived[:, first:end].mT, beta=divides)
    if form.causal:
        return below
    received = degree_grad[:, start:stop]
    entries = torch.baddbmm(received, arrived[:, start:stop], sent[:, start:end].mT, beta=divides)
    entries[..., stop - start :] += below
    return entries


def plain_filter(form: StripForm) -> Plain:
    """The same filter by operations that have derivatives."""

    def run(key: Tensor, value: Tensor) -> Tensor:
        near = torch.zeros(key.shape[1], key.shape[1], dtype=torch.bool, device=key.device)
        for start, stop, end in _spans(key.shape[1], form):
            near[start:stop, start:end] = near[start:end, start:stop] = True
        graph = attention_adjacency(key, form.damping, causal=form.causal)
        return graph_filter(value, graph * near, form.normalisation)

    return run


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


def _batch(info: Any, in_dims: Any, key: Tensor, value: Tensor, *given: Any) -> tuple[tuple[Tensor, ...], Any]:
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
torch.library.register_vmap("multiway::graph_filter", _batch, lib=LIBRARY)
