"""Which way an equation is computed: the one table of choices. Every way gives the same numbers to rounding.

| equation | on a processor, in float32 | in a graph | anywhere else |
|---|---|---|---|
| `nd_linear` | compiled chain, where it is faster by a model | the same as an operator | the cheapest plan, or cut |
| `tt_linear` | compiled chain, likewise | the same as an operator | the cheapest cut |
| `additive_scores` | compiled | the same as an operator | as it stands |
| `graph_attention` | in bands, strips or dense, by length | an operator, or dense | in bands, or dense |
| `positive_sums` | compiled, without a gradient | as it stands | as it stands |
| `dropout` | draws of its own | as torch has it | as torch has it |

An equation stands in a file of its own and is decorated with `faster`; whoever calls it sees no plan.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd import forward_ad

from multiway.kernels.compiled import (
    Chain,
    CompiledFunction,
    Scores,
    can_run,
    has_memory,
    sum_positives,
    with_gradient,
)
from multiway.kernels.library import library
from multiway.kernels.operators import call_operator
from multiway.ops import chains, plans, products
from multiway.ops.checks import Shapes, check_nd_linear, check_signals, check_train
from multiway.ops.graph import Damping, attention_adjacency, banded_graph_filter, damping_reach, graph_filter
from multiway.ops.graph_strips import call_graph_filter, strip_graph_filter

P = ParamSpec("P")
Result = TypeVar("Result")

LONGEST = 1 - 1e-6
"""Damping that one which is learnt counts as at most, where lags are left out."""
STRIPS_FROM = 256
"""Steps that are worth a strip: dense, fewer take less time."""
OPERATOR_FROM = 48
"""Steps that are worth an operator in a graph, with which a compiler fuses nothing."""
BANDED_FROM = 3
"""Lengths beyond this many reaches are filtered in blocks, of which each step then meets at most three."""
SCORES = Scores()
PLACES = [tuple(map(str, range(count))) for count in range(33)]
"""Names of the members of a list of so many."""
_EXPORTS_OPERATORS = False


def faster(
    choose: Callable[Concatenate[Callable[P, Result], P], Result],
) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Compute an equation by the way that `choose` finds for its arguments; it is given the equation first."""

    def decorate(equation: Callable[P, Result]) -> Callable[P, Result]:
        @functools.wraps(equation)
        def run(*args: P.args, **options: P.kwargs) -> Result:
            return choose(equation, *args, **options)

        return run

    return decorate


class Way(NamedTuple):
    """How a map of certain sizes is computed."""

    compiled: CompiledFunction | None
    """The chain, where there is one and a model says that it is faster."""
    plan: Any
    """What operations of torch follow: a plan or a cut."""


def fast_nd_linear(
    equation: Callable[..., Tensor],
    x: Tensor,
    weights: Iterable[Tensor],
    biases: Iterable[Tensor] = (),
    *,
    full_bias: Tensor | None = None,
    descending: bool = False,
) -> Tensor:
    """A compiled chain of products, a plan for one term, or a cut for several."""
    weights = weights if type(weights) is list else members(weights)
    biases = biases if type(biases) is list else members(biases)
    parameters = [*weights, *biases] if full_bias is None else [*weights, *biases, full_bias]
    kind = "full" if full_bias is not None else None if not biases else "descending" if descending else "ascending"
    shapes, count = tuple([tensor.shape for tensor in parameters]), len(weights)
    if in_graph():
        check_nd_linear(x.shape[1:], shapes, count, kind)
        has_chain, plan = usual_nd_linear_way(shapes[:count], kind, descending)
        if has_chain and may_be_operator(x, *parameters):
            return call_operator("nd_linear", x, parameters, count, kind or "")
        return products.run_plan(plan, x, weights, biases, full_bias, descending)
    # In a layer that is being traced, sizes in a shape are tensors; `len` gives a number.
    compiled, plan = nd_linear_way(equation, chains.round_rows(len(x)), x.shape[1:], shapes, count, kind, descending)
    out = compiled((x, *parameters)) if compiled else None
    return products.run_plan(plan, x, weights, biases, full_bias, descending) if out is None else out


