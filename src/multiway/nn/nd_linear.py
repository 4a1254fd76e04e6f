"""NdLinear: one linear map per mode in place of one dense map on the flattened tensor."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ConfigError, ShapeError, closest
from multiway.nn.checks import check_dtype, check_fit, check_sizes, whole_numbers
from multiway.nn.factorised import Approximation, linear_of, relative_error

INITS = ("variance", "xavier", "package")
BIASES = (True, "modes", "full", False)


class NdLinear(nn.Module):
    r"""One linear map per mode, applied in turn: no flattening.

    $$Y = X \times_1 W_1 \times_2 W_2 \cdots \times_n W_n$$

    with a bias after each product (NdLinear, Algorithm 1). A single mode is `torch.nn.Linear`; without bias the
    layer equals a dense layer whose weight is W₁ ⊗ … ⊗ Wₙ, with Σ Dᵢ Hᵢ parameters instead of Π Dᵢ Hᵢ.

    Differs from the paper: weights are stored (Hᵢ, Dᵢ), the transpose of its Wᵢ; products run in the cheapest order,
    which folding the biases makes exact; the default initialisation keeps the variance (see `reset_parameters`).

    Args:
        in_sizes: Size of each mode of the input, batch excluded (paper: D₁…Dₙ).
        out_sizes: Size of each mode of the output (paper: H₁…Hₙ).
        bias: True or "modes" for a bias per mode, added after that mode's product; "full" for one bias of all
            outputs; or False.
        rank: Number of terms, each with weights and biases of its own, that are added up (the paper's suggestion
            in appendix A). With two modes and enough terms the layer is as general as a dense one.
        descending: Take the last mode first. Only the biases per mode notice.
        flat: Take and return the modes flattened into one last axis, as `torch.nn.Linear` does.
        init: "variance", "xavier" (the paper's) or "package"; see `reset_parameters`.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        `(*, *in_sizes)` to `(*, *out_sizes)` with any leading axes; `(*, Π in_sizes)` to `(*, Π out_sizes)` if `flat`.

    Raises:
        ShapeError: The two size lists differ in length, are empty, or hold a size below one.
        ConfigError: `bias`, `rank` or `init` is none of the choices.

    Cost: multiply-adds of the cheapest order; for two modes B D₂ D₁ H₂ + B D₁ H₁ H₂ or its mirror image.
    """

    def __init__(
        self,
        in_sizes: Sequence[int],
        out_sizes: Sequence[int],
        *,
        bias: bool | str = True,
        rank: int = 1,
        descending: bool = False,
        flat: bool = False,
        init: str = "variance",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_sizes, self.out_sizes = check_sizes("NdLinear", in_sizes, out_sizes)
        rank = _check_rank(rank)
        self.rank, self.descending, self.flat = rank, descending, flat
        self.init = _choose("init", init, INITS)
        self.bias_kind = None if bias is False else "modes" if bias is True else _choose("bias", bias, BIASES)
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        terms = () if rank == 1 else (rank,)
        pairs = list(zip(self.out_sizes, self.in_sizes, strict=True))
        self.weights = nn.ParameterList(torch.empty(*terms, *pair, **factory) for pair in pairs)
        has_mode_biases = self.bias_kind == "modes"
        self.biases = nn.ParameterList(torch.empty(*terms, out, **factory) for out, _ in pairs if has_mode_biases)
        self.full_bias: nn.Parameter | None
        full = nn.Parameter(torch.empty(self.out_sizes, **factory)) if self.bias_kind == "full" else None
        self.register_parameter("full_bias", full)
        self.approximation: Approximation | None = None
        self.register_load_state_dict_pre_hook(_accept_package_keys)  # type: ignore[no-untyped-call]
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and biases.

        "variance": uniform weights, each mode's variance the n-th root of 1 / (rank Π Dᵢ), so that outputs have the
        variance of inputs; each is brought to the norm that this means, as a few draws of a short mode would not be;
        biases are zero. "xavier": uniform up to √(6 / (Dᵢ + Hᵢ)) in each mode of each term (NdLinear sec. 2.3, which
        says nothing of biases: zero), so that a mode multiplies the variance by 2 Dᵢ / (Dᵢ + Hᵢ). "package": every mode
        as `torch.nn.Linear`, the scale of the `ndlinear` package, with which the standard deviation falls by about √3
        per mode.
        """
        bounds = self._bounds()
        for weight, bound in zip(self.weights, bounds, strict=True):
            nn.init.uniform_(weight, -bound, bound)
            if self.init == "variance" and not weight.is_meta:  # on meta a norm would import torch's compiler
                with torch.no_grad():  # every term is scaled to the norm that such entries have on average
                    norms = weight.norm(dim=(-2, -1), keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny)
                    weight.mul_(bound / math.sqrt(3) * math.sqrt(weight.shape[-1] * weight.shape[-2]) / norms)
        for bias, bound in zip(self.biases, bounds, strict=False):
            nn.init.uniform_(bias, -bound, bound) if self.init == "package" else nn.init.zeros_(bias)
        if self.full_bias is not None:
            nn.init.zeros_(self.full_bias)

    def _bounds(self) -> list[float]:
        """How far from zero the weights of each mode are drawn."""
        if self.init == "package":
            return [size**-0.5 for size in self.in_sizes]
        if self.init == "xavier":
            return [math.sqrt(6 / sum(pair)) for pair in zip(self.in_sizes, self.out_sizes, strict=True)]
        variance = (self.rank * math.prod(self.in_sizes)) ** (-1 / len(self.in_sizes))
        return [math.sqrt(3 * variance)] * len(self.in_sizes)

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*out_shape"]:
        """Map every mode; leading axes stay as they are."""
        weights = ops.members(self._modules["weights"])  # type: ignore[arg-type]
        biases = ops.members(self._modules["biases"])  # type: ignore[arg-type]
        if x.dtype != weights[0].dtype:
            check_dtype("NdLinear", "x", x, weights[0])
        full_bias = self.full_bias if self.bias_kind == "full" else None
        if x.ndim == 1 + len(self.in_sizes) and not self.flat and x.shape[1:] == self.in_sizes:
            return ops.nd_linear(x, weights, biases, full_bias=full_bias, descending=self.descending)
        lead = self._lead(x)
        rows = x.reshape(math.prod(lead), *self.in_sizes)
        y = ops.nd_linear(rows, weights, biases, full_bias=full_bias, descending=self.descending)
        return y.reshape(*lead, y.shape[1:].numel()) if self.flat else y.reshape(*lead, *y.shape[1:])

    def dense_weight(self) -> Float[Tensor, "out in"]:
        """The weight of the dense layer that this one equals."""
        stacked = [weight if self.rank > 1 else weight[None] for weight in self.weights]
        return ops.join_terms(stacked).sum(0)

    def dense_bias(self) -> Float[Tensor, " out"] | None:
        """The bias of the dense layer that this one equals."""
        bias: Tensor | None = self.full_bias
        if self.bias_kind == "modes":
            bias = ops.fold_biases(list(self.weights), list(self.biases), descending=self.descending)
        return None if bias is None else bias.flatten()

    def to_linear(self) -> nn.Linear:
        """The dense layer with the same answers on flattened modes."""
        return linear_of(self.dense_weight(), self.dense_bias())

    @classmethod
    def from_linear(
        cls, linear: nn.Linear, in_sizes: Sequence[int], out_sizes: Sequence[int], *, rank: int = 1, flat: bool = True
    ) -> "NdLinear":
        """Approximate a trained dense layer by the best sum of `rank` Kronecker products; its bias is kept as it is.

        Two modes have a closed form (Van Loan and Pitsianis 1993) whose error is what the dropped singular values
        say; more are fitted by alternating least squares. `approximation` of the result holds the relative error.

        Raises:
            ShapeError: The sizes do not multiply to the layer's features.
            ConfigError: `rank` is below 1. More terms than the sizes can tell apart are not made.
        """
        in_sizes, out_sizes = check_sizes("NdLinear.from_linear", in_sizes, out_sizes)
        check_fit("NdLinear.from_linear", linear, in_sizes, out_sizes)
        rank = _check_rank(rank)
        bias = False if linear.bias is None else "full"
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            factors = _fit(linear.weight, in_sizes, out_sizes, rank)
            layer = cls(in_sizes, out_sizes, bias=bias, rank=len(factors[0]), flat=flat).to(linear.weight)
            for weight, factor in zip(layer.weights, factors, strict=True):
                weight.copy_(factor.reshape(weight.shape))
            if layer.full_bias is not None:
                layer.full_bias.copy_(linear.bias.reshape(layer.out_sizes))
            layer.approximation = Approximation(relative_error(linear.weight, layer.dense_weight()))
        return layer

    def package_state_dict(self) -> dict[str, Tensor]:
        """The weights under the names of the `ndlinear` package; `load_state_dict` takes these too.

        Raises:
            ConfigError: The package has no such layer: rank above one, or a bias that is not one per mode.
        """
        if self.rank > 1 or self.bias_kind != "modes":
            raise ConfigError(
                f"NdLinear: the ndlinear package knows rank 1 with a bias per mode only. Got rank={self.rank}, "
                f"bias={self.bias_kind!r}."
            )
        named = {"weight": self.weights, "bias": self.biases}
        return {
            f"align_layers.{mode}.{name}": parameters[mode].detach()
            for mode in range(len(self.in_sizes))
            for name, parameters in named.items()
        }

    def extra_repr(self) -> str:
        """Sizes, and the options that differ from their defaults."""
        parts = [f"{self.in_sizes} -> {self.out_sizes}"]
        if self.bias_kind != "modes":
            parts.append(f"bias={self.bias_kind or False}")
        parts += [f"rank={self.rank}"] if self.rank > 1 else []
        parts += [name for name in ("descending", "flat") if getattr(self, name)]
        parts += [f"error={self.approximation}"] if self.approximation else []
        return ", ".join(parts)

    def _lead(self, x: Tensor) -> torch.Size:
        """The axes before the modes."""
        expected = (math.prod(self.in_sizes),) if self.flat else self.in_sizes
        count = len(expected)
        if x.ndim < count or x.shape[x.ndim - count :] != expected:
            raise ShapeError(
                f"NdLinear: the last {count} axes of the input must be {expected}, after any batch axes. "
                f"Got {tuple(x.shape)}."
            )
        return x.shape[: x.ndim - count]


def _accept_package_keys(module: nn.Module, state: dict[str, Any], prefix: str, *_: object) -> None:
    """Rename `align_layers.{i}.weight` of the package to `weights.{i}`, likewise biases."""
    for mode in range(len(module.weights)):  # type: ignore[arg-type]
        for name, ours in (("weight", "weights"), ("bias", "biases")):
            key = f"{prefix}align_layers.{mode}.{name}"
            if key in state:
                state[f"{prefix}{ours}.{mode}"] = state.pop(key)


def _fit(matrix: Tensor, in_sizes: Sequence[int], out_sizes: Sequence[int], rank: int) -> list[Tensor]:
    """Factors `(terms, out, in)` of the nearest sum of Kronecker products, all of a term of one norm."""
    generator = torch.Generator().manual_seed(0)  # alternating least squares start at random; the answer should not
    terms = ops.kronecker_decompose(
        matrix.double(), out_sizes, rank, column_sizes=in_sizes, starts=2, iterations=100, generator=generator
    )
    stacked = [torch.stack(factors) for factors in zip(*terms, strict=True)]
    norms = torch.stack([factor.flatten(1).norm(dim=1) for factor in stacked])
    common = norms.log().mean(0).exp()
    scales = torch.where(norms > 0, common / norms, 0)
    return [factor * scale[:, None, None] for factor, scale in zip(stacked, scales, strict=True)]


def _check_rank(rank: int) -> int:
    whole = whole_numbers([rank])
    if whole is None or whole[0] < 1:
        raise ConfigError(f"NdLinear: rank, the number of terms, must be a whole number from 1 on. Got rank={rank}.")
    return whole[0]


def _choose(name: str, value: str | bool, known: Sequence[str | bool]) -> str:
    if value not in known or (not isinstance(value, str) and value is not True):
        names = ", ".join(map(repr, known))
        near = closest(str(value), [choice for choice in known if isinstance(choice, str)])
        raise ConfigError(f"NdLinear: {name} must be one of {names}. Got {value!r}{near}")
    return str(value)
