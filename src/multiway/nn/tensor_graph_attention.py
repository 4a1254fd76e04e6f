"""Tensorized graph attention: a graph filter in time and content, every weight a tensor train (TGA, algorithm 1)."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ConfigError, ShapeError, closest
from multiway.nn.checks import check_dtype, check_valid
from multiway.nn.tt_linear import TTLinear

PRESETS = ("normalised", "paper")

Filter = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Keys and values of all heads to the filtered values and the graph."""


class TensorGraphAttention(nn.Module):
    r"""Let every token gather from tokens that are near in time and alike in content.

    $$Y = (I + \Psi) V, \qquad \Psi = \Omega \odot \operatorname{ReLU}(K K^\top / \sqrt{d}), \qquad
      \omega_{ij} = c^{|i - j|} / 2$$

    per head, with zero diagonals. K and V are tensor trains of the input, 16 (N - 1) parameters each for 2^N features
    at rank 2 (TGA, algorithm 1). Two heads or more are concatenated and brought back to `out_dim` by one more train.

    Differs from the paper: by default the filter is divided by the degrees of its graph, D = diag(1 + Ψ 1), as
    D^-½ (I + Ψ) D^-½ or, where causal, D⁻¹ (I + Ψ). As printed its gain grows with the length and with the size of
    the keys, and a few layers overflow. In the causal form a token receives at c^(i - j) from those before it; the
    triangle in print is the other one.

    Args:
        dim: Features per token, the tensorised embedding flattened row-major (TGA: I).
        num_heads: Heads, each with K and V of its own (TGA: H).
        out_dim: Features of the output (TGA: J), `dim` if not given.
        in_sizes: Sizes of the tensorised embedding, with product `dim` (TGA: I_n); all 2 if neither list is given,
            which needs powers of two.
        out_sizes: The same for `out_dim` (TGA: J_n), `in_sizes` if not given.
        tt_ranks: Ranks of every train, as for `TTLinear` (TGA: R_n).
        preset: "normalised" (by degrees) or "paper" (as printed).
        damping: Weight of a neighbour in time, between 0 and 1 (TGA: c).
        learn_damping: Learn one damping for each head, from that on: one more parameter each.
        causal: Whether a token sees only itself and what comes before.
        bias: Add biases to K, V and the output.
        banded: Whether to leave out lags that no longer count, which makes cost linear in length; by cost if not
            given. An exported model is dense unless told, and one told to be banded serves a single length. A compiled
            one that learns its damping is dense.
        lag_tolerance: What Ω may weigh in a row at all the lags left out together; the rounding of float32, or of
            float64 for that, if not given. The filter changes by at most this times the largest entry of Θ.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        `(..., length, dim)` to `(..., length, out_dim)`, any leading axes.

    Cost: 2 L² · out_dim multiply-adds per head for length L; banded 5 L · reach · out_dim, with a reach of 173 lags in
    float32 at c = 0.9. Scores and the filter are computed in float32 or wider, and Ψ is saved for the gradient; on a
    processor half of it or less, see `ops.strip_graph_filter`.

    Raises:
        ShapeError: Sizes do not multiply to their dim, or are missing where it is no power of two.
        ConfigError: `num_heads`, `preset`, `damping` or `lag_tolerance` is out of range.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int = 1,
        out_dim: int | None = None,
        in_sizes: Sequence[int] | None = None,
        out_sizes: Sequence[int] | None = None,
        tt_ranks: int | Sequence[int] = 2,
        preset: str = "normalised",
        damping: float = 0.9,
        learn_damping: bool = False,
        causal: bool = False,
        bias: bool = False,
        banded: bool | None = None,
        lag_tolerance: float | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if num_heads < 1:
            raise ConfigError(f"TensorGraphAttention: at least one head is needed. Got num_heads={num_heads}.")
        if preset not in PRESETS:
            raise ConfigError(
                f"TensorGraphAttention: preset={preset!r} is not one of {', '.join(PRESETS)}{closest(preset, PRESETS)}"
            )
        self.dim, self.num_heads, self.out_dim = dim, num_heads, dim if out_dim is None else out_dim
        ins, outs = _choose_sizes(dim, self.out_dim, in_sizes, out_sizes)
        self.preset, self.damping, self.causal, self.banded = preset, damping, causal, banded
        self.normalisation = "none" if preset == "paper" else "row" if causal else "symmetric"
        self.lag_tolerance = lag_tolerance
        ops.damping_reach(damping, 0.5 if lag_tolerance is None else lag_tolerance)  # refuses what is out of range
        self.damping_logits: nn.Parameter | None
        start = torch.empty(num_heads, device=device, dtype=dtype)
        self.register_parameter("damping_logits", nn.Parameter(start) if learn_damping else None)
        self.reset_parameters()
        factory: dict[str, Any] = {"tt_ranks": tt_ranks, "bias": bias, "device": device, "dtype": dtype}
        self.keys = nn.ModuleList(TTLinear(ins, outs, **factory) for _ in range(num_heads))
        self.values = nn.ModuleList(TTLinear(ins, outs, **factory) for _ in range(num_heads))
        joined = (num_heads * outs[0], *outs[1:])
        self.out = TTLinear(joined, outs, **factory) if num_heads > 1 else None

    def reset_parameters(self) -> None:
        """Set a damping that is learnt to the one that was given; the trains have their own."""
        if self.damping_logits is not None:
            nn.init.constant_(self.damping_logits, math.log(self.damping / (1 - self.damping)))

    def forward(
        self, x: Float[Tensor, "*batch length dim"], *, valid: Tensor | None = None
    ) -> Float[Tensor, "*batch length out"]:
        """Filter the tokens.

        Args:
            x: Tokens.
            valid: Boolean `(..., length)`, True for real tokens; others give nothing and their output is zero.
        """
        return self._attend(x, valid, self._filter_by_cost)[0]

    def forward_with_maps(
        self, x: Float[Tensor, "*batch length dim"], *, valid: Tensor | None = None
    ) -> tuple[Float[Tensor, "*batch length out"], Float[Tensor, "*batch heads length length"]]:
        """`forward`, never banded, and Ψ of every head before any normalisation; row i is what token i receives."""
        return self._attend(x, valid, self._filter)

    @property
    def dampings(self) -> ops.Damping:
        """The damping of every head: the number that was given, or `(heads,)` as learnt."""
        logits = self.damping_logits
        return self.damping if logits is None else logits.to(torch.promote_types(logits.dtype, torch.float32)).sigmoid()

    def _attend(self, x: Tensor, valid: Tensor | None, filter_heads: Filter) -> tuple[Tensor, Tensor]:
        self._check_input(x, valid)
        weight = next(self.parameters())
        if x.dtype != weight.dtype:
            check_dtype("TensorGraphAttention", "x", x, weight)
        real = None if valid is None else valid[..., None]
        tokens = x if real is None else torch.where(real, x, 0)  # here and not later: a NaN would reach the weights
        key, value = (torch.stack([head(tokens) for head in heads], -3) for heads in (self.keys, self.values))
        if real is not None:
            key = torch.where(real[..., None, :, :], key, 0)  # no edge to padding, whatever the bias
        wide = torch.promote_types(key.dtype, torch.float32)
        with ops.without_autocast(x):
            mixed, graph = filter_heads(key.to(wide), value.to(wide))
        joined = mixed.to(value.dtype).transpose(-2, -3).flatten(-2)  # (..., length, heads * out_dim)
        out = joined if self.out is None else self.out(joined)
        return (out if real is None else torch.where(real, out, 0)), graph

    def _filter(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        graph = ops.attention_adjacency(key, self.dampings, causal=self.causal)
        return ops.graph_filter(value, graph, self.normalisation), graph

    def _filter_by_cost(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The values filtered, and the keys in place of a graph that may not exist."""
        out = ops.graph_attention(
            key,
            value,
            self.dampings,
            causal=self.causal,
            normalisation=self.normalisation,
            banded=self.banded,
            lag_tolerance=self.lag_tolerance,
        )
        return out, key

    def _check_input(self, x: Tensor, valid: Tensor | None) -> None:
        if x.ndim < 2 or x.shape[-1] != self.dim:
            raise ShapeError(
                f"TensorGraphAttention: x must be (..., length, {self.dim}), any leading axes. Got {tuple(x.shape)}; "
                f"flatten a tensorised embedding."
            )
        check_valid("TensorGraphAttention", valid, x)

    def extra_repr(self) -> str:
        """Show what is not in the submodules."""
        return (
            f"{self.dim}, num_heads={self.num_heads}, out_dim={self.out_dim}, preset={self.preset!r}, "
            f"damping={self.damping}, causal={self.causal}"
            + ("" if self.damping_logits is None else ", learn_damping=True")
        )


