"""What the ways to apply a map of many modes cost, by a model of the machine: orders and groups of products, and cuts.

Costs are in operations of a large product. Fitted to two cores of a common processor; the ranking that the model gives,
not the figure, is what is used.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from multiway.ops.checks import Shapes

ROWS = 64
"""Size of a batch where it is not known: in a compiled or exported graph."""

HALF_SPEED = 8
"""A product with two large sides and one of this size reaches half the speed of a large one."""

FLOPS_PER_BYTE = 10
"""Operations in the time that memory moves one byte."""

LAUNCHES = 4e6
"""Operations in the time that starting one product, forward and backward, takes."""

LONGEST_REST = 8
"""A product over a rest up to this long may be widened by the identity into one large product."""

JOINING = 2 * LAUNCHES
"""Cost of joining two modes' weights and biases, in units of that of the entries."""

FOLDING = 2 * LAUNCHES
"""Cost of folding one mode's bias."""


def product_cost(rows: int, columns: int, inner: int, *, stack: int = 1) -> float:
    """Cost of a product, or of a stack of products with one matrix `(rows, inner)`, and of its backward pass."""
    speed = math.prod(side / (side + HALF_SPEED) for side in (rows, columns, inner))
    moved = stack * (rows * columns + inner * columns) + (rows * inner if stack == 1 else stack * rows * inner / 4)
    return LAUNCHES + 3 * (2 * stack * rows * columns * inner / speed + 4 * moved * FLOPS_PER_BYTE)


def forming_cost(entries: int) -> float:
    """Cost of forming a matrix of that many entries and of taking its gradient apart."""
    return 24.0 * entries * FLOPS_PER_BYTE


class Step(NamedTuple):
    """One product of a plan: modes `start` to `stop` at once, seen as one axis that runs to `end`.

    `end` beyond `stop` takes the following modes in as they are (their factor is the identity), so that a product
    over a short rest becomes one large product. The tensor is seen as (batch · before, inner, after) and becomes
    (batch · before, columns, after).
    """

    start: int
    stop: int
    end: int
    before: int
    inner: int
    columns: int
    after: int

    @property
    def is_single(self) -> bool:
        """Whether the matrix is one mode's weight."""
        return self.end - self.start == 1


@functools.lru_cache(maxsize=4096)
def cheapest_plan(
    in_sizes: tuple[int, ...],
    out_sizes: tuple[int, ...],
    rows: int = ROWS,
    has_biases: bool = True,
    descending: bool = False,
) -> tuple[Step, ...]:
    """Order and grouping of the products that takes the least time, forward and backward, by a model of the machine.

    Sought over sets of modes already done, so that its cost is that of 2ⁿ sets and not of n! orders.

    Args:
        in_sizes: Sizes of the input.
        out_sizes: Sizes of the output.
        rows: Size of the batch, roughly.
        has_biases: Whether biases per mode would have to be folded in an order that is not theirs.
        descending: Their order.
    """
    return price_plan(in_sizes, out_sizes, rows, has_biases, descending)[1]


@functools.lru_cache(maxsize=4096)
def price_plan(
    in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], rows: int, has_biases: bool, descending: bool
) -> tuple[float, tuple[Step, ...]]:
    """`cheapest_plan` after its cost."""
    in_turn = best_plan(in_sizes, out_sizes, frozenset(), rows, step_cost, -1 if descending else 1)
    cost, plan = best_plan(in_sizes, out_sizes, frozenset(), rows, step_cost)
    folding = len(in_sizes) * FOLDING * has_biases
    return (cost + folding, plan) if cost + folding < in_turn[0] else in_turn


@functools.lru_cache(maxsize=2**16)
def best_plan(
    sizes: tuple[int, ...],
    out_sizes: tuple[int, ...],
    done: frozenset[int],
    rows: int,
    price: Callable[[Step, int], float],
    turn: int = 0,
) -> tuple[float, tuple[Step, ...]]:
    """Cheapest plan for the modes still to do, after its cost; in ascending (1), descending (-1) or any order (0)."""
    if len(done) == len(sizes):
        return 0.0, ()
    best: tuple[float, tuple[Step, ...]] = (math.inf, ())
    for step in every_step(sizes, out_sizes, done):
        if (turn > 0 and step.start != len(done)) or (turn < 0 and step.stop != len(sizes) - len(done)):
            continue  # in turn, what is done is the start or the end of the modes
        modes = range(step.start, step.stop)
        after = tuple(out_sizes[mode] if mode in modes else size for mode, size in enumerate(sizes))
        cost, rest = best_plan(after, out_sizes, done | set(modes), rows, price, turn)
        best = min(best, (cost + price(step, rows), (step, *rest)))
    return best


