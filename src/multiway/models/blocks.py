"""The block of a Higher-Order Transformer as the config of a model describes it, and activations by name."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from multiway import nn
from multiway.config import Config
from multiway.errors import ConfigError, ShapeError

Activation = Literal["relu", "gelu", "silu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


def check_sizes(model: str, x: Tensor, expected: tuple[int, ...]) -> None:
    """Hold a batch of images or volumes to the sizes that a model was built for."""
    if tuple(x.shape[1:]) != expected:
        raise ShapeError(
            f"{model}: x must be (batch, channels, *sizes) with {expected[0]} channels and sizes {expected[1:]}. "
            f"Got {tuple(x.shape)}. Batch first, then channels, then the sizes."
        )


def checkpoint_part(part: torch_nn.Module, *inputs: Tensor, when: bool) -> Tensor:
    """Run a part of a network; with `when`, its gradient recomputes the activations instead of keeping them."""
    if when and torch.is_grad_enabled():
        return checkpoint(part, *inputs, use_reentrant=False)  # type: ignore[no-any-return]
    return part(*inputs)  # type: ignore[no-any-return]


class VolumeSizes(Config):
    """What the config of every classifier of volumes has."""

    sizes: tuple[int, int, int] = (28, 28, 28)
    """Voxels along each mode (HOT: H, W, D)."""
    in_channels: int = Field(1, gt=0)
    """Values per voxel."""
    num_classes: int = Field(2, ge=1)
    """Logits, or 1 for a number."""

    @model_validator(mode="after")
    def _sizes_are_positive(self) -> Self:
        if min(self.sizes) < 1:
            raise ValueError(f"sizes must be positive. Got sizes={self.sizes}.")
        return self


class AttentionChoice(Config):
    """What the config of every network with Kronecker attention says of its blocks."""

    num_heads: int = Field(4, gt=0)
    """Heads of each attention, which is also its Kronecker rank (HOT: R)."""
    ffn_multiple: int = Field(2, gt=0)
    """Hidden width of each SwiGLU over the features; the paper takes 4."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share of each block's attention and SwiGLU outputs dropped in training."""
    preset: Literal["paper", "per_mode", "trainable"] = "trainable"
    """Form of the attention, see `nn.KroneckerAttention`."""
    combine: Literal["product", "sum"] = "product"
    """Product of the modes' factors, or sum of each mode alone."""
    feature_map: Literal["softmax", "smreg", "positive", "elu"] = "softmax"
    """Softmax, or the kernel in its place ("smreg" is the paper's)."""

    def kronecker_block(self, dim: int, num_modes: int, attended_modes: Sequence[int] | None) -> nn.HOTBlock:
        """Attention and SwiGLU at `dim` features, whose modes all have an order."""
        attention = nn.KroneckerAttention(
            dim,
            num_heads=self.num_heads,
            num_modes=num_modes,
            attended_modes=attended_modes,
            rotary_modes=tuple(range(num_modes)),
            preset=self.preset,
            combine=self.combine,
            feature_map=self.feature_map,
        )
        return nn.HOTBlock(attention, dim=dim, hidden_dim=self.ffn_multiple * dim, dropout=self.dropout)


def check_attended(modes: Sequence[int], num_modes: int, names: str = "") -> None:
    """Hold a config to modes that there are, each once and in order."""
    known = tuple(range(num_modes))
    if list(modes) != sorted(set(modes) & set(known)):
        raise ValueError(f"attended_modes must be some of {known}, each once and in order{names}. Got {modes}.")


