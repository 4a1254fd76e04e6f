"""What factorised layers share: their error, their parameters, and the dense layer they stand for."""

from typing import NamedTuple, cast

from torch import Tensor, nn


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
    """The members of a parameter list; indexing it costs more than a small product."""
    return cast(list[Tensor], list(parameters._parameters.values()))
