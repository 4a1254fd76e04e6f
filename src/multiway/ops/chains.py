"""Which layers the compiled chain of products serves, and how: it is used where a model of it says that it is faster.

The model is in the units of `plans`: operations of a large product, forward and backward.
"""

import functools
import math
from collections.abc import Iterable

from torch import Tensor

from multiway.kernels.compiled import Chain, Factor, Link
from multiway.ops.checks import Shapes
from multiway.ops.plans import (
    FLOPS_PER_BYTE,
    FOLDING,
    JOINING,
    LAUNCHES,
    Step,
    best_plan,
    mode_sizes,
    price_cut,
    price_plan,
    train_sizes,
)

MOST_FACTORS = 16
MARGIN = 1.08
"""How much faster the model must say that the chain is."""
LANES = 16
"""Numbers in a vector: sides are filled up to a multiple."""
CALLS = 6e6
"""Cost of calling the chain, forward and backward, whatever it does."""
PRODUCT = 6e3
"""Cost of starting one small product."""
TILE = 6
"""Cost of a tile, as steps along the inner side of its product."""
LAID = 8192
"""Numbers of weights that a product with few numbers beside its axis lays out, at most (`narrow.h`)."""
GRADIENT = 1.5
"""Cost of the gradient of its matrix, in such products."""
TURNING = 20
"""Cost of transposing one number."""
FORMING, JOINED = 300, 900
"""Cost per entry of a matrix made from one factor, or from several."""


@functools.lru_cache(maxsize=4096)
def nd_linear_chain(shapes: Shapes, rows: int, bias: str | None) -> Chain | None:
    """The chain for sums of linear maps per mode, or None where ops of torch are faster.

    Args:
        shapes: Of weights `(out, in)` or `(terms, out, in)`.
        rows: Size of the batch, rounded.
        bias: A kind of `BIASES`.
    """
    in_sizes, out_sizes, terms = mode_sizes(shapes)
    if len(in_sizes) > MOST_FACTORS:
        return None
    pairs = list(zip(in_sizes, out_sizes, strict=True))
    factors = [Factor(1, out, in_, 1, out * in_, 0, in_, 1, 0) for in_, out in pairs]
    per_mode = bias in ("ascending", "descending")
    if terms > 1:
        cost, links = _cheapest_two(in_sizes, out_sizes, (terms,) * len(in_sizes), rows)
        usual = price_cut(in_sizes, out_sizes, (terms,) * len(in_sizes), rows)[0] + 2 * JOINING * (len(in_sizes) - 2)
        usual += per_mode * FOLDING * len(in_sizes)
    else:
        cost, plan = best_plan(in_sizes, out_sizes, frozenset(), rows, _cost)
        links = []
        for step in plan:  # the identity, if any, is the fastest index of rows and columns
            rest = step.columns // math.prod(out_sizes[step.start : step.stop])
            strides = (0, 0, rest * step.inner, rest, 0)
            links.append(Link(step.start, step.stop, rest, *strides, step.before, step.inner, step.columns, step.after))
        usual = price_plan(in_sizes, out_sizes, rows, per_mode, bias == "descending")[0]
    return _chain(cost, usual, factors, links, in_sizes, out_sizes, rows, terms=terms, bias=bias)


@functools.lru_cache(maxsize=4096)
def tensor_train_chain(shapes: Shapes, rows: int, has_bias: bool) -> Chain | None:
    """The chain for the cores of a tensor train, or None where ops of torch are faster."""
    in_sizes, out_sizes, tt_ranks = train_sizes(shapes)
    if not 1 < len(in_sizes) <= MOST_FACTORS:
        return None
    sizes = zip(tt_ranks[:-1], in_sizes, out_sizes, tt_ranks[1:], strict=True)
    factors = [Factor(a, out, in_, b, 0, in_ * out * b, b, out * b, 1) for a, in_, out, b in sizes]
    cost, links = _cheapest_two(in_sizes, out_sizes, tt_ranks, rows)
    usual = price_cut(in_sizes, out_sizes, tt_ranks, rows)[0] + 2 * JOINING * (len(in_sizes) - 2)
    bias = "full" if has_bias else None
    flat_out = (math.prod(out_sizes),)
    return _chain(cost, usual, factors, links, in_sizes, flat_out, rows, terms=1, bias=bias)


def shapes_of(tensors: Iterable[Tensor]) -> Shapes:
    """Shapes as keys of these caches."""
    return tuple([tensor.shape for tensor in tensors])


