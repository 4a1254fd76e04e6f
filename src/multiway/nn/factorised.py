"""What factorised layers share, their error and the dense layer they stand for, and the simplest: two thin matrices."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ConfigError
from multiway.nn.checks import check_dtype

SKETCHED_FROM = 512
"""Length of a weight's shorter side from which its largest singular values are found without all others."""


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


class LowRankLinear(nn.Module):
    r"""A dense layer through a bottleneck: $y = U (V x) + b$ with `rank` rows of V.

    Counts rank (in + out) parameters and the bias.

    Args:
        in_features: Features of the input.
        out_features: Features of the output.
        rank: Width of the bottleneck.
        bias: Learn a bias for every output.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        `(*, in_features)` to `(*, out_features)`.

    Raises:
        ConfigError: `rank` is below one or above the smaller number of features.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        rank: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not 1 <= rank <= min(in_features, out_features):
            raise ConfigError(
                f"LowRankLinear: rank lies between 1 and the smaller number of features, "
                f"{min(in_features, out_features)}. Got rank={rank}."
            )
        self.in_features, self.out_features, self.rank = in_features, out_features, rank
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.down = nn.Parameter(torch.empty(rank, in_features, **factory))
        self.up = nn.Parameter(torch.empty(out_features, rank, **factory))
        self.bias: nn.Parameter | None
        self.register_parameter("bias", nn.Parameter(torch.empty(out_features, **factory)) if bias else None)
        self.approximation: Approximation | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both factors normal, so that outputs have the variance of inputs; the bias is zero."""
        nn.init.normal_(self.down, 0.0, self.in_features**-0.5)
        nn.init.normal_(self.up, 0.0, self.rank**-0.5)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "*lead in"]) -> Float[Tensor, "*lead out"]:
        """Map the last axis."""
        down = self.down
        if x.dtype != down.dtype:
            check_dtype("LowRankLinear", "x", x, down)
        if x.ndim == 2:
            return ops.low_rank_linear(x, down, self.up, self.bias)
        rows = ops.low_rank_linear(x.reshape(-1, x.shape[-1]), down, self.up, self.bias)
        return rows.view(*x.shape[:-1], rows.shape[1])

    def dense_weight(self) -> Float[Tensor, "out in"]:
        """The weight of the dense layer that this one equals."""
        return self.up @ self.down

    def to_linear(self) -> nn.Linear:
        """The dense layer with the same answers."""
        return linear_of(self.dense_weight(), self.bias)

    @classmethod
    def from_linear(cls, linear: nn.Linear, *, rank: int) -> "LowRankLinear":
        """Approximate a trained dense layer by the largest `rank` singular values of its weight.

        `approximation` of the result holds the relative error, which no other matrix of that rank undercuts. A large
        weight is decomposed by a randomised method, from a seed, at a tenth of the time; its error is then a little
        above the least, and no bound of it is known.
        """
        weight = linear.weight.detach()
        (out, in_), least = weight.shape, min(weight.shape)
        is_sketched = least >= SKETCHED_FROM and 4 * rank <= least
        with torch.no_grad(), torch.random.fork_rng(devices=[weight.device] if weight.is_cuda else []):
            layer = cls(in_, out, rank=rank, bias=linear.bias is not None).to(weight)
            if is_sketched:
                torch.manual_seed(0)
                left, values, turned = torch.svd_lowrank(weight.double(), q=2 * rank, niter=4)
                right = turned.mT
            else:
                left, values, right = torch.linalg.svd(weight.double(), full_matrices=False)
            roots = values[:rank].sqrt()
            layer.up.copy_(left[:, :rank] * roots)
            layer.down.copy_(roots[:, None] * right[:rank])
            if layer.bias is not None:
                layer.bias.copy_(linear.bias)
        norm = float(values.norm())
        rounding = 2 * torch.finfo(weight.dtype).eps  # of the factors, as they are stored
        dropped = float(values[rank:].norm()) / norm + rounding if norm > 0 else 0.0
        bound = None if is_sketched else dropped
        layer.approximation = Approximation(relative_error(linear.weight, layer.dense_weight()), bound)
        return layer

    def extra_repr(self) -> str:
        """Sizes, rank and the error of an approximation."""
        parts = [f"{self.in_features} -> {self.out_features}", f"rank={self.rank}"]
        parts += [] if self.bias is not None else ["bias=False"]
        parts += [f"error={self.approximation}"] if self.approximation else []
        return ", ".join(parts)
