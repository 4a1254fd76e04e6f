"""The operators of torch that graphs hold in place of a compiled kernel; see `multiway.kernels.operators`.

`multiway::nd_linear(x, parameters, modes, bias)`: weights of so many modes, then what bias they have: "" for none,
"full" for one of the output's sizes, "ascending" or "descending" for one per mode in the order of the products.
`multiway::tt_linear(x, parameters, cores)`: so many cores, then perhaps a bias.
`multiway::additive_scores(x, parameters)`: queries; keys and weights.
"""

import math
from collections.abc import Sequence

from torch import Tensor

from multiway.kernels.compiled import Kernel
from multiway.kernels.operators import Operator
from multiway.ops import attention, chains, dispatch, plans, products

Tensors = Sequence[Tensor]


def _plain_nd_linear(x: Tensor, parameters: Tensors, modes: int, bias: str) -> Tensor:
    weights, rest, descending = parameters[:modes], parameters[modes:], bias == "descending"
    biases, full_bias = ([], rest[0]) if bias == "full" else (rest, None)
    way = plans.nd_linear_way(chains.shapes_of(weights), chains.round_rows(len(x)), bool(biases), descending)
    return products.run_plan(way, x, weights, biases, full_bias, descending)


def _find_nd_linear(x: Tensor, parameters: Tensors, modes: int, bias: str) -> Kernel | None:
    """Best for these rows, or for the usual number where operations of torch are a little better for these."""
    shapes, kind = chains.shapes_of(parameters[:modes]), bias or None
    best = chains.nd_linear_chain(shapes, chains.round_rows(len(x)), kind)
    return best or chains.nd_linear_chain(shapes, plans.ROWS, kind)


def _plain_tt_linear(x: Tensor, parameters: Tensors, cores: int) -> Tensor:
    bias = parameters[cores] if len(parameters) > cores else None
    cut = plans.train_cut(chains.shapes_of(parameters[:cores]), chains.round_rows(len(x)))
    return products.tensor_train_product(x, parameters[:cores], bias, cut)


def _find_tt_linear(x: Tensor, parameters: Tensors, cores: int) -> Kernel | None:
    shapes, has_bias = chains.shapes_of(parameters[:cores]), len(parameters) > cores
    best = chains.tensor_train_chain(shapes, chains.round_rows(len(x)), has_bias)
    return best or chains.tensor_train_chain(shapes, plans.ROWS, has_bias)


OPERATORS = (
    Operator(
        "nd_linear",
        ", int modes, str bias",
        plain=_plain_nd_linear,
        shape=lambda x, parameters, modes, bias: [x.shape[0], *(weight.shape[-2] for weight in parameters[:modes])],
        find=_find_nd_linear,
    ),
    Operator(
        "tt_linear",
        ", int cores",
        plain=_plain_tt_linear,
        shape=lambda x, parameters, cores: [x.shape[0], math.prod(core.shape[2] for core in parameters[:cores])],
        find=_find_tt_linear,
    ),
    Operator(
        "additive_scores",
        "",
        plain=lambda query, parameters: attention.additive_scores.__wrapped__(query, *parameters),  # type: ignore[attr-defined]
        shape=lambda query, parameters: [*query.shape[:-1], parameters[0].shape[-2]],
        find=lambda query, parameters: dispatch.SCORES,
    ),
)
for operator in OPERATORS:
    operator.register()
