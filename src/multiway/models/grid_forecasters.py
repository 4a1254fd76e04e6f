"""Networks that correct a first forecast of the next fields of a grid: what they share, and those of the literature."""

from typing import Any, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.config import Config
from multiway.models.blocks import check_sizes
from multiway.models.registry import register


class GridForecasterConfig(Config):
    """Everything needed to rebuild a network that corrects fields; saved inside each run."""

    context: int = Field(12, gt=0)
    """Past fields that it sees."""
    horizon: int = Field(6, gt=0)
    """Fields that it corrects."""
    channels: int = Field(1, gt=0)
    """Variables or levels of a field."""
    features: int = Field(0, ge=0)
    """What else it is told of every cell of a field."""
    sizes: tuple[int, int]
    """Rows and columns of a field."""
    patch_size: int = Field(4, gt=0)
    """Side of the square of cells that is a token; fields are filled with zeros to whole squares."""
    dim: int = Field(32, gt=0)
    """Features per token."""
    num_blocks: int = Field(2, gt=0)
    """Blocks, one after another."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share of the features dropped in training."""

    @model_validator(mode="after")
    def _sizes_are_positive(self) -> Self:
        if min(self.sizes) < 1:
            raise ValueError(f"sizes must be positive. Got sizes={self.sizes}.")
        return self

    @property
    def frames(self) -> int:
        """Fields of a sample: those of the past, and the first forecasts."""
        return self.context + self.horizon

    @property
    def grid(self) -> tuple[int, int]:
        """Tokens along rows and columns."""
        rows, columns = self.sizes
        return -(-rows // self.patch_size), -(-columns // self.patch_size)


class GridForecaster(torch_nn.Module):
    """A correction of a first forecast: squares of cells become tokens, which `mix` relates and a linear map spreads.

    An untrained one corrects nothing. A network of its own overrides `mix`, and builds what that needs.

    Shape:
        Input `(batch, context + horizon, channels + features, rows, columns)`: past fields, then first forecasts;
        output `(batch, horizon, channels, rows, columns)`.
    """

    def __init__(self, config: GridForecasterConfig) -> None:
        super().__init__()
        self.config = config
        self.step = torch_nn.Parameter(torch.zeros(config.frames, config.dim))
        self.norm = nn.make_norm("rms", config.dim)
        self.dropout = nn.Dropout(config.dropout)
        self.build(config)

    def build(self, config: Any) -> None:
        """Make the maps from squares of cells to tokens and back; the latter is zero before the training."""
        cells = config.patch_size**2
        self.embedding: torch_nn.Module = torch_nn.Linear((config.channels + config.features) * cells, config.dim)
        head = torch_nn.Linear(config.dim, config.channels * cells)
        torch_nn.init.zeros_(head.weight)
        torch_nn.init.zeros_(head.bias)
        self.head: torch_nn.Module = head

    def mix(self, tokens: Tensor) -> Tensor:
        """Relate tokens: `(batch, frames, rows, columns, dim)` to those of the fields that are corrected."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """What is to be added to the first forecasts."""
        return self.spread(self.mix(self.tokens_of(x)))

    def tokens_of(self, x: Tensor) -> Tensor:
        """Tokens of every field, which know its place in time."""
        config = self.config
        check_sizes(type(self).__name__, x, (config.frames, config.channels + config.features, *config.sizes))
        rows, columns = config.sizes
        tokens = self.embed(F.pad(x, (0, -columns % config.patch_size, 0, -rows % config.patch_size)))
        return tokens + self.step.view(config.frames, *(1 for _ in tokens.shape[3:]), config.dim)

    def spread(self, mixed: Tensor) -> Tensor:
        """Corrections of cells by the tokens of the fields that are corrected."""
        rows, columns = self.config.sizes
        return self.unpack(self.dropout(self.norm(mixed)))[..., :rows, :columns]

    def embed(self, x: Tensor) -> Tensor:
        """Tokens of whole squares of cells."""
        tokens: Tensor = self.embedding(F.pixel_unshuffle(x, self.config.patch_size).movedim(2, -1))
        return tokens

    def unpack(self, tokens: Tensor) -> Tensor:
        """Cells of the squares of tokens."""
        return F.pixel_shuffle(self.head(tokens).movedim(-1, -3), self.config.patch_size)


class ConvLSTM(GridForecaster):
    r"""A recurrent network whose gates are convolutions (Shi et al. 2015), without peepholes.

    $$i, f, o, g = W * [x_t, h_{t-1}], \qquad c_t = \sigma(f) c_{t-1} + \sigma(i) \tanh g, \qquad
      h_t = \sigma(o) \tanh c_t$$

    It runs over past fields and on over the first forecasts: a correction sees none of a later field.
    """

    def build(self, config: GridForecasterConfig) -> None:
        """One convolution for all gates of a block."""
        super().build(config)
        gates = (torch_nn.Conv2d(2 * config.dim, 4 * config.dim, 3, padding=1) for _ in range(config.num_blocks))
        self.gates = torch_nn.ModuleList(gates)

    def mix(self, tokens: Tensor) -> Tensor:
        """Run over the frames."""
        start = torch.zeros_like(tokens[:, 0].movedim(-1, 1))
        states, outputs = [(start, start) for _ in self.gates], []
        for frame in tokens.movedim(-1, 2).unbind(1):
            x = frame
            for place, gates in enumerate(self.gates):
                hidden, cell = states[place]
                enter, forget, leave, new = gates(torch.cat([x, hidden], 1)).chunk(4, 1)
                cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
                x = leave.sigmoid() * cell.tanh()
                states[place] = x, cell
            outputs.append(x)
        return torch.stack(outputs[self.config.context :], 1).movedim(2, -1)


class SimVP(GridForecaster):
    """Convolutions alone (Gao et al. 2022): over space in each frame, over space with all frames as channels, and back.

    The middle is the gated attention of its second form (gSTA, Tan et al. 2022): a wide convolution of one channel at
    a time gates the features. It is smaller than theirs.
    """

    def build(self, config: GridForecasterConfig) -> None:
        """Encoder, middle, decoder."""
        super().build(config)
        dim, wide = config.dim, 4 * config.dim
        self.encoder, self.decoder = (torch_nn.Conv2d(dim, dim, 3, padding=1) for _ in range(2))
        self.enter = torch_nn.Conv2d(config.frames * dim, wide, 1)
        self.leave = torch_nn.Conv2d(wide, config.horizon * dim, 1)
        self.near, self.far, self.gate = (torch_nn.ModuleList() for _ in range(3))
        for _ in range(config.num_blocks):
            self.near.append(torch_nn.Conv2d(wide, wide, 5, padding=2, groups=wide))
            self.far.append(torch_nn.Conv2d(wide, wide, 5, padding=4, dilation=2, groups=wide))
            self.gate.append(torch_nn.Conv2d(wide, 2 * wide, 1))

    def mix(self, tokens: Tensor) -> Tensor:
        """Every correction sees all frames, and the features of its own once more."""
        frames = tokens.movedim(-1, 2)
        seen = F.silu(self.encoder(frames.flatten(0, 1))).unflatten(0, frames.shape[:2])
        x = self.enter(seen.flatten(1, 2))
        for near, far, gate in zip(self.near, self.far, self.gate, strict=True):
            value, share = gate(far(near(F.gelu(x)))).chunk(2, 1)
            x = x + value * share.sigmoid()
        later = self.leave(x).unflatten(1, (self.config.horizon, -1)) + seen[:, self.config.context :]
        found: Tensor = self.decoder(later.flatten(0, 1)).unflatten(0, later.shape[:2]).movedim(2, -1)
        return found


class FNO(GridForecaster):
    r"""Fourier neural operator (Li et al. 2021): $x + \mathrm{gelu}(W x + F^{-1}(R \cdot F x))$, frames as channels.

    R holds a matrix for each of the lowest frequencies along rows and columns; higher ones pass through W alone.
    """

    lowest: int = 4
    """Frequencies along each axis, from 0 on; those of the other sign along rows too."""

    def build(self, config: GridForecasterConfig) -> None:
        """Maps in and out, and for each block a matrix of features and one for each frequency."""
        super().build(config)
        rows, columns = config.grid
        self.rows = sorted({*range(rows)[: self.lowest], *range(rows)[-self.lowest :]})
        self.columns = min(self.lowest, columns // 2 + 1)
        wide = 3 * config.dim // 2
        self.enter = torch_nn.Conv2d(config.frames * config.dim, wide, 1)
        self.leave = torch_nn.Conv2d(wide, config.horizon * config.dim, 1)
        self.features = torch_nn.ModuleList(torch_nn.Conv2d(wide, wide, 1) for _ in range(config.num_blocks))
        shape = len(self.rows), self.columns, wide, wide, 2
        self.frequencies = torch_nn.ParameterList(
            torch_nn.Parameter(torch.randn(shape) / wide) for _ in range(config.num_blocks)
        )

    def mix(self, tokens: Tensor) -> Tensor:
        """Filter all frames at once."""
        frames = tokens.movedim(-1, 2)
        x = self.enter(frames.flatten(1, 2))
        for features, weights in zip(self.features, self.frequencies, strict=True):
            x = x + F.gelu(features(x) + self.filter(x, weights))
        later: Tensor = self.leave(x).unflatten(1, (self.config.horizon, -1)) + frames[:, self.config.context :]
        return later.movedim(2, -1)

    def filter(self, x: Tensor, weights: Tensor) -> Tensor:
        """Multiply the lowest frequencies of `(batch, features, rows, columns)` by their matrices; drop the others."""
        seen = torch.fft.rfft2(x, norm="ortho")
        kept = torch.zeros_like(seen)
        low = seen[:, :, self.rows, : self.columns]
        kept[:, :, self.rows, : self.columns] = torch.einsum("birc,rcio->borc", low, torch.view_as_complex(weights))
        filtered: Tensor = torch.fft.irfft2(kept, s=x.shape[-2:], norm="ortho")
        return filtered


class FactorisedAttentionConfig(GridForecasterConfig):
    """Everything needed to rebuild a `FactorisedAttention`; saved inside each run."""

    num_heads: int = Field(2, gt=0)
    """Heads of each attention."""


class FactorisedAttention(GridForecaster):
    """Full attention over the tokens of a frame, then over the frames of a token, in turn (as PredFormer, 2024)."""

    def __init__(self, config: FactorisedAttentionConfig) -> None:
        super().__init__(config)

    def build(self, config: FactorisedAttentionConfig) -> None:
        """A pair of blocks for each: over space, and over time."""
        super().build(config)

        def attend(modes: int) -> nn.HOTBlock:
            rotary, heads = tuple(range(modes)), config.num_heads
            attention = nn.FullAttention(
                config.dim, num_heads=heads, num_modes=modes, rotary_modes=rotary, qk_norm="rms"
            )
            return nn.HOTBlock(attention, dim=config.dim, hidden_dim=2 * config.dim, dropout=config.dropout)

        self.space, self.time = (
            torch_nn.ModuleList(attend(modes) for _ in range(config.num_blocks)) for modes in (2, 1)
        )

    def mix(self, tokens: Tensor) -> Tensor:
        """Take frames, then places, as samples of their own."""
        for space, time in zip(self.space, self.time, strict=True):
            places = space(tokens.flatten(0, 1)).unflatten(0, tokens.shape[:2]).movedim(1, 3)
            tokens = time(places.flatten(0, 2)).unflatten(0, places.shape[:3]).movedim(3, 1)
        later: Tensor = tokens[:, self.config.context :]
        return later


register("convlstm_grid_forecaster", ConvLSTM, dim=28)
register("simvp_grid_forecaster", SimVP, dim=24)
register("fno_grid_forecaster", FNO, dim=16, num_blocks=3)
register("factorised_grid_forecaster", FactorisedAttention, dim=52)
