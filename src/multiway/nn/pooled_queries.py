"""Queries and keys of every mode, from tokens pooled over the others (HOT sec. 4.2, before eq. 7)."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.nn import checks

EPS = 1e-12
"""In float32, relative to nothing: queries of any scale are brought to unit size."""
MAX_TEMPERATURE = 16.0

POOLINGS = ("mean", "sum", "max", "learned")
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {
        "shared_projections": True, "pooling": "sum", "centred": False, "qk_norm": "none",
        "learn_temperature": False, "bias": True,
    },
    "per_mode": {
        "shared_projections": False, "pooling": "sum", "centred": False, "qk_norm": "layer",
        "learn_temperature": False, "bias": False,
    },
    "trainable": {
        "shared_projections": False, "pooling": "mean", "centred": True, "qk_norm": "rms",
        "learn_temperature": True, "bias": False,
    },
}  # fmt: skip

Sums = list[tuple[Tensor, float]]
"""For each mode the tokens summed over all others, and how many were added up."""


class Settings(NamedTuple):
    """How queries and keys are made; the arguments of `KroneckerAttention` say what each means."""

    shared_projections: bool
    pooling: str
    centred: bool
    qk_norm: str
    learn_temperature: bool
    bias: bool


def choose_settings(preset: str, **given: Any) -> Settings:
    """Take the preset's value wherever None is given."""
    values = PRESETS[checks.check_choice("preset", preset, PRESETS)]
    settings = Settings(**{name: values[name] if value is None else value for name, value in given.items()})
    checks.check_choice("pooling", settings.pooling, POOLINGS)
    checks.check_choice("qk_norm", settings.qk_norm, ("none", "rms", "layer"))
    return settings


class Side(NamedTuple):
    """Tokens of queries or of keys, zero where they are not valid."""

    x: Tensor
    valid: Tensor | None


