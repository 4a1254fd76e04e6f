"""A model of the machine: what products cost, in operations of a large product, so that ways can be compared.

Fitted to two cores of a common processor; the ranking it gives, not the figure, is what is used.
"""

import math

from torch import Tensor

from multiway.kernels import gate

ROWS = 64
"""Size of a batch where it is not known: in a compiled or exported graph."""

HALF_SPEED = 8
"""A product with two large sides and one of this size reaches half the speed of a large one."""

FLOPS_PER_BYTE = 10
"""Operations in the time that memory moves one byte."""

LAUNCHES = 4e6
"""Operations in the time that starting one product, forward and backward, takes."""


def product_cost(rows: int, columns: int, inner: int, *, stack: int = 1) -> float:
    """Cost of a product, or of a stack of products with one matrix `(rows, inner)`, and of its backward pass."""
    speed = math.prod(side / (side + HALF_SPEED) for side in (rows, columns, inner))
    moved = stack * (rows * columns + inner * columns) + (rows * inner if stack == 1 else stack * rows * inner / 4)
    return LAUNCHES + 3 * (2 * stack * rows * columns * inner / speed + 4 * moved * FLOPS_PER_BYTE)


def forming_cost(entries: int) -> float:
    """Cost of forming a matrix of that many entries and of taking its gradient apart."""
    return 24.0 * entries * FLOPS_PER_BYTE


def known_rows(x: Tensor) -> int | None:
    """Size of a batch by which a way may be chosen, rounded; None in a graph, which serves batches of every size."""
    return None if gate.in_graph() else rounded_rows(x.shape[0])


def rounded_rows(rows: int) -> int:
    """Round a batch to a power of four, so that few sizes are told apart."""
    return int(4 ** (max(rows, 1).bit_length() // 2))
