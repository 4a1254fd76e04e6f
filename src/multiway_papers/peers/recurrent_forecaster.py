"""Table 4's recurrent forecaster: a recurrent layer, a map of its last state as a choice, and a linear head."""

import math
from typing import Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.errors import ConfigError
from multiway.models.choices import LayerName, build_layer, check_rank
from multiway.models.windows import TargetSizes, check_windows, past_as_seen


class RecurrentForecasterConfig(TargetSizes):
    """Sizes of a `RecurrentForecaster`; the 9,550 parameters of table 4's NdRNN if not given."""

    step_sizes: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes that the series of a step are taken as, for a mode-wise cell (`nn.NdRNN`); a dense cell if not given."""
    hidden_sizes: tuple[int, ...] = Field((64, 1), min_length=1)
    """Axes of the hidden state; a dense cell has as many features as they hold."""
    layer: LayerName = "nd_linear"
    """The map of the last state."""
    rank: int | None = Field(None, gt=0)
    """Of a tensor train or a bottleneck."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        check_rank(self.layer, self.rank)
        if self.step_sizes is not None and len(self.step_sizes) != len(self.hidden_sizes):
            raise ValueError(
                f"step_sizes and hidden_sizes need as many axes. Got {self.step_sizes}, {self.hidden_sizes}"
            )
        return self


class RecurrentForecaster(torch_nn.Module):
    """Read the last state of a recurrent layer: forecast = W relu(layer(H_T)) + b.

    NdLinear, section 4.1.3 and table 4. The activation between the two maps is ours: without one they are one.

    Raises:
        ConfigError: `step_sizes` do not hold the series that are seen.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, targets)`.
    """

    def __init__(self, config: RecurrentForecasterConfig) -> None:
        super().__init__()
        self.config = config
        width = math.prod(config.hidden_sizes)
        self.cell: torch_nn.Module
        if config.step_sizes is None:
            self.cell = torch_nn.RNN(config.num_seen, width, batch_first=True)
        elif math.prod(config.step_sizes) == config.num_seen:
            self.cell = nn.NdRNN(config.step_sizes, config.hidden_sizes)
        else:
            seen = f"RecurrentForecaster: step_sizes must multiply to the series seen, {config.num_seen}"
            raise ConfigError(f"{seen}. Got {config.step_sizes}.")
        self.layer = build_layer(config.layer, config.hidden_sizes, config.hidden_sizes, rank=config.rank)
        self.head = torch_nn.Linear(width, config.num_outputs)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        check_windows("RecurrentForecaster", past, past_observed, self.config)
        steps = past_as_seen(past, past_observed, self.config.num_targets)
        sizes = self.config.step_sizes
        states = self.cell(steps if sizes is None else steps.unflatten(-1, sizes))[0]
        last = states[:, -1].reshape(len(past), *self.config.hidden_sizes)
        out = self.head(F.relu(self.layer(last)).flatten(1))
        forecast: Tensor = out.unflatten(1, (self.config.horizon, -1))
        return forecast
