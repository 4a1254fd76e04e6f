"""Higher-order attention: one small attention per mode, combined as a Kronecker product (HOT sec. 4)."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.errors import DtypeError, ShapeError
from multiway.nn import checks
from multiway.nn.pooled_queries import PooledQueries, Side, Sums, choose_settings


class KroneckerAttention(PooledQueries):
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
        pool_over_causal: Allow other modes to attend together with a causal one. Their queries and keys are pooled over
            its later positions too, so outputs then do depend on the future.
        dropout: Probability of dropping an attention weight in training.
        shared_projections: One query and key projection for all modes, or one per mode.
        pooling: Over the other modes: "mean", "sum", "max" of projected tokens, or "learned", a mean whose weights are
            a softmax of the tokens' products with a vector per mode; these vectors start at zero.
        centred: Subtract the mean over positions from pooled tokens (never along a causal mode).
        qk_norm: "none", "rms" or "layer", over each head's features.
        learn_temperature: Learn a factor on the logits per mode and head, at most 16.
        bias: Bias of the query and key projections.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        Input `(batch, *sizes, dim)` with `num_modes` sizes; output the same, or the context's values at the
        input's sizes under cross-attention.

    Cost: N (2 D² + D Σ Nᵢ) multiply-adds for N = Π Nᵢ tokens. Pooling by "max" forms queries and keys of full size:
    2 N D² more per mode, and as much memory as twice the input.
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
        settings = choose_settings(
            preset, shared_projections=shared_projections, pooling=pooling, centred=centred, qk_norm=qk_norm,
            learn_temperature=learn_temperature, bias=bias,
        )  # fmt: skip
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        attended = range(num_modes) if attended_modes is None else attended_modes
        super().__init__(dim, num_heads, num_modes, settings, attended, rotary_modes, causal_modes, **factory)
        if not pool_over_causal:
            checks.refuse_leak(self.causal_modes, self.attended_modes)
        self.combine = checks.check_choice("combine", combine, ("product", "sum"))
        self.dropout = dropout
        self.value = nn.Linear(dim, dim, **factory)
        self.out = nn.Linear(dim, dim, **factory)
        self._draw_features(feature_map, num_features, device)

    def reset_parameters(self) -> None:
        """Set temperatures and weights of pooling to even, and draw directions of features; parts have their own."""
        super().reset_parameters()
        if self.projection is not None:
            self.projection.copy_(ops.orthogonal_projection(*self.projection.shape))

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
            x: Tokens of the queries.
            context: Tokens of the keys and values, with as many modes but any sizes.
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
    ) -> tuple[Tensor, list[ops.Factor]]:
        _check_tokens("x", x, valid, self.num_modes, self.value.weight)
        if context is not None:
            _check_tokens("context", context, context_valid, self.num_modes, self.value.weight)
            _check_sizes(x, context, self.attended_modes)
        given = _check_masks(mode_masks, self.num_modes)
        query_side = Side(ops.blank(x, valid), valid)
        key_side = query_side if context is None else Side(ops.blank(context, context_valid), context_valid)
        unmasked = key_side.valid is None and all(mask is None for mask in given)
        bias_last = query_side is key_side and unmasked and self._keeps_bias()
        value, sums = self._values(key_side, bias_last)
        modes: list[ops.ModeHeads | None] = [None] * self.num_modes
        for mode in self.attended_modes:
            query, key = self.query_and_key(mode, query_side, key_side, sums)
            modes[mode] = ops.ModeHeads(query, key, self._mask(mode, query_side, key_side, given[mode]))
        mixed, factors = ops.kronecker_attention(
            value,
            modes,
            num_heads=self.num_heads,
            combine=self.combine,
            log_features=None if self.log_features is None else self._features,
            dropout=self.dropout if self.training else 0.0,
            as_matrices=as_matrices or self.dropout > 0,
        )
        return self._project_out(mixed, bias_last), factors

    def _keeps_bias(self) -> bool:
        """Whether every row of the factors' product sums to one, so that the values' bias passes through unchanged."""
        dropped = self.training and self.dropout > 0
        return len(self.attended_modes) == self.num_modes and self.combine == "product" and not dropped

    def _values(self, side: Side, bias_last: bool) -> tuple[Tensor, Sums | None]:
        """Values, without their bias if it comes last, and the sums along every mode where one pass gives both."""
        if side.valid is None and not bias_last:
            return self.value(side.x), None
        if len(self.attended_modes) < self.num_modes or self.pooling not in ("mean", "sum"):
            value, sums = F.linear(side.x, self.value.weight), None
        else:
            value, sums = ops.project_and_pool(side.x, self.value.weight)
        if side.valid is not None:  # the bias stands where something is valid
            value = torch.addcmul(value, side.valid[..., None].to(value.dtype), self.value.bias.to(value.dtype))
        return value, sums

    def _project_out(self, mixed: Tensor, bias_last: bool) -> Tensor:
        """W_O; the values' bias, if it comes last, is added as W_O b_V + b_O: one pass for two."""
        if not bias_last:
            return self.out(mixed)  # type: ignore[no-any-return]
        return F.linear(mixed, self.out.weight, F.linear(self.value.bias, self.out.weight, self.out.bias))

    def _mask(self, mode: int, query_side: Side, key_side: Side, given: Tensor | None) -> Tensor | None:
        """All that forbids attention along one mode, broadcast to `(batch, heads, q, k)`; None if nothing does."""
        rows, columns = query_side.x.shape[mode + 1], key_side.x.shape[mode + 1]
        masks = [] if given is None else [_expand_mask(given, mode, len(query_side.x), rows, columns)]
        masks += [ops.causal_mask(rows, columns, query_side.x.device)] if mode in self.causal_modes else []
        masks += [] if key_side.valid is None else [ops.valid_keys(key_side.valid, mode)]
        return ops.all_of(masks)

    def _features(self, heads: Tensor) -> Tensor:
        """log φ of queries or keys."""
        assert self.log_features is not None and self.projection is not None
        return self.log_features(heads, self.projection)

    def _draw_features(self, name: str, num_features: int | None, device: torch.device | str | None) -> None:
        self.feature_map, self.log_features = name, None
        self.projection: Tensor | None
        projection = None
        if name != "softmax":
            self.log_features = ops.FEATURE_MAPS[checks.check_choice("feature_map", name, ops.FEATURE_MAPS)]
            projection = ops.draw_projection(name, self.dim // self.num_heads, num_features).to(device)
        self.register_buffer("projection", projection)

    def extra_repr(self) -> str:
        """Show what is not in the submodules."""
        return (
            f"{self.dim}, num_heads={self.num_heads}, num_modes={self.num_modes}, combine={self.combine!r}, "
            f"feature_map={self.feature_map!r}, attended_modes={self.attended_modes}, pooling={self.pooling!r}"
        )


def _check_tokens(name: str, x: Tensor, valid: Tensor | None, num_modes: int, weight: Tensor) -> None:
    """Refuse tokens of another shape or type than the layer's weight takes, and a mask that is not theirs."""
    dim = weight.shape[1]
    if x.ndim != num_modes + 2 or x.shape[-1] != dim:
        raise ShapeError(
            f"KroneckerAttention: {name} needs a batch axis, {num_modes} modes and {dim} features, in "
            f"this order. Got {tuple(x.shape)}."
        )
    if x.dtype != weight.dtype:
        checks.check_dtype("KroneckerAttention", name, x, weight)
    if valid is not None and valid.shape != x.shape[:-1]:
        raise ShapeError(
            f"KroneckerAttention: the mask of valid tokens of {name} is {tuple(valid.shape)} but the tokens are "
            f"{tuple(x.shape[:-1])}, batch first."
        )
    if valid is not None and valid.dtype != torch.bool:
        raise DtypeError(
            f"KroneckerAttention: the mask of valid tokens of {name} must be boolean, True for real tokens. Got "
            f"{valid.dtype}; convert it with .bool()."
        )


def _check_sizes(x: Tensor, context: Tensor, attended_modes: Sequence[int]) -> None:
    """Refuse a context of another size along a mode that does not attend."""
    for mode in set(range(x.ndim - 2)) - set(attended_modes):
        if x.shape[mode + 1] != context.shape[mode + 1]:
            raise ShapeError(
                f"KroneckerAttention: mode {mode} does not attend, so x and context need the same size there. Got "
                f"{x.shape[mode + 1]} and {context.shape[mode + 1]}; add it to attended_modes."
            )


def _check_masks(masks: Sequence[Tensor | None] | None, num_modes: int) -> Sequence[Tensor | None]:
    """Refuse masks that are not one per mode."""
    if masks is None:
        return [None] * num_modes
    if len(masks) != num_modes:
        raise ShapeError(
            f"KroneckerAttention: mode_masks needs one entry per mode, None for no mask. Got {len(masks)} for "
            f"{num_modes} modes."
        )
    return masks


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
