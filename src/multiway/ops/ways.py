"""What the shapes of a layer's parameters and the rows of a batch decide: a compiled chain, a plan or a cut.

Each is looked for once and kept.
"""

import functools
from collections.abc import Iterable

from torch import Tensor

from multiway.kernels.compiled import Chain, has_node
from multiway.kernels.library import library
from multiway.ops import chains, plans
from multiway.ops.checks import Shapes, check_nd_linear, check_train

check_nd_linear_once = functools.lru_cache(maxsize=4096)(check_nd_linear)
check_train_once = functools.lru_cache(maxsize=4096)(check_train)


@functools.lru_cache(maxsize=4096)
def kept_nd_linear_chain(shapes: Shapes, rows: int, bias: str | None) -> Chain | None:
    """For rounded rows, of weights `(out, in)` or `(terms, out, in)`."""
    in_sizes, out_sizes, terms = _sizes(shapes)
    return chains.nd_linear_chain(in_sizes, out_sizes, terms, rows, bias)


@functools.lru_cache(maxsize=4096)
def kept_train_chain(shapes: Shapes, rows: int, has_bias: bool) -> Chain | None:
    """Of cores."""
    return chains.tensor_train_chain(*_train_sizes(shapes), rounded_rows(rows), has_bias)


@functools.lru_cache(maxsize=4096)
def kept_low_rank_chain(shapes: Shapes, rows: int, has_bias: bool) -> Chain | None:
    """Of both thin matrices, `(rank, in)` and `(out, rank)`."""
    return chains.low_rank_chain(*shapes, rounded_rows(rows), has_bias)


@functools.lru_cache(maxsize=4096)
def nd_linear_way(rows: int, shapes: Shapes, has_biases: bool, descending: bool) -> plans.Cut | tuple[plans.Step, ...]:
    """A cut for several terms, a plan for one."""
    in_sizes, out_sizes, terms = _sizes(shapes)
    if len(shapes[0]) == 3:
        return plans.cheapest_cut(in_sizes, out_sizes, (terms,) * len(shapes), rows)
    return plans.cheapest_plan(in_sizes, out_sizes, rows, has_biases, descending)


@functools.lru_cache(maxsize=4096)
def train_cut(shapes: Shapes, rows: int | None) -> plans.Cut:
    """The cut of a tensor train."""
    return plans.cheapest_cut(*_train_sizes(shapes), plans.ROWS if rows is None else rounded_rows(rows))


def usual_way(shapes: Shapes, has_biases: bool, descending: bool) -> plans.Cut | tuple[plans.Step, ...]:
    """For a graph, which serves batches of every size."""
    return nd_linear_way(plans.ROWS, tuple(map(tuple, shapes)), has_biases, descending)


def usual_train_cut(shapes: Shapes) -> plans.Cut:
    """For a graph."""
    return train_cut(tuple(map(tuple, shapes)), None)


def has_nd_linear_chain(shapes: Shapes, bias: str | None) -> bool:
    """Whether a compiled chain is worth its while in a graph."""
    return library() is not None and kept_nd_linear_chain(tuple(map(tuple, shapes)), plans.ROWS, bias) is not None


def has_tensor_train_chain(shapes: Shapes, has_bias: bool) -> bool:
    """Likewise, of cores."""
    return library() is not None and kept_train_chain(tuple(map(tuple, shapes)), plans.ROWS, has_bias) is not None


def has_low_rank_chain(shapes: Shapes, has_bias: bool) -> bool:
    """Likewise, of both thin matrices; where it is reached through Python, two products of torch take no longer."""
    return has_node() and kept_low_rank_chain(tuple(map(tuple, shapes)), plans.ROWS, has_bias) is not None


def has_kernels() -> bool:
    """Whether there is a compiled library."""
    return library() is not None


CHOICES = (usual_way, usual_train_cut, has_nd_linear_chain, has_tensor_train_chain, has_low_rank_chain, has_kernels)
for choose in CHOICES:
    # What torch.compiler.assume_constant_result sets; itself it imports the compiler, which takes as long as torch
    vars(choose)["_dynamo_marked_constant"] = True


def shapes_of(tensors: Iterable[Tensor]) -> Shapes:
    """Shapes as keys of these caches."""
    return tuple([tensor.shape for tensor in tensors])


@functools.lru_cache(maxsize=4096)  # a key that is there costs less than a call of Python
def rounded_rows(rows: int) -> int:
    """Round a batch to a power of four, so that few sizes are told apart."""
    return 1 << (rows.bit_length() & ~1)


def _sizes(shapes: Shapes) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Of inputs, of outputs, and the number of terms."""
    terms = shapes[0][0] if len(shapes[0]) == 3 else 1
    return tuple(shape[-1] for shape in shapes), tuple(shape[-2] for shape in shapes), terms


def _train_sizes(shapes: Shapes) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Of inputs, of outputs, and the ranks."""
    ranks = (*(shape[0] for shape in shapes), shapes[-1][3])
    return tuple(shape[1] for shape in shapes), tuple(shape[2] for shape in shapes), ranks
