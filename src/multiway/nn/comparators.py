"""What Kronecker attention is compared with: full attention over flattened modes, its kernel form, and axial."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import ops
from multiway.nn import checks
from multiway.nn.kronecker_attention import make_head_norms


class FullAttention(nn.Module):
    """Ordinary attention over all tokens, modes flattened (HOT eqs. 3-4): cost and memory grow with N².

    With the `rotary_modes` and the `qk_norm` of a `KroneckerAttention` it differs from that in the factorisation alone.

    Args:
        dim: Features per token.
        num_heads: Divides `dim`.
        num_modes: Modes of the input.
        rotary_modes: Modes whose order matters. A token is turned by its own positions along them; pairs of
            features are dealt out to several modes in turn, see `ops.rotate_flattened`.
        qk_norm: "none", "rms" or "layer", over each head's features.
        device: As for `torch.nn.Linear`.
        dtype: As for `torch.nn.Linear`.

    Shape:
        `(batch, *sizes, dim)` in and out.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int,
        num_modes: int,
        rotary_modes: Sequence[int] = (),
        qk_norm: str = "none",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        checks.check_heads_divide(name, dim, num_heads)
        self.rotary_modes = checks.check_modes("rotary_modes", rotary_modes, num_modes, name)
        checks.check_pairs(name, dim, num_heads, self.rotary_modes)
        self.dim, self.num_heads, self.num_modes = dim, num_heads, num_modes
        self.query_key_value = nn.Linear(dim, 3 * dim, device=device, dtype=dtype)
        self.out = nn.Linear(dim, dim, device=device, dtype=dtype)
        kind = checks.check_choice("qk_norm", qk_norm, ("none", "rms", "layer"), name)
        self.norms = make_head_norms(kind, 1, dim // num_heads, {"device": device, "dtype": dtype})

    def forward(
        self,
        x: Float[Tensor, "batch *sizes dim"],
        context: Float[Tensor, "batch *context_sizes dim"] | None = None,
        *,
        valid: Tensor | None = None,
        context_valid: Tensor | None = None,
    ) -> Float[Tensor, "batch *sizes dim"]:
        """Attend from every token to every valid token of `x`, or of `context` if there is one."""
        name = type(self).__name__
        if context is None:
            checks.check_valid(name, valid, x)
            x = ops.blank(x, valid)  # NaN times a weight of zero is NaN
            query, key, value = self._heads(x, self.query_key_value.weight, self.query_key_value.bias, 3)
        else:
            weights = self.query_key_value.weight.split([self.dim, 2 * self.dim])
            biases = self.query_key_value.bias.split([self.dim, 2 * self.dim])
            (query,) = self._heads(x, weights[0], biases[0], 1)
            checks.check_valid(name, context_valid, context, "context")
            context = ops.blank(context, context_valid)
            key, value = self._heads(context, weights[1], biases[1], 2)
            valid = context_valid
        query = self._position(query, x.shape[1:-1])
        key = self._position(key, (x if context is None else context).shape[1:-1], is_key=True)
        mixed = self.attend(query, key, value, None if valid is None else valid.flatten(1))
        return self.out(mixed.transpose(1, 2).flatten(-2).reshape(x.shape))  # type: ignore[no-any-return]

    def _heads(self, x: Tensor, weight: Tensor, bias: Tensor, count: int) -> tuple[Tensor, ...]:
        """So many projections of all tokens, each `(batch, heads, tokens, head_dim)`."""
        heads: Tensor = torch.unflatten(F.linear(x, weight, bias).flatten(1, -2), -1, (count, self.num_heads, -1))
        return heads.permute(2, 0, 3, 1, 4).unbind(0)

    def _position(self, heads: Tensor, sizes: Sequence[int], *, is_key: bool = False) -> Tensor:
        """Normalise and turn by position, in float32 or wider."""
        if self.norms is not None:
            heads = self.norms[0][int(is_key)](_wide(heads))  # type: ignore[index]
        return ops.rotate_flattened(_wide(heads), sizes, self.rotary_modes) if self.rotary_modes else heads

    def attend(self, query: Tensor, key: Tensor, value: Tensor, valid: Tensor | None) -> Tensor:
        """Mix values `(batch, heads, tokens, head_dim)`."""
        mask = None if valid is None else valid[:, None, None, :]
        query, key = query.to(value.dtype), key.to(value.dtype)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class FullKernelAttention(FullAttention):
    """Full attention with the softmax replaced by a kernel (HOT table 5, "linear" without factorisation): linear in N.

    Queries and keys are RMS-normalised unless `qk_norm` says otherwise, as the kernel's error grows with their norm.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int,
        num_modes: int,
        feature_map: str = "smreg",
        qk_norm: str = "rms",
        **options: Any,
    ) -> None:
        super().__init__(dim, num_heads=num_heads, num_modes=num_modes, qk_norm=qk_norm, **options)
        self.log_features = ops.FEATURE_MAPS[
            checks.check_choice("feature_map", feature_map, ops.FEATURE_MAPS, type(self).__name__)
        ]
        self.projection = nn.Buffer(ops.draw_projection(feature_map, dim // num_heads).to(options.get("device")))

    def reset_parameters(self) -> None:
        """New directions of random features; linear maps and norms have their own."""
        self.projection.copy_(ops.orthogonal_projection(*self.projection.shape))

    def attend(self, query: Tensor, key: Tensor, value: Tensor, valid: Tensor | None) -> Tensor:
        """Apply A (Bᵀ V) without forming A Bᵀ."""
        query_logs, key_logs = (self.log_features(_wide(heads), self.projection) for heads in (query, key))
        mask = None if valid is None else valid[:, None].expand(-1, self.num_heads, -1)
        queries, keys = ops.normalised_features(query_logs, key_logs, mask)
        return queries.to(value.dtype) @ (keys.to(value.dtype).mT @ value)


def _wide(heads: Tensor) -> Tensor:
    return heads.to(torch.promote_types(heads.dtype, torch.float32))


class AxialAttention(nn.Module):
    """One ordinary attention along each mode, every line of tokens on its own, outputs summed (Ho et al. 2019).

    Shape:
        `(batch, *sizes, dim)` in and out.
    """

    def __init__(
        self,
        dim: int,
        *,
        num_heads: int,
        num_modes: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.dim, self.num_heads, self.num_modes = dim, num_heads, num_modes
        self.lines = nn.ModuleList(
            FullAttention(dim, num_heads=num_heads, num_modes=1, device=device, dtype=dtype) for _ in range(num_modes)
        )

    def forward(self, x: Float[Tensor, "batch *sizes dim"]) -> Float[Tensor, "batch *sizes dim"]:
        """Sum over modes of attention along that mode."""
        total = torch.zeros_like(x)
        for mode, attention in enumerate(self.lines):
            moved = x.movedim(mode + 1, -2)
            mixed = attention(moved.flatten(0, -3)).reshape(moved.shape)
            total = total + mixed.movedim(-2, mode + 1)
        return total
