"""A linear layer whose weight is a tensor train: a chain of small cores in place of one large matrix."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ConfigError, ShapeError
from multiway.nn.checks import check_dtype, check_fit, check_sizes, whole_numbers
from multiway.nn.factorised import Approximation, linear_of, relative_error


class TTLinear(nn.Module):
    r"""A dense layer with its weight as a matrix product operator.

    $$W \approx G_1 \times^1_4 G_2 \times^1_4 \cdots \times^1_4 G_N, \qquad
      G_n \in \mathbb{R}^{R_{n-1} \times I_n \times J_n \times R_n}$$

    (Tensorized Graph Attention, eq. 2). Takes and returns flat features, as `torch.nn.Linear` does, and counts
    Σ Rₙ₋₁ Iₙ Jₙ Rₙ parameters and the bias.

    Differs from the paper: cores are contracted in two halves and the halves applied to the input, or to each other
    where the dense product is cheaper; the paper contracts core by core (eq. 3). The result is the same.

    Args:
        in_sizes: Factors I₁…I_N of the number of input features.
        out_sizes: Factors J₁…J_N of the number of output features, as many.
        tt_ranks: One rank for every bond, the N - 1 inner ranks, or all N + 1 with ends of 1.
        bias: Learn a bias for every output.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        `(*, Π in_sizes)` to `(*, Π out_sizes)`.

    Raises:
        ShapeError: The sizes are not as many, or below one.
        ConfigError: Ranks that are not as many as the bonds, or below one.
    """

    def __init__(
        self,
        in_sizes: Sequence[int],
        out_sizes: Sequence[int],
        *,
        tt_ranks: int | Sequence[int],
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_sizes, self.out_sizes = check_sizes("TTLinear", in_sizes, out_sizes)
        self.tt_ranks = all_ranks(tt_ranks, len(self.in_sizes))
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        shapes = zip(self.tt_ranks[:-1], self.in_sizes, self.out_sizes, self.tt_ranks[1:], strict=True)
        self.cores = nn.ParameterList(torch.empty(shape, **factory) for shape in shapes)
        self.bias: nn.Parameter | None
        offset = nn.Parameter(torch.empty(math.prod(self.out_sizes), **factory)) if bias else None
        self.register_parameter("bias", offset)
        self.approximation: Approximation | None = None
        self._in_features = math.prod(self.in_sizes)
        self.reset_parameters()

    @classmethod
    def quantized(
        cls, in_features: int, out_features: int | None = None, *, tt_rank: int = 2, bias: bool = True, **factory: Any
    ) -> "TTLinear":
        """The quantised form: every size is two (TGA, remark 5); 16 (N - 1) parameters at rank 2 and as many outputs.

        With unequal powers of two, the longer side's spare factors meet a one on the other side.

        Raises:
            ShapeError: A number of features is not a power of two.
        """
        outputs = in_features if out_features is None else out_features
        twos = [_log2(features) for features in (in_features, outputs)]
        count = max(*twos, 1)
        in_sizes, out_sizes = ([2] * n + [1] * (count - n) for n in twos)
        return cls(in_sizes, out_sizes, tt_ranks=tt_rank, bias=bias, **factory)

    def reset_parameters(self) -> None:
        """Draw cores so that outputs have the variance of inputs; the bias is zero.

        An entry of W is a sum over Π Rₙ paths of products of N core entries: normal cores of variance s² with
        s^(2N) Π Rₙ = 1 / Π Iₙ. Products of many small cores spread widely, so all are then scaled to bring W to the
        norm that this means.
        """
        paths, fan_in = math.prod(self.tt_ranks), math.prod(self.in_sizes)
        deviation = (paths * fan_in) ** (-0.5 / len(self.cores))
        draw_cores(self.cores, deviation, math.sqrt(math.prod(self.out_sizes)))
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "*lead in"]) -> Float[Tensor, "*lead out"]:
        """Map the last axis."""
        shape = x.shape
        if not shape or shape[-1] != self._in_features:
            raise ShapeError(
                f"TTLinear: the last axis of the input must be {self._in_features} = Π {self.in_sizes}. "
                f"Got {tuple(x.shape)}."
            )
        cores = ops.members(self._modules["cores"])  # type: ignore[arg-type]
        if x.dtype != cores[0].dtype:
            check_dtype("TTLinear", "x", x, cores[0])
        if len(shape) == 2:
            return ops.tt_linear(x, cores, self.bias)
        rows = ops.tt_linear(x.reshape(-1, self._in_features), cores, self.bias)
        return rows.view(*x.shape[:-1], rows.shape[1])

    def dense_weight(self) -> Float[Tensor, "out in"]:
        """The weight of the dense layer that this one equals."""
        return ops.tt_matrix(list(self.cores))

    def to_linear(self) -> nn.Linear:
        """The dense layer with the same answers."""
        return linear_of(self.dense_weight(), self.bias)

    @classmethod
    def from_linear(
        cls,
        linear: nn.Linear,
        in_sizes: Sequence[int],
        out_sizes: Sequence[int],
        *,
        tt_ranks: int | Sequence[int] | None = None,
        max_error: float | None = None,
    ) -> "TTLinear":
        """Approximate a trained dense layer by TT-SVD, to given ranks or to within a relative error.

        `approximation` of the result holds the relative error and its bound, the root of the sum of squares of all
        dropped singular values; both are in the layer's `repr`.

        Raises:
            ShapeError: The sizes do not multiply to the layer's features.
            ConfigError: Not one of `tt_ranks` and `max_error`.
        """
        in_sizes, out_sizes = check_sizes("TTLinear.from_linear", in_sizes, out_sizes)
        check_fit("TTLinear.from_linear", linear, in_sizes, out_sizes)
        ranks = None if tt_ranks is None else all_ranks(tt_ranks, len(in_sizes))
        weight = linear.weight.detach()
        cores, dropped = ops.tt_svd(weight.double(), in_sizes, out_sizes, tt_ranks=ranks, max_error=max_error)
        kept = [core.shape[0] for core in cores] + [1]
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            layer = cls(in_sizes, out_sizes, tt_ranks=kept, bias=linear.bias is not None).to(weight)
            for parameter, core in zip(layer.cores, cores, strict=True):
                parameter.copy_(core)
            if layer.bias is not None:
                layer.bias.copy_(linear.bias)
        norm = float(weight.double().norm())
        rounding = len(cores) * torch.finfo(weight.dtype).eps  # of the cores, as they are stored
        bound = math.hypot(*dropped) / norm + rounding if norm > 0 else 0.0
        layer.approximation = Approximation(relative_error(weight, layer.dense_weight()), bound)
        return layer

    def extra_repr(self) -> str:
        """Sizes, ranks and the error of an approximation."""
        parts = [f"{self.in_sizes} -> {self.out_sizes}", f"tt_ranks={self.tt_ranks}"]
        parts += [] if self.bias is not None else ["bias=False"]
        parts += [f"error={self.approximation}"] if self.approximation else []
        return ", ".join(parts)


@torch.no_grad()
def draw_cores(cores: Iterable[Tensor], deviation: float, norm: float) -> None:
    """Fill the cores of a train with normal numbers of one deviation, and bring its matrix to a Frobenius norm."""
    drawn = list(cores)
    for core in drawn:
        nn.init.normal_(core, 0.0, deviation)
    now = ops.tt_norm([core.double() for core in drawn]).clamp_min(torch.finfo(torch.float64).tiny)
    scale = (norm / now) ** (1 / len(drawn))
    for core in drawn:
        core.mul_(scale.to(core.dtype))


def all_ranks(tt_ranks: int | Sequence[int], count: int, layer: str = "TTLinear") -> tuple[int, ...]:
    """N + 1 ranks from whichever form was given."""
    given = whole_numbers(tt_ranks if isinstance(tt_ranks, Iterable) else [tt_ranks] * (count - 1))
    ranks = () if given is None else (1, *given, 1) if len(given) == count - 1 else given
    if len(ranks) != count + 1 or ranks[0] != 1 or ranks[-1] != 1 or min(ranks) < 1:
        raise ConfigError(
            f"{layer}: {count} cores take one rank, {count - 1} inner ranks, or {count + 1} with ends of 1; "
            f"all positive. Got tt_ranks={tt_ranks}."
        )
    return ranks


def _log2(features: int) -> int:
    if not isinstance(features, int) or features < 1 or features & (features - 1):
        raise ShapeError(
            f"TTLinear.quantized: the number of features must be a power of two. Got {features}. "
            f"Use TTLinear with factors of your own."
        )
    return features.bit_length() - 1