@functools.lru_cache(maxsize=4096)  # a key that is there costs less than a call of Python
def round_rows(rows: int) -> int:
    """Round a batch to a power of four, so that few sizes are told apart."""
    return 1 << (rows.bit_length() & ~1)


def _chain(
    cost: float,
    usual: float,
    factors: list[Factor],
    links: list[Link],
    in_sizes: tuple[int, ...],
    out_shape: tuple[int, ...],
    rows: int,
    *,
    terms: int,
    bias: str | None,
) -> Chain | None:
    inputs = math.prod(in_sizes)
    moved = 3 * 4 * FLOPS_PER_BYTE * rows * (inputs + math.prod(out_shape))
    if MARGIN * (cost + moved + CALLS) > usual + LAUNCHES:
        return None
    work = int(cost / (6 * max(rows, 1)))  # two operations each, and three passes
    return Chain(factors, links, inputs, out_shape, terms=terms, bias=bias, work=work)


def _cheapest_two(
    in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], terms: tuple[int, ...], rows: int
) -> tuple[float, list[Link]]:
    """The best cut of a sum of Kronecker products: one half of the factors applied after the other, or all at once."""
    halves = [_two_sided(in_sizes, out_sizes, terms[cut], cut) for cut in range(1, len(in_sizes))]
    size_in, size_out = math.prod(in_sizes), math.prod(out_sizes)
    whole = [Link(0, len(in_sizes), 1, 0, 0, size_in, 1, 0, 1, size_in, size_out, 1)]  # terms add up in it
    ways = [links for both in halves for links in both] + [whole]
    return min((sum(_cost(link, rows) for link in links), links) for links in ways)


def _two_sided(
    in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], terms: int, cut: int
) -> tuple[list[Link], list[Link]]:
    """Links for "right factors first" and "left factors first" (see `kronecker_sum_apply`)."""
    count, one, two = len(in_sizes), slice(None, cut), slice(cut, None)
    in1, out1, in2, out2 = (math.prod(sizes[half]) for half in (one, two) for sizes in (in_sizes, out_sizes))
    right_first = [
        Link(cut, count, 1, out2 * in2, out2 * in2, in2, 1, 0, in1, in2, terms * out2, 1),
        Link(0, cut, 1, 1, 0, in1 * terms, terms, 1, 1, in1 * terms, out1, out2),
    ]
    left_first = [
        Link(0, cut, 1, in1, 0, terms * in1, 1, in1, 1, in1, out1 * terms, in2),
        Link(cut, count, 1, in2, in2, terms * in2, 1, 0, out1, terms * in2, out2, 1),
    ]
    return right_first, left_first


def _cost(step: Step | Link, rows: int) -> float:
    """Of its matrix, of the product forward, twice as the backward pass repeats it, and of both gradients."""
    _, inner, columns, after = view = (rows * step.before, step.inner, step.columns, step.after)
    rows, (short, long) = view[0], sorted((inner, columns))
    forming = columns * inner * (FORMING if step.is_single else JOINED)
    forward, narrow = _product(*view), _narrow_product(*view)
    if narrow is not None:
        gradient = GRADIENT * narrow
    elif after == 1:
        gradient = _small_product(short, long, rows)
    else:
        gradient = rows * (_small_product(short, long, after) + TURNING * long * after)
    return forming + (2 * forward + _product(rows, columns, inner, after)) + gradient


def _product(rows: int, inner: int, columns: int, after: int) -> float:
    narrow = _narrow_product(rows, inner, columns, after)
    if narrow is not None:
        return narrow
    return _small_product(rows, columns, inner) if after == 1 else rows * _small_product(columns, after, inner)


def _narrow_product(rows: int, inner: int, columns: int, after: int) -> float | None:
    """A product as `narrow.h` has it, or None where that does not take it (`is_narrow`)."""
    vectors, kinds = math.ceil(columns * after / LANES), after // math.gcd(after, LANES)
    packed = max(1, min(LANES // (columns * after), 2 * LANES // (inner * after)))  # rows that a vector holds
    pays = packed > 1 if after == 1 else kinds == 1 or vectors > kinds
    if vectors * inner * LANES > LAID or after > LANES // 2 or not pays:
        return None
    return PRODUCT + 2 * LANES * (rows / packed * vectors) * (inner + TILE)


def _small_product(rows: int, columns: int, inner: int) -> float:
    filled = max(rows, 4) * math.ceil(columns / LANES) * LANES
    return PRODUCT + 2 * filled * (inner + TILE)
