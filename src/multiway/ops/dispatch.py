"""Which way an equation is computed: as it stands, in fewer and larger products, or by a kernel.

The one file that chooses. An equation stands in a file of its own and is decorated with `faster`; whoever calls it sees
no plan. Every way gives the same numbers to rounding.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd import forward_ad

from multiway.kernels import compiled, lean, operators
from multiway.ops import plans, products, ways
from multiway.ops.checks import check_nd_linear, check_signals, check_train
from multiway.ops.graph import Damping, attention_adjacency, banded_graph_filter, damping_reach, graph_filter
from multiway.ops.graph_operator import call_graph_filter
from multiway.ops.graph_strips import strip_graph_filter

P = ParamSpec("P")
Result = TypeVar("Result")

LONGEST = 1 - 1e-6
"""Damping that one which is learnt counts as at most, where lags are left out."""
STRIPS_FROM = 32
"""Steps that are worth a strip."""
OPERATOR_FROM = 48
"""Steps that are worth an operator in a graph, with which a compiler fuses nothing."""
BANDED_FROM = 3
"""Lengths beyond this many reaches are filtered in blocks, of which each step then meets at most three."""
PLACES = [tuple(map(str, range(count))) for count in range(33)]
"""Names of the members of a list of so many."""
_EXPORTS_OPERATORS = False


def faster(
    choose: Callable[Concatenate[Callable[P, Result], P], Result | None],
) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Compute an equation by the way that `choose` finds for its arguments; as it stands where that finds none."""

    def decorate(equation: Callable[P, Result]) -> Callable[P, Result]:
        @functools.wraps(equation)
        def run(*args: P.args, **options: P.kwargs) -> Result:
            result = choose(equation, *args, **options)
            return equation(*args, **options) if result is None else result

        return run

    return decorate


def is_open(x: Tensor, *, cpu: bool = False, autocast: bool = True) -> bool:
    """Whether a kernel made of torch's operations may take `x`: nothing but autograd follows them one by one.

    Compilers, exporters, vmap, functional and forward derivatives follow equations best; the meta device has no others.

    Args:
        x: What the kernel reads.
        cpu: Whether the kernel is for the processor alone.
        autocast: Whether the kernel works under autocast.
    """
    followed = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    if followed or forward_ad._current_level >= 0 or x.is_meta or (cpu and not x.is_cpu):
        return False
    return autocast or not torch.is_autocast_enabled(x.device.type)


def in_graph() -> bool:
    """Whether a graph is being compiled or exported; sizes may then be symbols, and must not choose the way."""
    return torch.compiler.is_compiling()


def may_be_operator(*tensors: Tensor) -> bool:
    """Whether a graph may hold a kernel's operator here: for float32 on a processor, and in exports by choice."""
    if (torch.compiler.is_exporting() and not _EXPORTS_OPERATORS) or not ways.has_kernels():
        return False
    x = tensors[0]
    return x.is_cpu and not torch.is_autocast_enabled("cpu") and all(each.dtype is torch.float32 for each in tensors)


@contextlib.contextmanager
def exported_operators() -> Iterator[None]:
    """Let `torch.export` keep the operators of compiled kernels, where it takes operations of torch otherwise.

    Such a program runs faster on a processor, and only where multiway is imported.
    """
    global _EXPORTS_OPERATORS
    before, _EXPORTS_OPERATORS = _EXPORTS_OPERATORS, True
    try:
        yield
    finally:
        _EXPORTS_OPERATORS = before


def is_transformed() -> bool:
    """Whether functorch or forward derivatives stand between the operations and their numbers."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def members(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Tensors of a list; indexing a `ParameterList`, as parametrised members need, costs more than a small product."""
    if type(tensors) is list:
        return tensors
    if isinstance(tensors, nn.ParameterList) and tensors._size < len(PLACES):
        if tuple(tensors._parameters) == PLACES[tensors._size]:  # pruning leaves other names or another order
            return cast(list[Tensor], list(tensors._parameters.values()))
    return list(tensors)


