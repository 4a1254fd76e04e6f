"""Parts around attention: norms, SwiGLU, the pre-norm block, patches and heads (HOT fig. 1, appendix D)."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from multiway import ops
from multiway.errors import ConfigError, ShapeError, closest
from multiway.nn.kronecker_attention import KroneckerAttention


class RMSNorm(nn.RMSNorm):
    """`torch.nn.RMSNorm` over the last axis that takes a weight wider than its input, as autocast leaves it."""

    eps: float

    def forward(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        """Normalise the last axis."""
        return ops.rms_norm(x, self.weight, self.eps)


NORMS: dict[str, type[nn.Module]] = {"rms": RMSNorm, "layer": nn.LayerNorm}


def make_norm(kind: str, dim: int, *, device: Any = None, dtype: Any = None) -> nn.Module:
    """Build "rms" (the paper's) or "layer"."""
    if kind not in NORMS:
        raise ConfigError(f"norm={kind!r} is not one of {', '.join(NORMS)}{closest(kind, NORMS)}")
    return NORMS[kind](dim, eps=1e-6, device=device, dtype=dtype)


class Dropout(nn.Dropout):
    """`torch.nn.Dropout` with draws that cost a third on a CPU."""

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Drop numbers in training."""
        return ops.dropout(x, self.p, self.training)


class SwiGLU(nn.Module):
    """Gated feed-forward: W₃ (silu(W₁ x) * W₂ x), without biases (Shazeer 2020).

    Args:
        dim: Features in and out.
        hidden_dim: Features between; the paper's is 4 `dim`.
        dropout: Probability of dropping a hidden feature.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.
    """

    def __init__(
        self, dim: int, hidden_dim: int, *, dropout: float = 0.0, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.gate_up = nn.Linear(dim, 2 * hidden_dim, bias=False, device=device, dtype=dtype)
        self.down = nn.Linear(hidden_dim, dim, bias=False, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
        """Apply to the last axis."""
        return self.down(self.dropout(ops.gated(self.gate_up(x))))  # type: ignore[no-any-return]


class HOTBlock(nn.Module):
    """Pre-norm transformer block: h = X + Attn(norm X) [+ Cross(norm h, Z)]; out = h + FFN(norm h).

    Args:
        attention: Any module that maps `(batch, *sizes, dim)` to itself; `KroneckerAttention` takes the masks.
            None leaves this half out.
        dim: Features per token.
        norm: "rms" or "layer".
        hidden_dim: Features inside the SwiGLU, 4 `dim` if not given; 0 leaves this half out.
        dropout: On each residual branch.
        cross_attention: Attention to a context, in a decoder; as `attention`, but it takes the context second.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.
    """

    def __init__(
        self,
        attention: nn.Module | None,
        *,
        dim: int,
        norm: str = "rms",
        hidden_dim: int | None = None,
        dropout: float = 0.0,
        cross_attention: nn.Module | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        self.attention_norm = None if attention is None else make_norm(norm, dim, **factory)
        self.attention = attention
        self.cross_norm = None if cross_attention is None else make_norm(norm, dim, **factory)
        self.context_norm = None if cross_attention is None else make_norm(norm, dim, **factory)
        self.cross_attention = cross_attention
        hidden = 4 * dim if hidden_dim is None else hidden_dim
        self.ffn_norm = make_norm(norm, dim, **factory) if hidden else None
        self.ffn = SwiGLU(dim, hidden, **factory) if hidden else None
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        context: Float[Tensor, "batch *context_sizes dim"] | None = None,
        *,
        valid: Tensor | None = None,
        context_valid: Tensor | None = None,
        mode_masks: Sequence[Tensor | None] | None = None,
    ) -> Float[Tensor, "batch *sizes dim"]:
        """Run the block; masks reach the attention as they are."""
        hidden = x
        if self.attention is not None and self.attention_norm is not None:
            masks = _drop_missing(valid=valid, mode_masks=mode_masks)
            hidden = x + self.dropout(self.attention(self.attention_norm(x), **masks))
        if self.cross_attention is not None:
            tokens, context = self._crossing(hidden, context)
            masks = _drop_missing(valid=valid, context_valid=context_valid)
            hidden = hidden + self.dropout(self.cross_attention(tokens, context, **masks))
        else:
            _refuse_context(context)
        return self._feed(hidden)

    def forward_next(
        self, x: Float[Tensor, "batch *sizes dim"], cache: Any = None, *, valid: Tensor | None = None
    ) -> tuple[Float[Tensor, "batch *sizes dim"], Any]:
        """`forward` at the next steps of a causal mode, without a context; see `KroneckerAttention.forward_next`."""
        if not isinstance(self.attention, KroneckerAttention) or self.cross_attention is not None:
            raise ConfigError("HOTBlock: next steps need KroneckerAttention alone, without cross-attention.")
        assert self.attention_norm is not None
        attended, cache = self.attention.forward_next(self.attention_norm(x), cache, valid=valid)
        return self._feed(x + self.dropout(attended)), cache

    def forward_with_maps(
        self, x: Float[Tensor, "batch *sizes dim"], context: Tensor | None = None, **masks: Any
    ) -> tuple[Float[Tensor, "batch *sizes dim"], list[Tensor]]:
        """`forward`, and the self-attention's map per mode."""
        out, maps, _ = self.forward_with_cross_maps(x, context, **masks)
        return out, maps

    def forward_with_cross_maps(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        context: Float[Tensor, "batch *context_sizes dim"] | None = None,
        *,
        valid: Tensor | None = None,
        context_valid: Tensor | None = None,
        mode_masks: Sequence[Tensor | None] | None = None,
    ) -> tuple[Float[Tensor, "batch *sizes dim"], list[Tensor], list[Tensor]]:
        """`forward`, the self-attention's map per mode and the cross-attention's, none without one."""
        attention = _with_maps(self.attention)
        assert self.attention_norm is not None
        mixed, maps = attention.forward_with_maps(self.attention_norm(x), valid=valid, mode_masks=mode_masks)
        hidden = x + self.dropout(mixed)
        cross_maps: list[Tensor] = []
        if self.cross_attention is not None:
            tokens, context = self._crossing(hidden, context)
            crossing = _with_maps(self.cross_attention)
            answer, cross_maps = crossing.forward_with_maps(tokens, context, valid=valid, context_valid=context_valid)
            hidden = hidden + self.dropout(answer)
        else:
            _refuse_context(context)
        return self._feed(hidden), maps, cross_maps

    def _crossing(self, hidden: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
        assert self.cross_norm is not None and self.context_norm is not None
        if context is None:
            raise ShapeError("HOTBlock: this block has cross-attention; give it a context.")
        return self.cross_norm(hidden), self.context_norm(context)

    def _feed(self, hidden: Tensor) -> Tensor:
        if self.ffn is None or self.ffn_norm is None:
            return hidden
        return hidden + self.dropout(self.ffn(self.ffn_norm(hidden)))  # type: ignore[no-any-return]


def _drop_missing(**masks: Any) -> dict[str, Any]:
    """The masks that are given, as not every attention knows every mask."""
    return {name: mask for name, mask in masks.items() if mask is not None}


def _refuse_context(context: Tensor | None) -> None:
    """A block that has no cross-attention would not read it."""
    if context is not None:
        raise ShapeError("HOTBlock: this block has no cross-attention; leave the context out.")


def _with_maps(attention: nn.Module | None) -> KroneckerAttention:
    if not isinstance(attention, KroneckerAttention):
        kind = "a block without attention" if attention is None else type(attention).__name__
        raise ConfigError(f"HOTBlock: {kind} has no map per mode; use KroneckerAttention.")
    return attention


class PatchEmbedding(nn.Module):
    """Cut every mode into patches that do not overlap and project each patch to `dim` (a strided convolution).

    Args:
        patch_sizes: Steps per patch on each mode; 1 leaves a mode as it is.
        in_channels: Features per cell of the input.
        dim: Features per token.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        `(batch, *sizes, in_channels)` to `(batch, *(size / patch), dim)`.
    """

    def __init__(
        self, patch_sizes: Sequence[int], in_channels: int, dim: int, *, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.patch_sizes = tuple(patch_sizes)
        self.projection = nn.Linear(math.prod(patch_sizes) * in_channels, dim, device=device, dtype=dtype)

    def forward(self, x: Float[Tensor, "batch *sizes channels"]) -> Float[Tensor, "batch *tokens dim"]:
        """Cut and project."""
        sizes = x.shape[1:-1]
        if len(sizes) != len(self.patch_sizes) or any(
            size % patch for size, patch in zip(sizes, self.patch_sizes, strict=True)
        ):
            raise ShapeError(
                f"PatchEmbedding: patches {self.patch_sizes} must tile the sizes of x. Got {tuple(x.shape)}, batch "
                f"first and channels last; pad or crop it."
            )
        count = len(sizes)
        for mode, patch in enumerate(self.patch_sizes):
            x = torch.unflatten(x, 1 + 2 * mode, (-1, patch))
        order = [0, *range(1, 2 * count, 2), *range(2, 2 * count + 1, 2), 2 * count + 1]
        return self.projection(x.permute(order).flatten(count + 1))  # type: ignore[no-any-return]


class PooledHead(nn.Module):
    """Mean over one mode, over real tokens only, then a linear map.

    Args:
        dim: Features per token.
        out_features: Features per remaining position.
        mode: Mode that is averaged away; -1 is the last.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.
    """

    def __init__(self, dim: int, out_features: int, *, mode: int = -1, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.mode = mode
        self.linear = nn.Linear(dim, out_features, device=device, dtype=dtype)

    def forward(
        self, x: Float[Tensor, "batch *sizes dim"], *, valid: Tensor | None = None
    ) -> Float[Tensor, "batch *rest out"]:
        """Average, then project."""
        count = x.ndim - 2
        if not -count <= self.mode < count:
            raise ShapeError(
                f"PooledHead: mode {self.mode} is not one of the {count} modes of x {tuple(x.shape)}; modes skip the "
                f"batch axis."
            )
        axis = self.mode % count + 1
        if valid is None:
            return self.linear(x.mean(axis))  # type: ignore[no-any-return]
        kept = torch.where(valid[..., None], x, 0).sum(axis)
        return self.linear(kept / valid.sum(axis)[..., None].clamp_min(1))  # type: ignore[no-any-return]


class FlattenHead(nn.Module):
    """Concatenate the tokens of the last mode, then a linear map; tokens that are not real count as zeros.

    Args:
        dim: Features per token.
        size: Tokens on the last mode.
        out_features: Features per remaining position.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.
    """

    def __init__(self, dim: int, size: int, out_features: int, *, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.linear = nn.Linear(dim * size, out_features, device=device, dtype=dtype)

    def forward(
        self, x: Float[Tensor, "batch *sizes dim"], *, valid: Tensor | None = None
    ) -> Float[Tensor, "batch *rest out"]:
        """Flatten, then project."""
        x = x if valid is None else torch.where(valid[..., None], x, 0)
        return self.linear(x.flatten(-2))  # type: ignore[no-any-return]
