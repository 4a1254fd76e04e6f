"""HOT forecaster: variates × patches of time, Kronecker attention over both (HOT sec. 5.1, app. D)."""

import itertools
from collections.abc import Callable
from typing import Literal, NamedTuple, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn, ops
from multiway.errors import ConfigError
from multiway.models.blocks import BlockConfig, build_block, need_maps, with_maps
from multiway.models.registry import register
from multiway.models.regression import Regressors
from multiway.models.windows import (
    NORMALISERS,
    Bases,
    LinearFloor,
    Normalised,
    WindowSizes,
    check_windows,
    fill_gaps,
    valid_patches,
)

VARIATES, TIME = 0, 1
LEVEL_LIMIT = 5.0
"""Last values are clipped here, in standard deviations of the training rows, before they become features."""


class HOTForecasterConfig(WindowSizes, BlockConfig):
    """Everything needed to rebuild a `HOTForecaster`; saved inside each run."""

    patch_length: int = Field(16, gt=0)
    """Time steps per token; patches do not overlap (HOT app. D)."""
    patch_activation: bool = False
    """Rectify, normalise and drop out the tokens of patches, as the paper's later code does."""
    num_blocks: int = Field(2, ge=0)
    """Attention blocks, one after another."""
    pooling: Literal["mean", "flatten"] = "flatten"
    """How the patches of one variate become the head's input."""
    attended_modes: tuple[int, ...] = (VARIATES, TIME)
    """Modes with an attention factor: 0 variates, 1 time; () leaves value and output projections only."""
    variate_embedding: bool = True
    """Add a learned vector per variate, so that variates may be treated unlike."""
    level_features: bool = False
    """Also show each token the window's last value and scale, which `window_norm` takes away.
    Helps series that come back to a level (loads), harms those that wander (rates of exchange)."""
    level_noise: float = Field(1.0, ge=0.0)
    """Deviation of the noise on that last value in training, so that only its rough place is learned."""
    window_norm: Literal["standard", "last", "none"] = "last"
    """What a window is freed of: its mean ("standard", as the paper's code) or its last value; then its deviation.
    "none" leaves it as it is."""
    deviation_limit: float | None = Field(10.0, gt=0.0)
    """Steps farther than this from the window's centre are clipped, for the network and not for the floor, so
    that one broken cell does not set the scale. In the units of past: deviations of the training rows."""
    linear_floor: Literal["none", "frozen", "trained"] = "frozen"
    """A linear forecast underneath, to which the network adds a correction that starts at zero."""
    floor_shared: bool = False
    """One floor matrix for all variates, in place of one each."""
    known: int = Field(0, ge=0)
    """Features of covariates that are known ahead."""
    seen: int = Field(0, ge=0)
    """Features of those that are known up to the last value."""
    quantiles: tuple[float, ...] = ()
    """Probabilities of quantiles that are forecast beside the median, 0.5, which is the forecast; none for the forecast
    alone. Each is trained by its own pinball loss."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.lookback % self.patch_length:
            raise ValueError(
                f"lookback must be a multiple of patch_length. "
                f"Got lookback={self.lookback}, patch_length={self.patch_length}."
            )
        self.check_heads(num_ordered=1)
        shares = (0.0, *self.quantiles, 1.0)
        rising = all(low < high for low, high in itertools.pairwise(shares))
        if self.quantiles and not (rising and 0.5 in self.quantiles[1:-1]):
            raise ValueError(
                f"quantiles must rise between 0 and 1, with 0.5 and others on either side of it. Got {self.quantiles}."
            )
        if self.attended_modes not in ((), (VARIATES,), (TIME,), (VARIATES, TIME)):
            raise ValueError(
                f"attended_modes must be (), (0,), (1,) or (0, 1): 0 is variates, 1 is time. Got {self.attended_modes}."
            )
        return self


class _Window(NamedTuple):
    """A batch of windows on their way through the model."""

    filled: Tensor
    normal: Normalised
    valid: Tensor | None
    covariates: Regressors | None


class HOTForecaster(torch_nn.Module):
    """Forecast all variates together from one window of their past.

    Each variate is freed of its window's level and scale and cut into patches; the `(variates, patches)`
    tokens pass through blocks of Kronecker attention, with one small attention per mode; a linear head,
    shared by all variates, gives the whole horizon at once.

    Differs from the paper, unless built as `hot_forecaster_paper`: a closed-form linear forecast may
    lie underneath (`linear_floor`), to which the network adds a correction in units of the window's
    deviation. The head then starts at zero, so that the untrained network *is* the floor.

    Covariates enter as tokens: those of the past are added to the patches of values, and those that are known ahead
    are the patches of the horizon, which follow on them in the mode of time and add their own steps to the forecast.
    Without them the network forecasts from values alone.

    A sample's forecast depends on that sample alone, and on its observed cells alone.

    With `quantiles` the head gives as many numbers for each step, and `forward_with_quantiles` what they become by
    `ops.rising_quantiles`, in units of the window's deviation. They never cross.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean, True where there is a value; covariates
        as `Regressors` has them; forecast `(batch, horizon, variates)`, in the units of past.
    """

    def __init__(self, config: HOTForecasterConfig) -> None:
        super().__init__()
        self.config = config
        self.quantiles = config.quantiles
        self.takes_covariates = bool(config.known + config.seen)
        self._normalise = NORMALISERS[config.window_norm]
        dim, patches = config.dim, config.lookback // config.patch_length
        self.embedding = nn.PatchEmbedding((1, config.patch_length), 1, dim)
        after_patches = torch_nn.ReLU(), torch_nn.LayerNorm(dim), nn.Dropout(config.dropout)
        self.activation = torch_nn.Sequential(*after_patches) if config.patch_activation else None
        vectors = torch.empty(config.num_variates, 1, dim)
        self.variates = torch_nn.Parameter(vectors) if config.variate_embedding else None
        self.level = torch_nn.Linear(2, dim) if config.level_features else None
        self.blocks = torch_nn.ModuleList(
            build_block(config, num_modes=2, ordered_modes=(TIME,)) for _ in range(config.num_blocks)
        )
        self.norm = nn.make_norm(config.norm, dim)
        length, of_past, numbers = config.patch_length, config.known + config.seen, max(len(config.quantiles), 1)
        self.head = (
            nn.PooledHead(dim, config.horizon * numbers)
            if config.pooling == "mean"
            else nn.FlattenHead(dim, patches, config.horizon * numbers)
        )
        self.covariates = torch_nn.Linear(length * of_past, dim) if of_past else None
        self.ahead = torch_nn.Linear(length * config.known, dim) if config.known else None
        self.steps = torch_nn.Linear(dim, length * numbers) if config.known else None
        self.floor: LinearFloor | None = None
        if config.linear_floor != "none":
            sizes = 1 if config.floor_shared else config.num_variates, config.horizon, config.lookback
            self.floor = LinearFloor(*sizes, trained=config.linear_floor == "trained")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the variate vectors from N(0, 0.02²); over a floor, set the head to zero."""
        if self.variates is not None:
            torch_nn.init.normal_(self.variates, std=0.02)
        for last in () if self.floor is None else (self.head.linear, self.steps):
            if last is not None:
                torch_nn.init.zeros_(last.weight)
                torch_nn.init.zeros_(last.bias)

    def forward(
        self,
        past: Tensor,
        past_observed: Tensor | None = None,
        covariates: Regressors | None = None,
        *,
        every: bool = False,
    ) -> Tensor:
        """Forecast the steps after each window; with `every`, all quantiles, one after another along the batch."""
        levels = self._run(past, past_observed, covariates)
        return levels.movedim(-1, 0).flatten(0, 1) if every else self._median(levels)

    def forward_with_quantiles(
        self, past: Tensor, past_observed: Tensor | None = None, covariates: Regressors | None = None
    ) -> Tensor:
        """Forecast every quantile of the config, `(batch, horizon, variates, quantiles)`.

        Raises:
            ConfigError: It has none.
        """
        if not self.quantiles:
            raise ConfigError(
                "HOTForecaster: quantiles are forecast where the config names them. Got quantiles=(). "
                "Build the model with quantiles=(0.1, 0.5, 0.9)."
            )
        return self._run(past, past_observed, covariates)

    def spread(self, past: Tensor, past_observed: Tensor | None = None, covariates: Regressors | None = None) -> Tensor:
        """Mean distances from the median to the quantiles below and above it, `(2, batch, horizon, variates)`."""
        return ops.mean_widths(self.forward_with_quantiles(past, past_observed, covariates), self.quantiles)

    def _run(self, past: Tensor, past_observed: Tensor | None, covariates: Regressors | None) -> Tensor:
        window = self._read(past, past_observed, covariates)
        tokens = self._embed(window)
        for block in self.blocks:
            tokens = block(tokens, valid=window.valid)
        return self._forecast(window, tokens)

    def _median(self, levels: Tensor) -> Tensor:
        return levels[..., self.quantiles.index(0.5) if self.quantiles else 0]

    def forward_with_maps(
        self, past: Tensor, past_observed: Tensor | None = None, covariates: Regressors | None = None
    ) -> tuple[Tensor, list[list[Tensor]]]:
        """Forecast, and list for each block its attention maps over variates and over patches.

        Each map is `(batch, heads, size, size)`, rows summing to one; the identity for a mode not attended. Patches of
        the horizon, where covariates are known ahead, are the last ones.

        Raises:
            ConfigError: There is no attention, or it is full and has no map per mode.
        """
        need_maps(self, self.config)
        window = self._read(past, past_observed, covariates)
        tokens, maps = with_maps(self.blocks, self._embed(window), valid=window.valid)
        return self._median(self._forecast(window, tokens)), maps

    def set_floor(self, weight: Tensor) -> None:
        """Copy in the matrices of a fitted floor, `(variates or 1, horizon, lookback)`.

        They act on windows with their last value subtracted. A single matrix serves every variate.

        Raises:
            ConfigError: The model has no floor.
            ShapeError: The sizes differ.
        """
        if self.floor is None:
            raise ConfigError(
                "HOTForecaster: a floor exists only where linear_floor is 'frozen' or 'trained'. "
                "Got linear_floor='none'. Build the model with one of the two."
            )
        self.floor.set_weight(weight)

    def start_from(self, ridge: Callable[[], Tensor], bases: Callable[[], Bases]) -> None:
        """Take ridge over as the floor, where there is one."""
        if self.floor is not None:
            self.set_floor(ridge())

    @torch.no_grad()
    def set_apart(self, young: Tensor) -> None:
        """Give variates that were never seen in training the mean of the vectors that were learnt."""
        if self.variates is not None and young.any():
            self.variates[young] = self.variates[~young].mean(0)

    def _read(self, past: Tensor, past_observed: Tensor | None, covariates: Regressors | None = None) -> _Window:
        check_windows("HOTForecaster", past, past_observed, self.config)
        limit = self.config.deviation_limit
        if past_observed is None:
            return _Window(past, self._normalise(past, None, limit), None, covariates)
        filled = fill_gaps(past, past_observed)
        valid = valid_patches(past_observed, self.config.patch_length)
        if covariates is not None and self.ahead is not None:
            valid = torch.cat([valid, valid.any(2, keepdim=True).expand(-1, -1, self._patches_ahead)], 2)
        return _Window(filled, self._normalise(filled, past_observed, limit), valid, covariates)

    def _embed(self, window: _Window) -> Tensor:
        """Make the tokens, `(batch, variates, patches, dim)`; with covariates those of the horizon too."""
        tokens: Tensor = self.embedding(window.normal.steps.transpose(1, 2).unsqueeze(-1))
        if self.activation is not None:
            tokens = self.activation(tokens)
        if self.variates is not None:
            tokens = tokens + self.variates
        if self.level is not None:
            last = window.filled[:, -1].clamp(-LEVEL_LIMIT, LEVEL_LIMIT)
            if self.training and self.config.level_noise:
                last = last + self.config.level_noise * torch.randn_like(last)
            level = torch.stack([last, window.normal.scale[:, 0].log()], dim=-1)
            tokens = tokens + self.level(level).unsqueeze(2)
        return tokens if window.covariates is None else self._with_covariates(tokens, window.covariates)

    @property
    def _patches_ahead(self) -> int:
        return -(-self.config.horizon // self.config.patch_length)

    def _with_covariates(self, tokens: Tensor, covariates: Regressors) -> Tensor:
        """Add what is known of the past to its tokens, and put tokens of the horizon behind them."""
        lookback, width = self.config.lookback, tokens.shape[1]
        if self.covariates is not None:
            of_past = (covariates.known[:, :lookback], covariates.seen)
            both = torch.cat([part.expand(-1, -1, width, -1) for part in of_past], -1)
            tokens = tokens + self.covariates(self._cut_patches(both))
        if self.ahead is None:
            return tokens
        spare = self._patches_ahead * self.config.patch_length - self.config.horizon
        ahead: Tensor = self.ahead(self._cut_patches(F.pad(covariates.known[:, lookback:], (0, 0, 0, 0, 0, spare))))
        ahead = ahead.expand(-1, width, -1, -1) if self.variates is None else ahead + self.variates
        return torch.cat([tokens, ahead], 2)

    def _cut_patches(self, rows: Tensor) -> Tensor:
        """Steps `(batch, steps, series, features)` as patches, `(batch, series, patches, steps * features)`."""
        patches: Tensor = rows.transpose(1, 2).unflatten(2, (-1, self.config.patch_length)).flatten(3)
        return patches

    def _forecast(self, window: _Window, tokens: Tensor) -> Tensor:
        """The quantiles, or the forecast alone, `(batch, horizon, variates, numbers)`."""
        patches = self.config.lookback // self.config.patch_length
        tokens, valid = self.norm(tokens), None if window.valid is None else window.valid[..., :patches]
        correction = self.head(tokens[:, :, :patches], valid=valid)
        if self.steps is not None and tokens.shape[2] > patches:
            correction = correction + self.steps(tokens[:, :, patches:]).flatten(2)[..., : correction.shape[2]]
        correction = correction.unflatten(2, (self.config.horizon, -1)).transpose(1, 2)
        if self.quantiles:
            correction = ops.rising_quantiles(correction, self.quantiles)
        centre: Tensor = window.normal.centre if self.floor is None else self.floor(window.filled)
        levels: Tensor = correction * window.normal.scale[..., None] + centre[..., None]
        return levels


register("hot_forecaster", HOTForecaster)