@functools.lru_cache(maxsize=4096)
def nd_linear_way(
    equation: Callable[..., Tensor],
    rows: int,
    sizes: tuple[int, ...],
    shapes: Shapes,
    count: int,
    kind: str | None,
    descending: bool,
) -> Way:
    """For so many weights and what bias follows them; refuses shapes that do not fit each other."""
    check_nd_linear(sizes, shapes, count, kind)

    def plain(x: Tensor, *given: Tensor) -> Tensor:
        weights, rest = given[:count], given[count:]
        if kind == "full":
            return equation(x, weights, full_bias=rest[0])
        return equation(x, weights, rest, descending=descending)

    chain = chains.nd_linear_chain(shapes[:count], rows, kind)
    plan = plans.nd_linear_way(shapes[:count], rows, kind in ("ascending", "descending"), descending)
    return Way(_with_gradient(chain, plain), plan)


def _with_gradient(chain: Chain | None, plain: Callable[..., Tensor]) -> CompiledFunction | None:
    return with_gradient(chain, plain) if chain is not None and has_kernels() else None


def fast_tt_linear(
    equation: Callable[..., Tensor], x: Tensor, cores: Iterable[Tensor], bias: Tensor | None = None
) -> Tensor:
    """A compiled chain of products, or a cut of the train into two halves."""
    cores = members(cores)
    parameters = cores if bias is None else [*cores, bias]
    shapes, count = tuple([tensor.shape for tensor in parameters]), len(cores)
    if in_graph():
        check_train(x.shape[1:], shapes, count)
        has_chain, cut = usual_tt_linear_way(shapes[:count], bias is not None)
        if has_chain and may_be_operator(x, *parameters):
            return call_operator("tt_linear", x, parameters, count)
        return products.tensor_train_product(x, cores, bias, cut)
    compiled, cut = tt_linear_way(equation, chains.round_rows(len(x)), x.shape[1:], shapes, count)
    out = compiled((x, *parameters)) if compiled else None
    return products.tensor_train_product(x, cores, bias, cut) if out is None else out


@functools.lru_cache(maxsize=4096)
def tt_linear_way(
    equation: Callable[..., Tensor], rows: int, sizes: tuple[int, ...], shapes: Shapes, count: int
) -> Way:
    """For so many cores, and perhaps a bias; refuses shapes that do not fit each other."""
    check_train(sizes, shapes, count)

    def plain(x: Tensor, *given: Tensor) -> Tensor:
        return equation(x, given[:count], *given[count:])

    chain = chains.tensor_train_chain(shapes[:count], rows, len(shapes) > count)
    return Way(_with_gradient(chain, plain), plans.train_cut(shapes[:count], rows))


