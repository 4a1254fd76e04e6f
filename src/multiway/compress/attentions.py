"""torch's multi-head attention with its joined projections as a layer, which a rule can then swap; and back again."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway.compress.reading import ancestors, leave_fast_paths, reads, take_fast_paths
from multiway.errors import ConfigError


class OpenAttention(nn.Module):
    """What `nn.MultiheadAttention` computes, its projections called as layers `in_proj` and `out_proj`.

    Of each distinct input all three projections are formed: attention to other tokens forms them twice.
    No object is made of this class: `open_attentions` lends it to an attention that there is, as torch's
    parametrisations do.
    """

    in_proj: nn.Module
    out_proj: nn.Module
    num_heads: int
    dropout: float
    batch_first: bool

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """As `nn.MultiheadAttention`."""
        if is_causal and attn_mask is None:
            raise ConfigError("MultiheadAttention: is_causal is a hint on attn_mask. Give the mask.")
        q, k, v = self._heads(query, key, value)
        mask = _add_masks(attn_mask, key_padding_mask, q)
        dropout = self.dropout if self.training else 0.0
        weights: Tensor | None = None
        if need_weights:
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = F.dropout((scores if mask is None else scores + mask).softmax(-1), dropout)
            mixed = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, mask, dropout)
        out: Tensor = self.out_proj(mixed.transpose(1, 2).flatten(2))
        if query.ndim == 2:
            return out[0], None if weights is None else weights[0]
        return out if self.batch_first else out.transpose(0, 1), weights

    def _heads(self, *inputs: Tensor) -> list[Tensor]:
        """Queries, keys and values, each (batch, heads, length, head_dim)."""
        joined = {}
        for x in inputs:
            if id(x) not in joined:
                batch = x[None] if x.ndim == 2 else x if self.batch_first else x.transpose(0, 1)
                joined[id(x)] = self.in_proj(batch)
        parts = [joined[id(x)].chunk(3, -1)[index] for index, x in enumerate(inputs)]
        return [part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in parts]


def _add_masks(attn_mask: Tensor | None, padding: Tensor | None, like: Tensor) -> Tensor | None:
    """Both masks as one that is added to the scores (batch, heads, length, length)."""
    masks = []
    if attn_mask is not None:
        each = attn_mask if attn_mask.ndim == 2 else attn_mask.unflatten(0, like.shape[:2])
        masks.append(_as_numbers(each, like))
    if padding is not None:
        masks.append(_as_numbers(padding.reshape(like.shape[0], 1, 1, -1), like))
    return sum(masks[1:], masks[0]) if masks else None


def _as_numbers(mask: Tensor, like: Tensor) -> Tensor:
    """A mask of truths as zeros and minus infinities."""
    if mask.dtype is not torch.bool:
        return mask.to(like.dtype)
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill_(mask, float("-inf"))


Settings = Sequence[tuple[str, str, Any]]
"""Of parents that had to change for an attention to be opened."""


@contextlib.contextmanager
def open_attentions(model: nn.Module) -> Iterator[Settings]:
    """Let the joined projections of a model's attentions be layers for a moment, on the same parameters.

    Where one of an attention's layers is then another than before, it stays open.
    """
    names = [name for name, module in model.named_modules() if _can_open(model, name, module)]
    settings = leave_fast_paths(model, [f"{name}.in_proj" if name else "in_proj" for name in names])
    for name in names:
        _open(model.get_submodule(name))
    try:
        yield settings
    finally:
        close(model, settings, names)


def close(model: nn.Module, settings: Settings, names: Sequence[str] | None = None) -> None:
    """Undo what `open_attentions` did wherever both layers are dense, in all attentions that stand open or some."""
    every = [name for name, module in model.named_modules() if isinstance(module, OpenAttention)]
    for name in every if names is None else names:
        attention = model.get_submodule(name)
        layer, out = attention.get_submodule("in_proj"), attention.get_submodule("out_proj")
        if isinstance(layer, nn.Linear) and isinstance(out, nn.Linear):
            del attention.in_proj
            for kind in ("weight", "bias"):
                attention._parameters[f"in_proj_{kind}"] = layer._parameters[kind]
            attention.__class__ = nn.MultiheadAttention
    take_fast_paths(model, settings)


def _can_open(model: nn.Module, name: str, module: nn.Module) -> bool:
    """Whether this is torch's attention in its usual form, and no module above reads its joined projections."""
    if type(module) is not nn.MultiheadAttention or module.bias_k is not None or module.add_zero_attn:
        return False
    above: Mapping[str, nn.Module] = ancestors(model, name) if name else {}
    is_read = any(reads(parent, name.removeprefix(f"{prefix}.")) for prefix, parent in above.items())
    return isinstance(module._parameters.get("in_proj_weight"), nn.Parameter) and not is_read


def _open(attention: nn.Module) -> None:
    weight, bias = (attention._parameters[name] for name in ("in_proj_weight", "in_proj_bias"))
    assert weight is not None
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, device="meta")
    layer.weight, layer.bias = weight, bias  # type: ignore[assignment]  # torch lets a bias be None
    attention._parameters.update(in_proj_weight=None, in_proj_bias=None)
    attention.__class__ = OpenAttention
    attention.in_proj = layer.train(attention.training)