class BlockConfig(AttentionChoice):
    """What the config of every Higher-Order Transformer says of its blocks."""

    dim: int = Field(64, gt=0)
    """Features per token."""
    attended_modes: tuple[int, ...] = ()
    """Modes with an attention factor; () leaves value and output projections only."""
    mode_pooling: Literal["mean", "sum", "max", "learned"] | None = None
    """Pooling of queries and keys over the other modes, see `nn.KroneckerAttention`; the preset's if not given."""
    attention: Literal["kronecker", "full"] = "kronecker"
    """One small attention per mode, or one over all tokens at once, which needs no `attended_modes` and `combine`."""
    rotary: bool = True
    """Turn queries and keys by their positions along the modes that have an order."""
    qk_norm: Literal["none", "rms", "layer"] | None = None
    """Normalisation of queries and keys; that of the preset if not given."""
    norm: Literal["rms", "layer"] = "rms"
    """Normalisation before each half of a block, and before the head."""
    use_attention: bool = True
    """Give every block its attention; without it nothing mixes the tokens (the components of HOT sec. 5.3)."""
    use_ffn: bool = True
    """Give every block its SwiGLU (the components of HOT sec. 5.3)."""

    @property
    def has_maps(self) -> bool:
        """Whether the blocks have an attention map per mode."""
        return self.use_attention and self.attention == "kronecker"

    @model_validator(mode="after")
    def _block_has_a_half(self) -> Self:
        if not (self.use_attention or self.use_ffn):
            raise ValueError(
                "use_attention and use_ffn must not both be false. Set num_blocks to 0 for a model without blocks."
            )
        return self

    def check_heads(self, num_ordered: int) -> None:
        """Refuse heads that cannot be turned along so many modes."""
        got = f"Got dim={self.dim}, num_heads={self.num_heads}."
        if not self.rotary and self.dim % self.num_heads:
            raise ValueError(f"dim must be a multiple of num_heads. {got}")
        if self.rotary and self.dim % (2 * self.num_heads):
            raise ValueError(f"dim must be an even multiple of num_heads, as rotary turns pairs of features. {got}")
        if self.rotary and self.attention == "full" and self.dim < 2 * num_ordered * self.num_heads:
            raise ValueError(
                f"dim must be at least {2 * num_ordered} times num_heads, as full attention turns a pair of features "
                f"along each of {num_ordered} modes. {got}"
            )


def with_maps(blocks: torch_nn.ModuleList, tokens: Tensor, **masks: Any) -> tuple[Tensor, list[list[Tensor]]]:
    """Tokens after all blocks, and of each block one map per mode."""
    maps = []
    for block in blocks:
        tokens, block_maps = block.forward_with_maps(tokens, **masks)  # type: ignore[operator]  # ModuleList forgets
        maps.append(block_maps)
    return tokens, maps


def need_maps(model: torch_nn.Module, config: BlockConfig) -> None:
    """Refuse a model whose attention has no map per mode."""
    if not config.has_maps:
        raise ConfigError(
            f"{type(model).__name__}: maps per mode exist only where attention is 'kronecker'. Got "
            f"attention={config.attention!r}, use_attention={config.use_attention}. Build the model with that."
        )


def build_block(
    config: BlockConfig, *, num_modes: int, ordered_modes: Sequence[int], is_decoder: bool = False
) -> nn.HOTBlock:
    """Attention, in a decoder cross-attention too, and a SwiGLU; rotary turns along the modes with an order."""

    def attend() -> torch_nn.Module:
        """One attention per mode, or one over all tokens; softmax or a kernel."""
        turned = ordered_modes if config.rotary else ()
        options: dict[str, Any] = {"num_heads": config.num_heads, "num_modes": num_modes, "rotary_modes": turned}
        if config.attention == "kronecker":
            return nn.KroneckerAttention(
                config.dim,
                **options,
                preset=config.preset,
                pooling=config.mode_pooling,
                combine=config.combine,
                feature_map=config.feature_map,
                attended_modes=config.attended_modes,
                qk_norm=config.qk_norm,
            )
        options["qk_norm"] = config.qk_norm or nn.PRESETS[config.preset]["qk_norm"]
        if config.feature_map == "softmax":
            return nn.FullAttention(config.dim, **options)
        return nn.FullKernelAttention(config.dim, **options, feature_map=config.feature_map)

    return nn.HOTBlock(
        attend() if config.use_attention else None,
        dim=config.dim,
        norm=config.norm,
        hidden_dim=config.ffn_multiple * config.dim if config.use_ffn else 0,
        dropout=config.dropout,
        cross_attention=attend() if is_decoder and config.use_attention else None,
    )
