"""OLinear (Yue et al. 2025): series in a basis that decorrelates their steps, mixed by weights that are not data's."""

from collections.abc import Callable
from typing import Any, cast

import torch
from pydantic import Field
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.errors import ShapeError
from multiway.models.registry import register
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from multiway.models.windows import Bases, WindowSizes, by_mean, read_past

NEVER = -1e4
"""Softplus is zero here."""


class OLinearConfig(WindowSizes):
    """Sizes of an `OLinear`; those of the authors' script for ETTh1 if not given."""

    channels: int = Field(16, gt=0)
    """Multiples of a series that are transformed side by side (paper: d)."""
    dim: int = Field(512, gt=0)
    """Features of a series (paper: D)."""
    hidden: int = Field(512, gt=0)
    """Features between the two maps of a feed-forward, and of the head."""
    num_blocks: int = Field(2, ge=0)
    """Blocks of mixing and feed-forward (paper: L)."""
    dropout: float = Field(0.2, ge=0.0, lt=1.0)

    @classmethod
    def small(cls) -> dict[str, Any]:
        """List the fields of a size that trains in half the time of our default network."""
        return {"channels": 1, "dim": 128, "hidden": 128}


class OLinear(torch_nn.Module):
    r"""Series in an orthogonal basis of their steps through blocks over series, and back from a basis of the horizon.

    With x_n a series freed of its window's mean and deviation, then scaled and shifted as in `RLinear`, φ the
    multiples, and Q and R the bases of look-back and horizon:

    $$z_n = \varphi \otimes Q x_n + \delta, \quad
      (u_n) = W_2\,\mathrm{LN}\,\mathrm{Blocks}(W_1 z)_n, \quad y_n = \mathrm{MLP}(R^\top u_n + \epsilon)$$

    Sections 3 and 4. A block is that of a transformer with `NormLin` for its attention.

    Differs from the authors' code: the bases are of correlations in the training windows, in place of all their rows,
    and until `set_bases` they are the steps themselves. A series without a value in a window is mixed into none.
    What is linear from series to features, and from features to the head, is one matrix each where that is cheaper.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, variates)`.
    """

    read_layers = ("enter", "leave", "head.0")
    """Layers whose weights are folded with others, so that none can be swapped for a layer without a weight."""

    def __init__(self, config: OLinearConfig) -> None:
        super().__init__()
        self.config = config
        series, channels, dim = config.num_variates, config.channels, config.dim
        self.past_basis = torch_nn.Buffer(torch.eye(config.lookback))
        self.future_basis = torch_nn.Buffer(torch.eye(config.horizon))
        self.gain, self.shift = torch_nn.Parameter(torch.ones(series)), torch_nn.Parameter(torch.zeros(series))
        self.multiples = torch_nn.Parameter(torch.randn(channels))
        self.past_offset = torch_nn.Parameter(torch.zeros(series, 1, config.lookback))
        self.future_offset = torch_nn.Parameter(torch.zeros(series, 1, config.horizon))
        self.enter = torch_nn.Linear(channels * config.lookback, dim)
        self.blocks = torch_nn.ModuleList(_build_block(config) for _ in range(config.num_blocks))
        self.norm = torch_nn.LayerNorm(dim)
        self.leave = torch_nn.Linear(dim, channels * config.horizon)
        self.head = torch_nn.Sequential(
            torch_nn.Linear(channels * config.horizon, config.hidden),
            torch_nn.GELU(),
            torch_nn.Linear(config.hidden, config.horizon),
            nn.Dropout(config.dropout),
        )

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        normal = by_mean(read_past("OLinear", past, past_observed, self.config), past_observed, None)
        series = (normal.steps * self.gain + self.shift).transpose(1, 2)
        mapped = self._map(series, None if past_observed is None else past_observed.any(1)).transpose(1, 2)
        return (mapped - self.shift) / self.gain * normal.scale + normal.centre

    def _map(self, series: Tensor, seen: Tensor | None) -> Tensor:
        """Take `(batch, variates, lookback)` to the horizon."""
        tokens = self._enter(series)
        for block in self.blocks:
            tokens = block(tokens, seen)
        tokens = self.norm(tokens)
        folded = self._folding_is_cheaper(tokens.shape[0] * tokens.shape[1])
        hidden = self._leave_folded(tokens) if folded else self._leave(tokens)
        steps: Tensor = self.head[1:](hidden)
        return steps

    def _enter(self, series: Tensor) -> Tensor:
        """Into the basis, its multiples and the features at once, as all of it is linear: `(dim, lookback)`."""
        weight = self.enter.weight.unflatten(1, (self.config.channels, self.config.lookback))
        folded = torch.einsum("dct,c->dt", weight, self.multiples) @ self.past_basis
        constant = self.past_offset[:, 0] @ weight.sum(1).T + self.enter.bias
        features: Tensor = series @ folded.T + constant
        return features

    def _leave(self, tokens: Tensor) -> Tensor:
        """Through the basis of the horizon to the hidden features of the head."""
        spectrum: Tensor = self.leave(tokens)
        future = spectrum.unflatten(-1, (self.config.channels, self.config.horizon))
        hidden: Tensor = self.head[:1]((future @ self.future_basis + self.future_offset).flatten(2))
        return hidden

    def _leave_folded(self, tokens: Tensor) -> Tensor:
        """As `_leave`, by one matrix `(hidden, dim)`."""
        first = cast(torch_nn.Linear, self.head[0])
        weight = first.weight.unflatten(1, (self.config.channels, self.config.horizon))
        turned = (weight @ self.future_basis.T).flatten(1)
        constant = self.future_offset[:, 0] @ weight.sum(1).T + (turned @ self.leave.bias + first.bias)
        hidden: Tensor = tokens @ (turned @ self.leave.weight).T + constant
        return hidden

    def _folding_is_cheaper(self, tokens: int) -> bool:
        """Whether one matrix for all tokens takes fewer products, its making included."""
        size, wide = self.config, self.config.channels * self.config.horizon
        once = size.hidden * wide * (size.horizon + size.dim)
        return once + tokens * size.dim * size.hidden < tokens * wide * (size.dim + size.horizon + size.hidden)

    def start_from(self, ridge: Callable[[], Tensor], bases: Callable[[], Bases]) -> None:
        """Take over the bases of the training windows."""
        self.set_bases(bases())

    @torch.no_grad()
    def set_bases(self, bases: Bases) -> None:
        """Copy in the bases of look-back and horizon.

        Raises:
            ShapeError: The sizes differ.
        """
        for name, own, basis in zip(Bases._fields, (self.past_basis, self.future_basis), bases, strict=True):
            if basis.shape != own.shape:
                raise ShapeError(f"set_bases: {name} must be {tuple(own.shape)}. Got {tuple(basis.shape)}.")
            own.copy_(basis)

    @torch.no_grad()
    def set_apart(self, young: Tensor) -> None:
        """Mix series that were never seen in training with none, and give them what the others learnt in the mean.

        Shape:
            young `(variates,)`, boolean.
        """
        if not young.any() or young.all():
            return
        for tensor in (self.gain, self.shift, self.past_offset, self.future_offset):
            tensor[young] = tensor[~young].mean(0)
        for mixing in self.modules():
            if isinstance(mixing, NormLin):
                mixing.set_apart(young)


