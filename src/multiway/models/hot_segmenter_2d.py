"""HOT segmenter of multispectral images: bands are a mode, as are rows and columns."""

from typing import Literal, Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.errors import ShapeError
from multiway.models.blocks import AttentionChoice, check_attended, checkpoint_part, with_maps
from multiway.models.registry import register

BANDS, ROWS, COLUMNS = 0, 1, 2
NUM_MODES = 3


class HOTSegmenter2dConfig(AttentionChoice):
    """Everything needed to rebuild a `HOTSegmenter2d`; saved inside each run."""

    in_channels: int = Field(gt=0)
    """Bands of the image."""
    num_classes: int = Field(2, ge=2)
    """Classes of a pixel, the background being one."""
    bands_per_token: int = Field(10, gt=0)
    """Neighbouring bands that become one token; the last group is filled with zeros."""
    patch_size: int = Field(1, gt=0)
    """Side of a token's square, in pixels; it must divide both sizes."""
    kernel_size: Literal[1, 3, 5] = 3
    """Side of what a token sees, in squares: 3 lets it see its neighbours."""
    dim: int = Field(32, gt=0)
    """Features per token."""
    num_blocks: int = Field(2, ge=0)
    """Attention blocks, one after another."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share of each block's branches, and of the head's features, dropped in training."""
    attended_modes: tuple[int, ...] = (BANDS, ROWS, COLUMNS)
    """Modes with an attention factor: 0 bands, 1 rows, 2 columns; () leaves value and output projections only."""
    checkpoint: bool = False
    """Recompute each block's activations in the backward pass instead of keeping them."""

    @property
    def stride(self) -> int:
        """Pixels per token; it must divide both sizes."""
        return self.patch_size

    @property
    def num_groups(self) -> int:
        """Tokens along the bands."""
        return -(-self.in_channels // self.bands_per_token)

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.dim % (2 * self.num_heads):
            raise ValueError(
                f"dim must be an even multiple of num_heads, as rotary turns pairs of features. "
                f"Got dim={self.dim}, num_heads={self.num_heads}."
            )
        check_attended(self.attended_modes, NUM_MODES, ": bands, rows, columns")
        return self


class HOTSegmenter2d(torch_nn.Module):
    """Class logits of every pixel of a multispectral image.

    Neighbouring bands of a square of pixels make a token, each group of bands by weights of its own; blocks of
    Kronecker attention act over bands × rows × columns; a linear head reads all band tokens of a square. A linear map
    of each pixel's spectrum lies underneath: the network adds to it.

    Not in the paper; ours.

    Shape:
        Input `(batch, in_channels, rows, columns)`, both sizes multiples of `config.stride`; output
        `(batch, num_classes, rows, columns)`.
    """

    def __init__(self, config: HOTSegmenter2dConfig) -> None:
        super().__init__()
        self.config = config
        groups, dim = config.num_groups, config.dim
        self.embedding = torch_nn.Conv2d(
            groups * config.bands_per_token * config.patch_size**2,
            groups * dim,
            config.kernel_size,
            padding=config.kernel_size // 2,
            groups=groups,
        )
        self.blocks = torch_nn.ModuleList(
            config.kronecker_block(dim, NUM_MODES, config.attended_modes) for _ in range(config.num_blocks)
        )
        self.norm = nn.make_norm("rms", dim)
        self.dropout = nn.Dropout(config.dropout)
        self.head = torch_nn.Linear(groups * dim, config.num_classes * config.patch_size**2)
        self.spectrum = torch_nn.Conv2d(config.in_channels, config.num_classes, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Class logits of every pixel."""
        self._check(x)
        tokens = self._embed(x)
        for block in self.blocks:
            tokens = checkpoint_part(block, tokens, when=self.config.checkpoint and self.training)
        return self._classify(x, tokens)

    def forward_with_maps(self, x: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
        """Class logits, and for each block one map over bands, one over rows, one over columns.

        Each map is `(batch, heads, size, size)`, rows summing to one; the identity for a mode not attended.
        """
        self._check(x)
        tokens, maps = with_maps(self.blocks, self._embed(x))
        return self._classify(x, tokens), maps

    def _embed(self, x: Tensor) -> Tensor:
        """Make the tokens, `(batch, band groups, rows, columns, dim)`."""
        groups, bands = self.config.num_groups, self.config.bands_per_token
        filled = F.pad(x, (0, 0, 0, 0, 0, groups * bands - x.shape[1]))
        squares = F.pixel_unshuffle(filled, self.config.patch_size)
        return self.embedding(squares).unflatten(1, (groups, -1)).movedim(2, -1)  # type: ignore[no-any-return]

    def _classify(self, x: Tensor, tokens: Tensor) -> Tensor:
        features = self.norm(tokens).movedim(1, -2).flatten(-2)  # (batch, rows, columns, band groups * dim)
        squares = self.head(self.dropout(features)).movedim(-1, 1)
        logits: Tensor = F.pixel_shuffle(squares, self.config.patch_size) + self.spectrum(x)
        return logits

    def _check(self, x: Tensor) -> None:
        config = self.config
        if x.ndim != 4 or x.shape[1] != config.in_channels:
            raise ShapeError(
                f"HOTSegmenter2d: x must be (batch, channels, rows, columns) with {config.in_channels} channels. Got "
                f"{tuple(x.shape)}. Batch first, then bands."
            )
        if any(size % config.patch_size or size == 0 for size in x.shape[2:]):
            raise ShapeError(
                f"HOTSegmenter2d: both sizes must be multiples of patch_size={config.patch_size}. Got "
                f"{tuple(x.shape[2:])}. Crop or pad, or predict by windows with `sliding_window`."
            )


register("hot_segmenter_2d", HOTSegmenter2d)