def fast_nd_linear(
    equation: Callable[..., Tensor],
    x: Tensor,
    weights: Iterable[Tensor],
    biases: Iterable[Tensor] = (),
    *,
    full_bias: Tensor | None = None,
    descending: bool = False,
) -> Tensor | None:
    """A compiled chain of products, a plan for one term, or a cut for several."""
    weights, biases = members(weights), members(biases)
    shapes, count = tuple([weight.shape for weight in weights]), len(weights)
    check = check_nd_linear if in_graph() else ways.check_nd_linear_once
    check(x.shape[1:], shapes, tuple([bias.shape for bias in biases]), None if full_bias is None else full_bias.shape)
    parameters = [*weights, *biases] if full_bias is None else [*weights, full_bias]
    kind = (
        "full" if full_bias is not None else None if len(biases) == 0 else "descending" if descending else "ascending"
    )
    if in_graph():
        if may_be_operator(x, *parameters) and ways.has_nd_linear_chain(shapes, kind):
            return operators.call_operator("nd_linear", x, parameters, count, kind or "")
        way = ways.usual_way(shapes, len(biases) > 0, descending)
        return planned_nd_linear(way, x, weights, biases, full_bias, descending)
    rows = ways.rounded_rows(len(x))
    chain = ways.kept_nd_linear_chain(shapes, rows, kind)
    out = None if chain is None else compiled.run_chain(chain, _nd_linear_of(equation, count, kind), x, *parameters)
    if out is not None:
        return out
    if is_transformed():
        return None
    way = ways.nd_linear_way(rows, shapes, len(biases) > 0, descending)
    return planned_nd_linear(way, x, weights, biases, full_bias, descending)


def planned_nd_linear(
    way: plans.Cut | Sequence[plans.Step],
    x: Tensor,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    full_bias: Tensor | None,
    descending: bool,
) -> Tensor:
    """By a cut for several terms, by a plan for one."""
    if isinstance(way, plans.Cut):
        bias = products.fold_biases(weights, biases, descending=descending) if biases else full_bias
        return products.multi_mode_linear_terms(x, weights, bias, way)
    return products.multi_mode_linear(x, weights, biases, way, full_bias=full_bias, descending=descending)


def fast_tt_linear(
    equation: Callable[..., Tensor], x: Tensor, cores: Iterable[Tensor], bias: Tensor | None = None
) -> Tensor | None:
    """A compiled chain of products, or a cut of the train into two halves."""
    cores = members(cores)
    shapes, count = tuple([core.shape for core in cores]), len(cores)
    check = check_train if in_graph() else ways.check_train_once
    check(x.shape[1:], shapes, None if bias is None else bias.shape)
    parameters = cores if bias is None else [*cores, bias]
    if in_graph():
        if may_be_operator(x, *parameters) and ways.has_tensor_train_chain(shapes, bias is not None):
            return operators.call_operator("tt_linear", x, parameters, count)
        return products.tensor_train_product(x, cores, bias, ways.usual_train_cut(shapes))
    chain = ways.kept_train_chain(shapes, len(x), bias is not None)
    out = None if chain is None else compiled.run_chain(chain, _tt_linear_of(equation, count), x, *parameters)
    if out is not None:
        return out
    if is_transformed():
        return None
    return products.tensor_train_product(x, cores, bias, ways.train_cut(shapes, len(x)))


def fast_low_rank(
    equation: Callable[..., Tensor], x: Tensor, down: Tensor, up: Tensor, bias: Tensor | None = None
) -> Tensor | None:
    """A compiled chain of both products, where calling them costs more than computing them."""
    fits = x.shape[1:] == down.shape[1:] and down.shape[0] == up.shape[1]
    if not fits or (bias is not None and bias.shape != up.shape[:1]):
        return None
    parameters = [down, up] if bias is None else [down, up, bias]
    shapes, has_bias = (down.shape, up.shape), bias is not None
    if in_graph():
        served = may_be_operator(x, *parameters) and ways.has_low_rank_chain(shapes, has_bias)
        return operators.call_operator("low_rank_linear", x, parameters) if served else None
    chain = ways.kept_low_rank_chain(shapes, len(x), has_bias) if compiled.has_node() else None
    return None if chain is None else compiled.run_chain(chain, equation, x, *parameters)