def every_step(sizes: tuple[int, ...], out_sizes: tuple[int, ...], done: frozenset[int]) -> Iterator[Step]:
    """Every next product: a run of modes still to do, and the rest taken in where it is short."""
    for start, stop in itertools.combinations(range(len(sizes) + 1), 2):
        if not done.intersection(range(start, stop)):
            yield _step(sizes, out_sizes, start, stop, stop)
            if 1 < math.prod(sizes[stop:]) <= LONGEST_REST:
                yield _step(sizes, out_sizes, start, stop, len(sizes))


def _step(sizes: tuple[int, ...], out_sizes: tuple[int, ...], start: int, stop: int, end: int) -> Step:
    rest = math.prod(sizes[stop:end])
    inner, columns = (math.prod(part[start:stop]) * rest for part in (sizes, out_sizes))
    return Step(start, stop, end, math.prod(sizes[:start]), inner, columns, math.prod(sizes[end:]))


def step_cost(step: Step, rows: int) -> float:
    """Cost of one step, its matrix included."""
    joined = step.end - step.start - 1 + (step.end > step.stop)  # the identity has to be made first
    forming = joined * JOINING + forming_cost(step.columns * step.inner) if joined else 0.0
    if step.after == 1:
        return forming + product_cost(rows * step.before, step.columns, step.inner)
    return forming + product_cost(step.columns, step.after, step.inner, stack=rows * step.before)


class Cut(NamedTuple):
    """Where a list of modes or cores is cut in two, and the way to apply the halves."""

    position: int
    way: str


@functools.lru_cache(maxsize=4096)
def cheapest_cut(
    in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], terms: tuple[int, ...], rows: int = ROWS
) -> Cut:
    """Cut and way that take the least time, forward and backward, by a model of the machine.

    Args:
        in_sizes: Factors of the number of inputs.
        out_sizes: Factors of the number of outputs.
        terms: Terms of a cut before each mode; for a tensor train its ranks.
        rows: Size of the batch, roughly.

    Returns:
        The cut; for a single mode position 0, the left half empty.
    """
    return price_cut(in_sizes, out_sizes, terms, rows)[1]


@functools.lru_cache(maxsize=4096)
def price_cut(
    in_sizes: tuple[int, ...], out_sizes: tuple[int, ...], terms: tuple[int, ...], rows: int
) -> tuple[float, Cut]:
    """`cheapest_cut` with its cost; infinite for a single mode, which leaves no choice."""
    best, cheapest = math.inf, Cut(0, "right")
    for position in range(1, len(in_sizes)):
        left = (terms[position], math.prod(out_sizes[:position]), math.prod(in_sizes[:position]))
        right = (terms[position], math.prod(out_sizes[position:]), math.prod(in_sizes[position:]))
        forming = forming_cost(math.prod(left)) + forming_cost(math.prod(right))
        for way, cost in _way_costs(left, right, rows).items():
            if cost + forming < best:
                best, cheapest = cost + forming, Cut(position, way)
    return best, cheapest


def _way_costs(left: Sequence[int], right: Sequence[int], rows: int) -> dict[str, float]:
    terms, out1, in1 = left
    _, out2, in2 = right
    return {
        "right": product_cost(rows * in1, terms * out2, in2) + product_cost(out1, out2, in1 * terms, stack=rows),
        "left": product_cost(out1 * terms, in2, in1, stack=rows) + product_cost(rows * out1, out2, terms * in2),
        "dense": product_cost(rows, out1 * out2, in1 * in2) + forming_cost(out1 * out2 * in1 * in2),
    }


@functools.lru_cache(maxsize=4096)
def nd_linear_way(shapes: Shapes, rows: int, has_biases: bool, descending: bool) -> Cut | tuple[Step, ...]:
    """A plan for weights `(out, in)`, a cut for `(terms, out, in)`."""
    in_sizes, out_sizes, terms = mode_sizes(shapes)
    if len(shapes[0]) == 3:
        return cheapest_cut(in_sizes, out_sizes, (terms,) * len(shapes), rows)
    return cheapest_plan(in_sizes, out_sizes, rows, has_biases, descending)


@functools.lru_cache(maxsize=4096)
def train_cut(shapes: Shapes, rows: int) -> Cut:
    """The cut of the cores of a tensor train."""
    return cheapest_cut(*train_sizes(shapes), rows)


def mode_sizes(shapes: Shapes) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Of inputs, of outputs, and the number of terms of weights."""
    terms = shapes[0][0] if len(shapes[0]) == 3 else 1
    return tuple(shape[-1] for shape in shapes), tuple(shape[-2] for shape in shapes), terms


def train_sizes(shapes: Shapes) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Of inputs, of outputs, and the ranks of cores."""
    ranks = (*(shape[0] for shape in shapes), shapes[-1][3])
    return tuple(shape[1] for shape in shapes), tuple(shape[2] for shape in shapes), ranks
