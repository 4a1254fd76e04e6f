"""HOT forecaster of fields: time, rows and columns are modes, and so are channels where there are several."""

import torch
from pydantic import Field
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.models.blocks import AttentionChoice, with_maps
from multiway.models.grid_forecasters import GridForecaster, GridForecasterConfig
from multiway.models.registry import register

SIDE = 2
"""Of what is left of a square of cells along each axis in a token."""


class HOTGridForecasterConfig(AttentionChoice, GridForecasterConfig):
    """Everything needed to rebuild a `HOTGridForecaster`; saved inside each run."""

    dim: int = Field(64, gt=0, multiple_of=2 * SIDE**2)
    """Features per token."""
    rank: int = Field(8, gt=0)
    """Terms of the mode-wise maps from squares of cells to tokens and back."""


class HOTGridForecaster(GridForecaster):
    r"""A correction of a first forecast by Kronecker attention over time × channels × rows × columns.

    $$t = \sum_r A_r \times_1 x \times_2 \ldots, \qquad \hat\delta = \mathrm{head}(\mathrm{blocks}(t))$$

    A square of cells of one channel, with the features of these cells, becomes a token by `NdLinear` along its
    features, rows and columns; blocks act over all modes; `NdLinear` leads back. Not in the paper; ours.

    Shape: as `GridForecaster`. Cost: linear in the tokens, with one small attention a mode.
    """

    def __init__(self, config: HOTGridForecasterConfig) -> None:
        super().__init__(config)

    def build(self, config: HOTGridForecasterConfig) -> None:
        """The maps and the blocks; a single channel is no mode."""
        square, token = (config.patch_size,) * 2, (config.dim // SIDE**2, SIDE, SIDE)
        self.embedding = nn.NdLinear((1 + config.features, *square), token, rank=config.rank, flat=True, bias="full")
        head = nn.NdLinear(token, (1, *square), rank=config.rank, flat=True, bias="full")
        torch_nn.init.zeros_(head.weights[0])  # the others are not zero, so that there is a gradient
        self.head = head
        modes = 3 + (config.channels > 1)
        self.blocks = torch_nn.ModuleList(
            config.kronecker_block(config.dim, modes, None) for _ in range(config.num_blocks)
        )

    def embed(self, x: Tensor) -> Tensor:
        """Tokens of each channel, `(batch, frames, channels, rows, columns, dim)`; a single one is left out."""
        own, conditions = x.unsqueeze(3).split([self.config.channels, self.config.features], 2)
        every = torch.cat([own, conditions.movedim(2, 3).expand(-1, -1, self.config.channels, -1, -1, -1)], 3)
        tokens: Tensor = self.embedding(F.pixel_unshuffle(every, self.config.patch_size).movedim(3, -1))
        return tokens.squeeze(2) if self.config.channels == 1 else tokens

    def mix(self, tokens: Tensor) -> Tensor:
        """Let every token attend along all modes."""
        for block in self.blocks:
            tokens = block(tokens)
        return tokens[:, self.config.context :]

    def forward_with_maps(self, x: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
        """Corrections, and for each block one `(batch, heads, size, size)` map per mode, rows summing to one."""
        tokens, maps = with_maps(self.blocks, self.tokens_of(x))
        return self.spread(tokens[:, self.config.context :]), maps

    def unpack(self, tokens: Tensor) -> Tensor:
        """Cells of the squares of each channel."""
        return super().unpack(tokens).flatten(2, -3)


register("hot_grid_forecaster", HOTGridForecaster)
