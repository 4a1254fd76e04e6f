"""What factorised layers share: their error, their parameters, and the dense layer they stand for."""

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

from torch import Tensor, nn

from multiway.errors import ShapeError


class Approximation(NamedTuple):
    """How far a factorised weight is from the dense one, relative in the Frobenius norm."""

    error: float
    """‖W - Ŵ‖ / ‖W‖, computed."""
    bound: float | None = None
    """What theory promises from the dropped singular values, where it promises anything."""

    def __str__(self) -> str:
        """Both figures, for a layer's `repr`."""
        return f"{self.error:.3g}" if self.bound is None else f"{self.error:.3g} (at most {self.bound:.3g})"


def relative_error(exact: Tensor, approximate: Tensor) -> float:
    """‖W - Ŵ‖ / ‖W‖ in float64; 0 where both are zero."""
    distance = float((exact.detach().double() - approximate.detach().double()).norm())
    norm = float(exact.detach().double().norm())
    return distance / norm if norm > 0 else distance


def linear_of(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """A dense layer with copies of these parameters."""
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    linear.weight = nn.Parameter(weight.detach().clone())
    if bias is not None:
        linear.bias = nn.Parameter(bias.detach().clone())
    return linear


def parameters_of(parameters: nn.ParameterList) -> list[Tensor]:
    """The members of a parameter list; indexing it, as parametrised members need, costs more than a small product."""
    plain = parameters._parameters
    return cast(list[Tensor], list(plain.values() if len(plain) == len(parameters) else parameters))


def checked_sizes(
    where: str, in_sizes: Sequence[int], out_sizes: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both lists as tuples.

    Raises:
        ShapeError: They are not lists of whole numbers from 1 on, as many in both and at least one.
    """
    lists = [tuple(sizes) if isinstance(sizes, Sequence) else sizes for sizes in (in_sizes, out_sizes)]
    good = all(isinstance(sizes, tuple) and all(_is_size(size) for size in sizes) for sizes in lists)
    if not good or not lists[0] or len(lists[0]) != len(lists[1]):
        counts = f" ({len(lists[0])} and {len(lists[1])} modes)" if good else ""
        raise ShapeError(
            f"{where}: in_sizes and out_sizes must be lists of whole numbers from 1 on, one output size per mode and "
            f"at least one mode. Got in_sizes={lists[0]} and out_sizes={lists[1]}{counts}."
        )
    return lists[0], lists[1]


def check_fit(where: str, linear: nn.Linear, in_sizes: Sequence[int], out_sizes: Sequence[int]) -> None:
    """Refuse sizes that do not multiply to the features of a dense layer.

    Raises:
        ShapeError: They do not.
    """
    products = math.prod(in_sizes), math.prod(out_sizes)
    if products != (linear.in_features, linear.out_features):
        raise ShapeError(
            f"{where}: in_sizes and out_sizes must multiply to the layer's {linear.in_features} inputs and "
            f"{linear.out_features} outputs. Got {tuple(in_sizes)}, that is {products[0]}, and {tuple(out_sizes)}, "
            f"that is {products[1]}."
        )


def _is_size(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 1