def _choose_sizes(
    dim: int, out_dim: int, in_sizes: Sequence[int] | None, out_sizes: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Check the lists that were given and make those that were not."""
    if in_sizes is None and out_sizes is None:
        return _count_twos(dim, out_dim)
    ins = tuple(in_sizes if in_sizes is not None else out_sizes or ())
    outs = tuple(out_sizes if out_sizes is not None else ins)
    for name, sizes, total in (("in_sizes", ins, dim), ("out_sizes", outs, out_dim)):
        if not sizes or min(sizes) < 1 or math.prod(sizes) != total:
            whole = "dim" if name == "in_sizes" else "out_dim"
            raise ShapeError(
                f"TensorGraphAttention: {name} must multiply to {whole}. Got {name}={sizes} and {whole}={total}; give "
                f"both lists where they differ."
            )
    return ins, outs


def _count_twos(dim: int, out_dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """All sizes 2; ones at the end of the smaller side."""
    for name, size in (("dim", dim), ("out_dim", out_dim)):
        if size < 1 or size & (size - 1):
            raise ShapeError(
                f"TensorGraphAttention: without sizes, {name} must be a power of two. Got {name}={size}; give in_sizes "
                f"and out_sizes that multiply to {dim} and {out_dim}."
            )
    twos = [size.bit_length() - 1 for size in (dim, out_dim)]
    ins, outs = ((2,) * count + (1,) * (max(*twos, 1) - count) for count in twos)
    return ins, outs