class PooledQueries(nn.Module):
    """What attention along modes builds on; a base and no part of it, so that names of parameters stay flat.

    Pooling and projecting commute: tokens are pooled first, and full-size queries and keys never exist. A maximum
    does not commute, and is taken of projected tokens.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        num_modes: int,
        settings: Settings,
        attended_modes: Sequence[int],
        rotary_modes: Sequence[int],
        causal_modes: Sequence[int],
        **factory: Any,
    ) -> None:
        super().__init__()
        checks.check_heads(dim, num_heads, num_modes, bool(rotary_modes))
        self.dim, self.num_heads, self.num_modes = dim, num_heads, num_modes
        self.attended_modes = checks.check_modes("attended_modes", attended_modes, num_modes)
        self.rotary_modes = checks.check_modes("rotary_modes", rotary_modes, num_modes)
        self.causal_modes = checks.check_modes("causal_modes", causal_modes, num_modes)
        self.pooling, self.centred = settings.pooling, settings.centred
        count = 1 if settings.shared_projections else num_modes
        self.query_key = nn.ModuleList(nn.Linear(dim, 2 * dim, bias=settings.bias, **factory) for _ in range(count))
        self.norms = make_head_norms(settings.qk_norm, num_modes, dim // num_heads, factory)
        self.log_temperature: nn.Parameter | None
        zeros = torch.zeros(num_modes, num_heads, **factory)
        self.register_parameter("log_temperature", nn.Parameter(zeros) if settings.learn_temperature else None)
        self.pool_scores: nn.Parameter | None
        even = torch.zeros(num_modes, dim, **factory)
        self.register_parameter("pool_scores", nn.Parameter(even) if settings.pooling == "learned" else None)
        self._freeze_unused()

    def reset_parameters(self) -> None:
        """Set temperatures and weights of pooling to even; projections and norms have their own."""
        for parameter in (self.log_temperature, self.pool_scores):
            if parameter is not None:
                nn.init.zeros_(parameter)

    def query_and_key(self, mode: int, query_side: Side, key_side: Side, sums: Sums | None) -> tuple[Tensor, Tensor]:
        """Pooled queries and keys of one mode, `(batch, heads, size, head_dim)`, float32 or wider (HOT: Q̃ᵢ, K̃ᵢ)."""
        linear: Any = self.query_key[mode if len(self.query_key) > 1 else 0]
        with ops.without_autocast(key_side.x):
            if query_side is key_side:
                query, key = self._rows(key_side, mode, linear.weight, linear.bias, sums).chunk(2, dim=-1)
            else:
                weights, biases = linear.weight.chunk(2), (None, None) if linear.bias is None else linear.bias.chunk(2)
                query = self._rows(query_side, mode, weights[0], biases[0])
                key = self._rows(key_side, mode, weights[1], biases[1], sums)
            return self._heads(query, mode), self._heads(key, mode, is_key=True)

    def _rows(self, side: Side, mode: int, weight: Tensor, bias: Tensor | None, sums: Sums | None = None) -> Tensor:
        """Tokens of one mode, pooled and projected."""
        if self.pooling != "max":
            return ops.project_pooled(*self._pool(side, mode, sums), weight, bias)
        projected = Side(F.linear(side.x, weight.to(side.x.dtype)), side.valid)
        rows, count = self._pool(projected, mode)
        return rows if bias is None else rows + count * bias.to(rows.dtype)

    def _pool(self, side: Side, mode: int, sums: Sums | None = None) -> tuple[Tensor, Tensor | float]:
        """Pooled tokens of one mode (HOT: g_pool), and how often each counts a bias."""
        tokens, count = self._reduce(side, mode, sums)
        if self.centred and mode not in self.causal_modes:
            tokens = ops.centre_positions(tokens, count)
        return tokens, count

    def _reduce(self, side: Side, mode: int, sums: Sums | None) -> tuple[Tensor, Tensor | float]:
        if self.pooling == "max":
            return ops.max_over_modes(side.x, mode, valid=side.valid)
        if self.pool_scores is not None:
            return ops.weighted_over_modes(side.x, self.pool_scores[mode], mode, valid=side.valid)
        count: Tensor | float
        tokens, count = ops.pool_modes(side.x, mode) if sums is None else sums[mode]
        if side.valid is not None:
            count = ops.count_valid(side.valid, mode).to(tokens.dtype)
        return ops.mean_of_sums(tokens, count) if self.pooling == "mean" else (tokens, count)

    def _heads(self, rows: Tensor, mode: int, *, is_key: bool = False) -> Tensor:
        """Split into heads, normalise, turn by position, and put the temperature on the queries."""
        heads = torch.unflatten(rows, -1, (self.num_heads, -1)).transpose(1, 2)
        if self.norms is not None:
            heads = self.norms[mode][int(is_key)](heads)  # type: ignore[index]
        if not is_key and self.log_temperature is not None:
            capped = self.log_temperature[mode].to(heads.dtype).clamp_max(math.log(MAX_TEMPERATURE))
            heads = heads * capped.exp()[:, None, None]
        return ops.rotate(heads) if mode in self.rotary_modes else heads

    def _freeze_unused(self) -> None:
        """Parameters without a gradient would stall distributed training; they stay for equal counts."""
        attended, shared = self.attended_modes, len(self.query_key) == 1
        for mode, linear in enumerate(self.query_key):
            linear.requires_grad_(mode in attended or (shared and len(attended) > 0))
        for mode, pair in enumerate(self.norms or ()):
            pair.requires_grad_(mode in attended)
        for of_all_modes in (self.log_temperature, self.pool_scores):
            if of_all_modes is not None:
                of_all_modes.requires_grad_(len(attended) > 0)


class HeadNorm(nn.Module):
    """RMS or layer norm over a head's features, in the precision of the input."""

    def __init__(self, kind: str, head_dim: int, factory: dict[str, Any]) -> None:
        super().__init__()
        self.kind = kind
        self.weight = nn.Parameter(torch.empty(head_dim, **factory))
        self.bias = nn.Parameter(torch.empty(head_dim, **factory)) if kind == "layer" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normalise alone: a weight of one and a bias of zero."""
        nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Float[Tensor, "*batch head_dim"]) -> Float[Tensor, "*batch head_dim"]:
        """Normalise the last axis."""
        weight = self.weight.to(x.dtype)
        if self.bias is None:
            return F.rms_norm(x, x.shape[-1:], weight, EPS)
        return F.layer_norm(x, x.shape[-1:], weight, self.bias.to(x.dtype))


def make_head_norms(kind: str, num_modes: int, head_dim: int, factory: dict[str, Any]) -> nn.ModuleList | None:
    """A norm of queries and one of keys for every mode; None for the kind "none"."""
    if kind == "none":
        return None
    pairs = ([HeadNorm(kind, head_dim, factory) for _ in range(2)] for _ in range(num_modes))
    return nn.ModuleList(nn.ModuleList(pair) for pair in pairs)