def graph_attention(
    key: Float[Tensor, "*batch length dim"],
    value: Float[Tensor, "*value_batch value_length out"],
    damping: Damping,
    *,
    causal: bool = False,
    normalisation: str = "none",
    banded: bool | None = None,
    lag_tolerance: float | None = None,
) -> Float[Tensor, "*batch length out"]:
    """Filter by time and content: Y = (I + Ψ) V with Ψ = Ω ⊙ ReLU(K Kᵀ / √d) (TGA sec. 3), in the cheapest form.

    Args:
        key: Keys (TGA: K).
        value: Signals at the vertices (TGA: V).
        damping: As for `time_adjacency`.
        causal: Whether a step sees only what came before.
        normalisation: As for `graph_filter`.
        banded: Whether to leave out lags that no longer count, in cost linear in length; by cost if not given. A graph
            that is exported keeps the dense form unless told.
        lag_tolerance: What Ω may weigh in a row at the lags left out; rounding if not given.

    Raises:
        ShapeError: Keys and values differ in length or batch.
    """
    check_signals("graph_attention", key, value)
    reach = functools.partial(_reach, damping, torch.finfo(key.dtype).eps if lag_tolerance is None else lag_tolerance)
    form: dict[str, Any] = {"causal": causal, "normalisation": normalisation}
    if in_graph() and banded is not True and not isinstance(damping, Tensor) and may_be_operator(key, value):
        if value.shape[-2] >= OPERATOR_FROM:
            return call_graph_filter(key, value, damping, reach=reach() if banded is None else None, **form)
    if banded is None and not torch.compiler.is_exporting() and _has_number(damping):
        banded, may_drop = key.shape[-2] > BANDED_FROM * reach(), True
    else:
        may_drop = banded is not False
    if banded:
        return banded_graph_filter(key, value, damping, reach=reach(), **form)
    if (
        is_open(value, cpu=True)
        and not isinstance(damping, Tensor)
        and value.numel()
        and value.shape[-2] >= STRIPS_FROM
    ):
        return strip_graph_filter(key, value, damping, reach=reach() if may_drop else None, **form)
    return graph_filter(value, attention_adjacency(key, damping, causal=causal), normalisation)


def fast_scores(equation: Callable[..., Tensor], query: Tensor, key: Tensor, weight: Tensor) -> Tensor | None:
    """Compiled, without the values of tanh in memory."""
    if in_graph():
        alike = query.shape[:-2] == key.shape[:-2]
        return (
            operators.call_operator("additive_scores", query, [key, weight])
            if alike and may_be_operator(query, key, weight)
            else None
        )
    return compiled.run_scores(equation, query, key, weight)


def fast_dropout(equation: Callable[..., Tensor], x: Tensor, p: float, training: bool = True) -> Tensor | None:
    """Drawn four numbers at a time on a processor."""
    return lean.drop(x, p) if training and p and lean.can_meet(p) and is_open(x, cpu=True) else None


@functools.cache
def _nd_linear_of(equation: Callable[..., Tensor], count: int, kind: str | None) -> Callable[..., Tensor]:
    """The equation as a function of x and of so many weights and what follows them."""
    if kind == "full":
        return lambda x, *given: equation(x, given[:count], full_bias=given[count])
    return lambda x, *given: equation(x, given[:count], given[count:], descending=kind == "descending")


@functools.cache
def _tt_linear_of(equation: Callable[..., Tensor], count: int) -> Callable[..., Tensor]:
    return lambda x, *given: equation(x, given[:count], *given[count:])


def _has_number(damping: Damping) -> bool:
    """Whether lags can be counted by a damping; a learnt one has no number in graphs, vmap and the meta device."""
    return not isinstance(damping, Tensor) or not (damping.is_meta or in_graph() or is_transformed())


def _reach(damping: Damping, tolerance: float) -> int:
    """Lags that count, of the graph that looks farthest."""
    if isinstance(damping, Tensor):
        damping = min(float(damping.detach().max()), LONGEST)
    return damping_reach(damping, tolerance)
