"""Table 4's Transformer forecaster: steps as tokens, feed-forwards as a choice, a linear head."""

from typing import Literal, Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway.config import Config
from multiway.models.blocks import Activation
from multiway.models.choices import AttentionConfig
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from multiway.models.windows import check_windows, num_seen, seen_past


class TransformerForecasterConfig(Config):
    """Sizes of a `TransformerForecaster`; the 2,016 parameters that table 4's NdTransformer uses if not given."""

    num_variates: int = Field(gt=0)
    """Series in a window."""
    num_targets: int | None = Field(None, gt=0)
    """The last so many are forecast and not seen; every series is both if not given."""
    lookback: int = Field(24, gt=0)
    """Past time steps the model sees."""
    horizon: int = Field(12, gt=0)
    """Future time steps it forecasts."""
    dim: int = Field(16, gt=0)
    """Features of a token."""
    num_blocks: int = Field(1, gt=0)
    num_heads: int = Field(2, gt=0)
    feed_forward: FeedForwardConfig = FeedForwardConfig(layer="nd_linear", sizes=(16, 1), hidden=(16, 1))
    """Both maps between attention and the next block."""
    attention: AttentionConfig | None = None
    """Another attention over steps than the usual one, such as a tensorized graph attention."""
    pooling: Literal["mean", "last"] = "mean"
    """What the head reads: the mean of all tokens, or that of the last step."""
    activation: Activation = "gelu"
    dropout: float = Field(0.1, ge=0.0, lt=1.0)

    @classmethod
    def dense(cls) -> dict[str, object]:
        """Fields of the dense Transformer of table 4, 138,124 parameters."""
        return {"dim": 32, "feed_forward": {"layer": "linear", "hidden": (2048,)}}

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        self.feed_forward.sizes_of(self.dim)
        if self.dim % self.num_heads:
            raise ValueError(f"num_heads must divide dim. Got num_heads={self.num_heads}, dim={self.dim}")
        if self.num_targets is not None and self.num_targets >= self.num_variates:
            raise ValueError(f"num_targets must leave a series to see. Got {self.num_targets} of {self.num_variates}")
        return self


class TransformerForecaster(torch_nn.Module):
    """Steps are tokens without a mark of their place: what the count of table 4 leaves room for.

    NdLinear, section 4.1.3 and table 4, without the unused `linear1` and `linear2` that the printed 69,616 count.

    Shape:
        past `(batch, lookback, variates)`; past_observed the same, boolean; forecast `(batch, horizon, targets)`.
    """

    def __init__(self, config: TransformerForecasterConfig) -> None:
        super().__init__()
        self.config = config
        choice = BlockChoice(
            num_heads=config.num_heads, feed_forward=config.feed_forward, activation=config.activation,
            dropout=config.dropout, attention=config.attention,
        )  # fmt: skip
        self.embedding = torch_nn.Linear(num_seen(config.num_variates, config.num_targets), config.dim)
        self.blocks = torch_nn.Sequential(*(TransformerBlock(config.dim, choice) for _ in range(config.num_blocks)))
        self.head = torch_nn.Linear(config.dim, config.horizon * (config.num_targets or config.num_variates))

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        check_windows("TransformerForecaster", past, past_observed, (self.config.lookback, self.config.num_variates))
        tokens = self.blocks(self.embedding(seen_past(past, past_observed, self.config.num_targets)))
        read = tokens[:, -1] if self.config.pooling == "last" else tokens.mean(1)
        out = self.head(read)
        forecast: Tensor = out.unflatten(1, (self.config.horizon, -1))
        return forecast
