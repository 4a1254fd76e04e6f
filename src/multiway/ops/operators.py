"""The operators of torch that graphs hold in place of a compiled kernel; see `multiway.kernels.operators`.

`multiway::nd_linear(x, parameters, modes, bias)`: weights of so many modes, then what bias they have: "" for none,
"full" for one of the output's sizes, "ascending" or "descending" for one per mode in the order of the products.
`multiway::tt_linear(x, parameters, cores)`: so many cores, then perhaps a bias.
`multiway::low_rank_linear(x, parameters)`: the matrix into the bottleneck, that out of it, then perhaps a bias.
`multiway::additive_scores(x, parameters)`: queries; keys and weights.
"""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from multiway.kernels import compiled
from multiway.kernels.operators import Gradients, Operator
from multiway.ops import attention, dispatch, plans, products, ways

Tensors = Sequence[Tensor]
Needed = Sequence[bool]


def _plain_nd_linear(x: Tensor, parameters: Tensors, modes: int, bias: str) -> Tensor:
    weights, rest, descending = parameters[:modes], parameters[modes:], bias == "descending"
    biases, full_bias = ([], rest[0]) if bias == "full" else (rest, None)
    way = ways.nd_linear_way(ways.rounded_rows(len(x)), ways.shapes_of(weights), bool(biases), descending)
    return dispatch.planned_nd_linear(way, x, weights, biases, full_bias, descending)


def _nd_linear_shape(x: Tensor, parameters: Tensors, modes: int, bias: str) -> list[Any]:  # numbers or symbols
    return [x.shape[0], *(weight.shape[-2] for weight in parameters[:modes])]


def _nd_linear_chain(x: Tensor, parameters: Tensors, modes: int, bias: str) -> compiled.Chain | None:
    """Best for these rows, or for the usual number where operations of torch are a little better for these."""
    shapes, kind = ways.shapes_of(parameters[:modes]), bias or None
    chain = ways.kept_nd_linear_chain(shapes, ways.rounded_rows(len(x)), kind)
    return ways.kept_nd_linear_chain(shapes, plans.ROWS, kind) if chain is None else chain


def _plain_tt_linear(x: Tensor, parameters: Tensors, cores: int) -> Tensor:
    bias = parameters[cores] if len(parameters) > cores else None
    cut = ways.train_cut(ways.shapes_of(parameters[:cores]), len(x))
    return products.tensor_train_product(x, parameters[:cores], bias, cut)


def _tt_linear_shape(x: Tensor, parameters: Tensors, cores: int) -> list[Any]:
    features = 1
    for core in parameters[:cores]:
        features *= core.shape[2]
    return [x.shape[0], features]


def _tt_linear_chain(x: Tensor, parameters: Tensors, cores: int) -> compiled.Chain | None:
    shapes, has_bias = ways.shapes_of(parameters[:cores]), len(parameters) > cores
    chain = ways.kept_train_chain(shapes, len(x), has_bias)
    return ways.kept_train_chain(shapes, plans.ROWS, has_bias) if chain is None else chain


def _plain_low_rank(x: Tensor, parameters: Tensors) -> Tensor:
    down, up, *bias = parameters
    return F.linear(F.linear(x, down), up, *bias)


def _low_rank_shape(x: Tensor, parameters: Tensors) -> list[Any]:
    return [x.shape[0], parameters[1].shape[0]]


def _low_rank_chain(x: Tensor, parameters: Tensors) -> compiled.Chain | None:
    shapes, has_bias = ways.shapes_of(parameters[:2]), len(parameters) > 2
    chain = ways.kept_low_rank_chain(shapes, len(x), has_bias)
    return ways.kept_low_rank_chain(shapes, plans.ROWS, has_bias) if chain is None else chain


def _plain_scores(query: Tensor, parameters: Tensors) -> Tensor:
    return attention.additive_scores.__wrapped__(query, *parameters)  # type: ignore[attr-defined,no-any-return]


def _scores_shape(query: Tensor, parameters: Tensors) -> list[Any]:
    return [*query.shape[:-1], parameters[0].shape[-2]]


def _scores(query: Tensor, parameters: Tensors) -> Tensor | None:
    return compiled.scores_forward(query, *parameters) if compiled.can_score(query, *parameters) else None


def _scores_gradients(grad: Tensor, tensors: Tensors, needed: Needed) -> Gradients | None:
    return [*compiled.scores_gradients(grad, *tensors)] if compiled.can_score(*tensors) else None


class ChainOf:
    """The kernel's two passes, for the chain that `find` sees in an operator's arguments."""

    def __init__(self, find: Callable[..., compiled.Chain | None]) -> None:
        self.find = find

    def forward(self, x: Tensor, parameters: Tensors, *constants: object) -> Tensor | None:
        """The result, or None where the kernel cannot run."""
        chain = self._chain(x, parameters, constants) if compiled.can_run(x, *parameters) else None
        return None if chain is None else compiled.chain_forward(chain, x, parameters)

    def gradients(self, grad: Tensor, tensors: Tensors, needed: Needed, *constants: object) -> Gradients | None:
        """Those needed, or None where the kernel cannot run."""
        chain = self._chain(tensors[0], tensors[1:], constants) if compiled.can_run(grad, *tensors) else None
        return None if chain is None else compiled.chain_gradients(chain, grad, tensors, needed)

    def _chain(self, x: Tensor, parameters: Tensors, constants: Sequence[object]) -> compiled.Chain | None:
        """Not for rows of another size, which it would read beyond their end."""
        chain = self.find(x, parameters, *constants)
        return None if chain is None or x.numel() != len(x) * chain.inputs else chain


def _chain_operator(
    name: str, constants: str, plain: Callable[..., Tensor], shape: Callable[..., list[Any]], find: Callable[..., Any]
) -> Operator:
    passes = ChainOf(find)
    return Operator(name, constants, plain, shape, passes.forward, passes.gradients, find)


OPERATORS = (
    _chain_operator("nd_linear", ", int modes, str bias", _plain_nd_linear, _nd_linear_shape, _nd_linear_chain),
    _chain_operator("tt_linear", ", int cores", _plain_tt_linear, _tt_linear_shape, _tt_linear_chain),
    _chain_operator("low_rank_linear", "", _plain_low_rank, _low_rank_shape, _low_rank_chain),
    Operator("additive_scores", "", _plain_scores, _scores_shape, _scores, _scores_gradients),
)
for operator in OPERATORS:
    operator.register()
