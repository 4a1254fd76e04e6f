"""Higher-order attention: one small attention per mode, combined as a Kronecker product (HOT sec. 4)."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.errors import ConfigError, ShapeError, closest
from multiway.ops.attention import Factor

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

MAX_TEMPERATURE = 16.0
NORM_EPS = 1e-12  # in float32, relative to nothing: queries of any scale are brought to unit size


class KroneckerAttention(nn.Module):
    r"""Attend along every mode at once, at the cost of attending along each.

    $$Y = \big(V \times_1 S_1 \times_2 S_2 \cdots \times_k S_k\big) W_O, \qquad
      S_i = \operatorname{softmax}(\tilde Q_i \tilde K_i^\top / \sqrt{d})$$

    per head, where $\tilde Q_i, \tilde K_i$ are projections of the input pooled over every mode but i (HOT
    eqs. 5-9). The full attention matrix is $S_1 \otimes \cdots \otimes S_k$; neither it nor full-size queries
    and keys are ever formed, because pooling and projecting commute.

    Differs from the paper: S stands left of V as in eq. 8 (eqs. 4 and 6 print the transpose). The default preset
    pools by the mean over real tokens in float32, centres over positions, normalises queries and keys and learns a
    capped temperature; the paper's sum grows logits with the number of tokens until rows are one-hot.

    A preset is only a name for values of the arguments that follow it; each can be given on its own.

    Args:
        dim: Features per token (HOT: D).
        num_heads: Heads, the Kronecker rank (HOT: R); divides `dim`.
        num_modes: Modes of the input, batch and features excluded (HOT: k).
        preset: "trainable", "paper" or "per_mode".
        combine: "product" of all modes, or "sum" of each mode alone.
        feature_map: "softmax", or a kernel in its place: "smreg" (the paper's), "positive", "elu".
        num_features: Random features of the kernel; d (1 + log₂ d) if not given. SMReg counts both signs.
        attended_modes: Modes that attend, all if not given; the others are left as they are. The parameters of
            modes that do not attend stay, frozen, so that every choice has as many parameters.
        rotary_modes: Modes whose order matters: rotary encoding after pooling.
        causal_modes: Modes along which a position sees only itself and what comes before.
        pool_over_causal: Allow other modes to attend beside a causal one. Their queries and keys are pooled over
            its later positions too, so outputs then do depend on the future.
        dropout: Probability of dropping an attention weight in training.
        shared_projections: One query and key projection for all modes, or one per mode.
        pooling: "mean" or "sum" over the other modes.
        centred: Subtract the mean over positions from pooled tokens (never along a causal mode).
        qk_norm: "none", "rms" or "layer", over each head's features.
        learn_temperature: Learn a factor on the logits per mode and head, at most 16.
        bias: Bias of the query and key projections.
        device, dtype: As for `torch.nn.Linear`.

    Shape:
        Input `(batch, *sizes, dim)` with `num_modes` sizes; output the same, or the context's values at the
        input's sizes under cross-attention.

    Cost: N (4 D² + 2 D Σ Nᵢ) multiply-adds for N = Π Nᵢ tokens.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int,
        num_modes: int,
        preset: str = "trainable",
        combine: str = "product",
        feature_map: str = "softmax",
        num_features: int | None = None,
        attended_modes: Sequence[int] | None = None,
        rotary_modes: Sequence[int] = (),
        causal_modes: Sequence[int] = (),
        pool_over_causal: bool = False,
        dropout: float = 0.0,
        shared_projections: bool | None = None,
        pooling: str | None = None,
        centred: bool | None = None,
        qk_norm: str | None = None,
        learn_temperature: bool | None = None,
        bias: bool | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        chosen = _choose("preset", preset, PRESETS)
        given: dict[str, Any] = {
            "shared_projections": shared_projections, "pooling": pooling, "centred": centred, "qk_norm": qk_norm,
            "learn_temperature": learn_temperature, "bias": bias,
        }  # fmt: skip
        settings = {name: chosen[name] if value is None else value for name, value in given.items()}
        _check_heads(dim, num_heads, num_modes, bool(rotary_modes))
        self.dim, self.num_heads, self.num_modes = dim, num_heads, num_modes
        self.combine = _choose("combine", combine, {"product": "product", "sum": "sum"})
        self.pooling = _choose("pooling", settings["pooling"], {"mean": "mean", "sum": "sum"})
        self.centred: bool = settings["centred"]
        self.dropout = dropout
        everything = range(num_modes) if attended_modes is None else attended_modes
        self.attended_modes = _check_modes("attended_modes", everything, num_modes)
        self.rotary_modes = _check_modes("rotary_modes", rotary_modes, num_modes)
        self.causal_modes = _check_modes("causal_modes", causal_modes, num_modes)
        self._refuse_leak(pool_over_causal)
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        count = 1 if settings["shared_projections"] else num_modes
        self.query_key = nn.ModuleList(nn.Linear(dim, 2 * dim, bias=settings["bias"], **factory) for _ in range(count))
        self.norms = _make_norms(settings["qk_norm"], num_modes, dim // num_heads, factory)
        self.log_temperature: nn.Parameter | None
        learned = nn.Parameter(torch.zeros(num_modes, num_heads, **factory)) if settings["learn_temperature"] else None
        self.register_parameter("log_temperature", learned)
        self.value = nn.Linear(dim, dim, **factory)
        self.out = nn.Linear(dim, dim, **factory)
        self._freeze_unused()
        self.feature_map = feature_map
        self.log_features = None if feature_map == "softmax" else _choose("feature_map", feature_map, ops.FEATURE_MAPS)
        self.projection: Tensor | None
        self.register_buffer("projection", self._draw_projection(num_features, device))

    def forward(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        context: Float[Tensor, "batch *context_sizes dim"] | None = None,
        *,
        valid: Bool[Tensor, "batch *sizes"] | None = None,
        context_valid: Bool[Tensor, "batch *context_sizes"] | None = None,
        mode_masks: Sequence[Tensor | None] | None = None,
    ) -> Float[Tensor, "batch *sizes dim"]:
        """Attend from `x` to `context`, or to itself.

        Args:
            x: Tokens that ask.
            context: Tokens that answer, with as many modes but any sizes.
            valid: True for real tokens of `x`; padding adds nothing to pooling, keys or values.
            context_valid: The same for `context`.
            mode_masks: Per mode None or a mask, True where attention is allowed: `(q, k)`, `(batch, k)` or
                `(batch, q, k)`. A row that may see nothing yields zeros.
        """
        return self._attend(x, context, valid, context_valid, mode_masks, as_matrices=False)[0]

    def forward_with_maps(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        context: Float[Tensor, "batch *context_sizes dim"] | None = None,
        *,
        valid: Bool[Tensor, "batch *sizes"] | None = None,
        context_valid: Bool[Tensor, "batch *context_sizes"] | None = None,
        mode_masks: Sequence[Tensor | None] | None = None,
    ) -> tuple[Float[Tensor, "batch *sizes dim"], list[Float[Tensor, "batch heads q k"]]]:
        """`forward`, and one attention map per mode in order; a mode that does not attend has the identity."""
        out, factors = self._attend(x, context, valid, context_valid, mode_masks, as_matrices=True)
        shape = (x.shape[0], self.num_heads, -1, -1)
        eyes = (torch.eye(size, device=x.device, dtype=x.dtype).expand(shape) for size in x.shape[1:-1])
        maps = [eye if factor is None else factor for eye, factor in zip(eyes, factors, strict=True)]
        return out, maps  # type: ignore[return-value]  # as_matrices leaves no pairs

    def _attend(
        self,
        x: Tensor,
        context: Tensor | None,
        valid: Tensor | None,
        context_valid: Tensor | None,
        mode_masks: Sequence[Tensor | None] | None,
        as_matrices: bool,
    ) -> tuple[Tensor, list[Factor]]:
        self._check_input("x", x, valid)
        if context is None:
            context, context_valid = x, valid
        else:
            self._check_input("context", context, context_valid)
        self._check_sizes(x, context)
        masks = self._check_masks(mode_masks)
        shared = context is x
        context = _blank(context, context_valid)  # once, for pooling along every mode and for the values
        x = context if shared else _blank(x, valid)
        whole = shared and valid is None and all(mask is None for mask in masks) and self._is_plain()
        value, sums = self._values(context, whole, context_valid)
        factors: list[Factor] = [None] * self.num_modes
        for mode in self.attended_modes:
            mask = self._mask_of(mode, x, context, context_valid, masks[mode])
            query, key = self._pooled(mode, x, context, valid, context_valid, sums)
            factors[mode] = self._factor(query, key, mask, as_matrices)
        if whole:
            return self._mix_whole(value, factors), factors
        if context_valid is not None:  # the bias stands where something is valid
            value = torch.addcmul(value, context_valid[..., None].to(value.dtype), self.value.bias.to(value.dtype))
        return self.out(ops.apply_factors(value, factors, self.num_heads, self.combine)), factors

    def _values(
        self, context: Tensor, whole: bool, context_valid: Tensor | None
    ) -> tuple[Tensor, list[tuple[Tensor, float]] | None]:
        """Values, without their bias where it is added later, and the context's sums along every mode if shared."""
        if not whole and context_valid is None:
            return self.value(context), None
        if len(self.attended_modes) < self.num_modes:
            return F.linear(context, self.value.weight), None
        return ops.project_and_pool(context, self.value.weight)

    def _is_plain(self) -> bool:
        """Whether every mode attends and every row of the factors, and so of their product, sums to one."""
        dropped = self.training and self.dropout > 0
        return len(self.attended_modes) == self.num_modes and self.combine == "product" and not dropped

    def _mix_whole(self, value: Tensor, factors: list[Factor]) -> Tensor:
        """Rows that sum to one leave the values' bias as it is: add W_O b_V + b_O at the end, one pass for two."""
        bias = F.linear(self.value.bias, self.out.weight, self.out.bias)
        return F.linear(ops.apply_factors(value, factors, self.num_heads), self.out.weight, bias)

    def _pooled(
        self,
        mode: int,
        x: Tensor,
        context: Tensor,
        valid: Tensor | None,
        context_valid: Tensor | None,
        sums: list[tuple[Tensor, float]] | None,
    ) -> tuple[Tensor, Tensor]:
        """Queries and keys of one mode, `(batch, heads, size, head_dim)`, float32 or wider."""
        linear = self.query_key[mode if len(self.query_key) > 1 else 0]
        assert isinstance(linear, nn.Linear)
        with torch.autocast(x.device.type, enabled=False):
            keys, key_scale = self._pool(context, mode, context_valid, sums)
            weight = linear.weight.to(keys.dtype)
            bias = None if linear.bias is None else linear.bias.to(keys.dtype)
            if context is x:
                query, key = _project(keys, weight, bias, key_scale).chunk(2, dim=-1)
            else:
                tokens, scale = self._pool(x, mode, valid, None)
                (wq, wk), (bq, bk) = weight.chunk(2), (None, None) if bias is None else bias.chunk(2)
                query, key = _project(tokens, wq, bq, scale), _project(keys, wk, bk, key_scale)
            return self._heads(query, mode), self._heads(key, mode, is_key=True)

    def _pool(
        self, x: Tensor, mode: int, valid: Tensor | None, sums: list[tuple[Tensor, float]] | None
    ) -> tuple[Tensor, Tensor | float]:
        """Pooled tokens of one mode, and how often a bias counts in them; `x` is zero where it is not valid."""
        total, count = ops.pool_modes(x, mode) if sums is None else sums[mode]
        return self._centre(total, count if valid is None else ops.count_valid(valid, mode).to(total.dtype), mode)

    def _centre(self, tokens: Tensor, count: Tensor | float, mode: int) -> tuple[Tensor, Tensor | float]:
        """Sums to means and to differences from their mean, as the layer is set."""
        if self.pooling == "mean":
            tokens = tokens / (count.clamp_min(1) if isinstance(count, Tensor) else count)
            count = (count > 0).to(tokens.dtype) if isinstance(count, Tensor) else 1.0
        if self.centred and mode not in self.causal_modes:
            seen = (count > 0).to(tokens.dtype) if isinstance(count, Tensor) else tokens.new_ones(())
            total = seen.sum(-2, keepdim=True).clamp_min(1) if isinstance(count, Tensor) else tokens.shape[-2]
            tokens = (tokens - (tokens * seen).sum(-2, keepdim=True) / total) * seen
        return tokens, count

    def _heads(self, rows: Tensor, mode: int, *, is_key: bool = False) -> Tensor:
        """Split into heads, normalise, turn by position, and put the temperature on the queries."""
        heads = rows.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        heads = self.norms[mode][int(is_key)](heads) if self.norms is not None else heads
        if not is_key and self.log_temperature is not None:
            capped = self.log_temperature[mode].to(heads.dtype).clamp_max(math.log(MAX_TEMPERATURE))
            heads = heads * capped.exp()[:, None, None]
        return ops.rotate(heads) if mode in self.rotary_modes else heads

    def _factor(self, query: Tensor, key: Tensor, mask: Tensor | None, as_matrices: bool) -> Factor:
        if self.log_features is None:
            return self._drop(ops.softmax_factor(query, key, mask))
        assert self.projection is not None
        query_logs, key_logs = (self.log_features(heads, self.projection) for heads in (query, key))
        long = 2 * query_logs.shape[-1] < key.shape[-2] and self.dropout == 0
        if long and not as_matrices and (mask is None or mask.shape[-2] == 1):
            key_mask = None if mask is None else mask[..., 0, :].expand(key_logs.shape[:-1])
            return ops.normalised_features(query_logs, key_logs, key_mask)
        return self._drop(ops.kernel_factor(query_logs, key_logs, mask))

    def _drop(self, weights: Tensor) -> Tensor:
        return F.dropout(weights, self.dropout, self.training) if self.dropout else weights

    def _mask_of(
        self, mode: int, x: Tensor, context: Tensor, context_valid: Tensor | None, given: Tensor | None
    ) -> Tensor | None:
        """All that forbids attention along one mode, broadcast to `(batch, heads, q, k)`; None if nothing does."""
        rows, columns = x.shape[mode + 1], context.shape[mode + 1]
        parts: list[Tensor] = []
        if given is not None:
            parts.append(_expand_mask(given, mode, x.shape[0], rows, columns))
        if mode in self.causal_modes:
            parts.append(torch.ones(rows, columns, dtype=torch.bool, device=x.device).tril()[None, None])
        if context_valid is not None:
            others = [axis for axis in range(1, context_valid.ndim) if axis != mode + 1]
            seen = context_valid.any(others) if others else context_valid
            parts.append(seen[:, None, None, :])
        if not parts:
            return None
        mask = parts[0]
        for part in parts[1:]:
            mask = mask & part
        return mask

    def _draw_projection(self, num_features: int | None, device: torch.device | str | None) -> Tensor | None:
        if self.log_features is None:
            return None
        head_dim = self.dim // self.num_heads
        count = ops.default_num_features(head_dim) if num_features is None else num_features
        rows = math.ceil(count / 2) if self.feature_map == "smreg" else count
        return ops.orthogonal_projection(rows, head_dim).to(device)

    def _freeze_unused(self) -> None:
        """Parameters without a gradient would stall distributed training; they stay for equal counts."""
        if len(self.query_key) > 1 or not self.attended_modes:
            for mode, linear in enumerate(self.query_key):
                if mode not in self.attended_modes:
                    linear.requires_grad_(False)
        if self.norms is not None:
            for mode, pair in enumerate(self.norms):
                pair.requires_grad_(mode in self.attended_modes)
        if not self.attended_modes and self.log_temperature is not None:
            self.log_temperature.requires_grad_(False)

    def _refuse_leak(self, allowed: bool) -> None:
        for causal in self.causal_modes:
            others = [mode for mode in self.attended_modes if mode != causal]
            if others and not allowed:
                raise ConfigError(
                    f"KroneckerAttention: with causal_modes={self.causal_modes}, modes {others} may not attend: they "
                    f"pool over later positions of mode {causal}. Attend only mode {causal}, or accept the leak with "
                    f"pool_over_causal=True."
                )

    def _check_input(self, name: str, x: Tensor, valid: Tensor | None) -> None:
        if x.ndim != self.num_modes + 2 or x.shape[-1] != self.dim:
            raise ShapeError(
                f"KroneckerAttention: {name} needs a batch axis, {self.num_modes} modes and {self.dim} features, in "
                f"this order. Got {tuple(x.shape)}."
            )
        if valid is not None and valid.shape != x.shape[:-1]:
            raise ShapeError(
                f"KroneckerAttention: the mask of valid tokens of {name} is {tuple(valid.shape)} but the tokens are "
                f"{tuple(x.shape[:-1])}, batch first."
            )

    def _check_sizes(self, x: Tensor, context: Tensor) -> None:
        for mode in set(range(self.num_modes)) - set(self.attended_modes):
            if x.shape[mode + 1] != context.shape[mode + 1]:
                raise ShapeError(
                    f"KroneckerAttention: mode {mode} does not attend, so x and context need the same size there. Got "
                    f"{x.shape[mode + 1]} and {context.shape[mode + 1]}; add it to attended_modes."
                )

    def _check_masks(self, masks: Sequence[Tensor | None] | None) -> Sequence[Tensor | None]:
        if masks is None:
            return [None] * self.num_modes
        if len(masks) != self.num_modes:
            raise ShapeError(
                f"KroneckerAttention: mode_masks needs one entry per mode, None for no mask. Got {len(masks)} for "
                f"{self.num_modes} modes."
            )
        return masks

    def extra_repr(self) -> str:
        """Show what is not in the submodules."""
        return (
            f"{self.dim}, num_heads={self.num_heads}, num_modes={self.num_modes}, combine={self.combine!r}, "
            f"feature_map={self.feature_map!r}, attended_modes={self.attended_modes}, pooling={self.pooling!r}"
        )


def _blank(x: Tensor, valid: Tensor | None) -> Tensor:
    """Zeros where nothing is valid, whatever stands there."""
    return x if valid is None else torch.where(valid[..., None], x, 0)


def _project(tokens: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | float) -> Tensor:
    """Project pooled tokens; a bias counts as often as tokens were pooled."""
    out = F.linear(tokens, weight)
    return out if bias is None else out + scale * bias


class _HeadNorm(nn.Module):
    """RMS or layer norm of queries or keys in their own precision."""

    def __init__(self, kind: str, head_dim: int, factory: dict[str, Any]) -> None:
        super().__init__()
        self.kind = kind
        self.weight = nn.Parameter(torch.ones(head_dim, **factory))
        self.bias = nn.Parameter(torch.zeros(head_dim, **factory)) if kind == "layer" else None

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.to(x.dtype)
        if self.bias is None:
            return F.rms_norm(x, x.shape[-1:], weight, NORM_EPS)
        return F.layer_norm(x, x.shape[-1:], weight, self.bias.to(x.dtype))


def _make_norms(kind: str, num_modes: int, head_dim: int, factory: dict[str, Any]) -> Any:
    if _choose("qk_norm", kind, {"none": 0, "rms": 1, "layer": 2}) == 0:
        return None
    pairs = ([_HeadNorm(kind, head_dim, factory) for _ in range(2)] for _ in range(num_modes))
    return nn.ModuleList(nn.ModuleList(pair) for pair in pairs)


def _choose(argument: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise ConfigError(
            f"KroneckerAttention: {argument}={name!r} is not one of {', '.join(known)}{closest(name, known)}"
        )
    return known[name]


def _check_heads(dim: int, num_heads: int, num_modes: int, rotary: bool) -> None:
    if num_modes < 1:
        raise ShapeError(f"KroneckerAttention: at least one mode is needed. Got num_modes={num_modes}.")
    if num_heads < 1 or dim % num_heads:
        raise ShapeError(f"KroneckerAttention: num_heads must divide dim. Got dim={dim}, num_heads={num_heads}.")
    if rotary and dim // num_heads % 2:
        raise ShapeError(
            f"KroneckerAttention: rotary modes need an even head size. Got dim={dim} / num_heads={num_heads} = "
            f"{dim // num_heads}."
        )


def _check_modes(name: str, modes: Sequence[int], num_modes: int) -> tuple[int, ...]:
    chosen = tuple(sorted(set(modes)))
    if any(not 0 <= mode < num_modes for mode in chosen):
        raise ShapeError(
            f"KroneckerAttention: {name}={tuple(modes)} must lie in 0..{num_modes - 1}; modes skip the batch axis."
        )
    return chosen


def _expand_mask(mask: Tensor, mode: int, batch: int, rows: int, columns: int) -> Tensor:
    """Bring a mask to `(batch or 1, 1, rows or 1, columns)`; `(q, k)` wins where `(batch, k)` has the same shape."""
    if mask.dtype == torch.bool:
        if mask.shape == (rows, columns):
            return mask[None, None]
        if mask.shape == (batch, columns):
            return mask[:, None, None, :]
        if mask.shape == (batch, rows, columns):
            return mask[:, None]
    raise ShapeError(
        f"KroneckerAttention: the mask of mode {mode} must be boolean and ({rows}, {columns}), ({batch}, {columns}) or "
        f"({batch}, {rows}, {columns}), batch first. Got {tuple(mask.shape)} of {mask.dtype}."
    )
