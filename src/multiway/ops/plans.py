"""Plans for a linear map per mode: which modes to join, and in which order to multiply."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from multiway.ops.costs import LAUNCHES, ROWS, forming_cost, product_cost

LONGEST_REST = 8
"""A product over a rest up to this long may be widened by the identity into one large product."""

JOINING = 2 * LAUNCHES
"""Cost of joining two modes' weights and biases, beside that of the entries."""

FOLDING = 2 * LAUNCHES
"""Cost of folding one mode's bias."""


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

    Every way to join neighbouring modes and to order the joined products is priced; there are a few hundred for
    five modes.

    Args:
        in_sizes: Sizes of the input.
        out_sizes: Sizes of the output.
        rows: Size of the batch, roughly.
        has_biases: Whether biases per mode would have to be folded in an order that is not theirs.
        descending: Their order.
    """
    plans = _plans(in_sizes, out_sizes, frozenset(), rows)
    folding = len(in_sizes) * FOLDING * has_biases
    return min((cost + folding * (not is_in_turn(plan, descending)), plan) for cost, plan in plans)[1]


def _plans(
    sizes: tuple[int, ...], out_sizes: tuple[int, ...], done: frozenset[int], rows: int
) -> list[tuple[float, tuple[Step, ...]]]:
    """Every plan for the modes still to do, with its cost."""
    if len(done) == len(sizes):
        return [(0.0, ())]
    found = []
    for step in _steps(sizes, out_sizes, done):
        modes = range(step.start, step.stop)
        after = tuple(out_sizes[mode] if mode in modes else size for mode, size in enumerate(sizes))
        rest = _plans(after, out_sizes, done | set(modes), rows)
        found += [(_cost(step, rows) + more, (step, *steps)) for more, steps in rest]
    return found


def _steps(sizes: tuple[int, ...], out_sizes: tuple[int, ...], done: frozenset[int]) -> Iterator[Step]:
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


def _cost(step: Step, rows: int) -> float:
    joined = step.end - step.start - 1 + (step.end > step.stop)  # the identity has to be made first
    forming = joined * JOINING + forming_cost(step.columns * step.inner) if joined else 0.0
    if step.after == 1:
        return forming + product_cost(rows * step.before, step.columns, step.inner)
    return forming + product_cost(step.columns, step.after, step.inner, stack=rows * step.before)


def is_in_turn(plan: Sequence[Step], descending: bool) -> bool:
    """Whether the steps take the modes in the order in which biases are added."""
    starts = [step.start for step in plan]
    return starts == sorted(starts, reverse=descending)