def fast_scores(equation: Callable[..., Tensor], query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """Compiled, without the values of tanh in memory."""
    out = None
    if in_graph():
        if query.shape[:-2] == key.shape[:-2] and may_be_operator(query, key, weight):
            return call_operator("additive_scores", query, [key, weight])
    elif has_kernels() and SCORES.fits(query, key, weight):
        out = scores_function(equation)([query.contiguous(), key.contiguous(), weight.contiguous()])
    return equation(query, key, weight) if out is None else out


@functools.cache
def scores_function(equation: Callable[..., Tensor]) -> CompiledFunction:
    """Of sizes of all kinds."""
    return with_gradient(SCORES, equation)


def fast_positive_sums(
    equation: Callable[..., Tensor], answers: Tensor, biases: Tensor, kept: Tensor | None = None
) -> Tensor:
    """Compiled: no run of steps is in memory."""
    given = [answers, biases] if kept is None else [answers, biases, kept]
    alike = answers.ndim == 3 and biases.ndim == 2 and answers.shape[2] == biases.shape[1] and answers.numel() > 0
    follows = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given)
    if alike and not follows and not in_graph() and has_kernels() and can_run(given):
        if kept is None or kept.shape == answers.shape[:2]:
            return sum_positives(answers, biases, kept)
    return equation(answers, biases, kept)


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
    # A damping that is learnt has no number, to count lags by, in graphs, vmap and the meta device
    has_number = not isinstance(damping, Tensor) or (not in_graph() and has_memory(damping))
    if banded is None and not torch.compiler.is_exporting() and has_number:
        banded, may_drop = key.shape[-2] > BANDED_FROM * reach(), True
    else:
        may_drop = banded is not False
    if banded:
        return banded_graph_filter(key, value, damping, reach=reach(), **form)
    # The length is asked last: that of an exported graph is no number.
    if not isinstance(damping, Tensor) and is_plain(key) and is_plain(value) and value.shape[-2] >= STRIPS_FROM:
        return strip_graph_filter(key, value, damping, reach=reach() if may_drop else None, **form)
    return graph_filter(value, attention_adjacency(key, damping, causal=causal), normalisation)


def _reach(damping: Damping, tolerance: float) -> int:
    """Lags that count, of the graph that looks farthest."""
    if isinstance(damping, Tensor):
        damping = min(float(damping.detach().max()), LONGEST)
    return damping_reach(damping, tolerance)


def is_plain(x: Tensor) -> bool:
    """Whether `x` lies in the processor's memory, and nothing but autograd follows what is done with it."""
    if torch.compiler.is_compiling() or not x.is_cpu or forward_ad.unpack_dual(x).tangent is not None:
        return False
    return has_memory(x)


def in_graph() -> bool:
    """Whether a graph is being compiled or exported; sizes may then be symbols, and must not choose the way."""
    return torch.compiler.is_compiling()


def may_be_operator(*tensors: Tensor) -> bool:
    """Whether a graph may hold a kernel's operator here: for float32 on a processor, and in exports by choice."""
    if (torch.compiler.is_exporting() and not _EXPORTS_OPERATORS) or not has_kernels():
        return False
    x = tensors[0]
    return x.is_cpu and not torch.is_autocast_enabled("cpu") and all(each.dtype is torch.float32 for each in tensors)


def usual_nd_linear_way(weights: Shapes, kind: str | None, descending: bool) -> tuple[bool, Any]:
    """For a graph, which serves batches of every size: whether a chain is worth its while, and a plan or a cut."""
    shapes, rows = tuple(map(tuple, weights)), plans.ROWS
    plan = plans.nd_linear_way(shapes, rows, kind in ("ascending", "descending"), descending)
    return chains.nd_linear_chain(shapes, rows, kind) is not None, plan


def usual_tt_linear_way(cores: Shapes, has_bias: bool) -> tuple[bool, plans.Cut]:
    """Likewise, for a train."""
    shapes = tuple(map(tuple, cores))
    has_chain = chains.tensor_train_chain(shapes, plans.ROWS, has_bias) is not None
    return has_chain, plans.train_cut(shapes, plans.ROWS)


def has_kernels() -> bool:
    """Whether there is a compiled library."""
    return library() is not None


for choose in (usual_nd_linear_way, usual_tt_linear_way, has_kernels):
    # What torch.compiler.assume_constant_result sets; itself it imports the compiler, which takes as long as torch
    vars(choose)["_dynamo_marked_constant"] = True


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


def members(tensors: Iterable[Tensor]) -> list[Tensor]:
    """Tensors of a list; indexing a `ParameterList`, as parametrised members need, costs more than a small product."""
    if type(tensors) is list:
        return tensors
    if isinstance(tensors, nn.ParameterList) and tensors._size < len(PLACES):
        if tuple(tensors._parameters) == PLACES[tensors._size]:  # pruning leaves other names or another order
            return cast(list[Tensor], list(tensors._parameters.values()))
    return list(tensors)