class NormLin(torch_nn.Module):
    r"""Tokens mixed by a learned matrix without negative weights, whose rows sum to one (section 4.2).

    $$y = W_o A W_v x, \qquad A = \mathrm{softplus}(W)\,/\,\mathrm{row\ sums}$$

    Shape:
        x `(batch, tokens, dim)`, valid `(batch, tokens)` true where a token is present; output like x.
    """

    def __init__(self, tokens: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.weight = torch_nn.Parameter(torch.randn(tokens, tokens))
        self.weight.data.diagonal().add_(1)
        self.value, self.output = torch_nn.Linear(dim, dim), torch_nn.Linear(dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Mix the tokens that are there."""
        weight = F.softplus(self.weight)
        seen = weight if valid is None else weight * valid[:, None]
        mixed: Tensor = self.output(self.dropout(F.normalize(seen, p=1, dim=-1)) @ self.value(x))
        return mixed

    @torch.no_grad()
    def set_apart(self, young: Tensor) -> None:
        """Let some tokens mix with none but themselves."""
        self.weight[young] = self.weight[:, young] = NEVER
        self.weight[young, young] = 0.0


def _build_block(config: OLinearConfig) -> TransformerBlock:
    choice = BlockChoice(feed_forward=FeedForwardConfig(hidden=(config.hidden,)), dropout=config.dropout)
    mixing = NormLin(config.num_variates, config.dim, config.dropout)
    return TransformerBlock(config.dim, choice, attention=mixing)


register("olinear", OLinear)
register("olinear_small", OLinear, **OLinearConfig.small())
