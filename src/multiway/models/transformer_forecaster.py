"""Table 4's Transformer forecaster: steps as tokens, feed-forwards as a choice, a linear head."""

from typing import Literal, Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway.models.blocks import Activation
from multiway.models.choices import AttentionConfig
from multiway.models.registry import register
from multiway.models.transformer import BlockChoice, FeedForwardConfig, TransformerBlock
from multiway.models.windows import TargetSizes, check_windows, past_as_seen


class TransformerForecasterConfig(TargetSizes):
    """Sizes of a `TransformerForecaster`; the 2,016 parameters that table 4's NdTransformer uses if not given."""

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
            num_heads=config.num_heads,
            feed_forward=config.feed_forward,
            activation=config.activation,
            dropout=config.dropout,
            attention=config.attention,
        )
        self.embedding = torch_nn.Linear(config.num_seen, config.dim)
        self.blocks = torch_nn.Sequential(*(TransformerBlock(config.dim, choice) for _ in range(config.num_blocks)))
        self.head = torch_nn.Linear(config.dim, config.num_outputs)

    def forward(self, past: Tensor, past_observed: Tensor | None = None) -> Tensor:
        """Forecast the steps after each window."""
        check_windows("TransformerForecaster", past, past_observed, self.config)
        tokens = self.blocks(self.embedding(past_as_seen(past, past_observed, self.config.num_targets)))
        read = tokens[:, -1] if self.config.pooling == "last" else tokens.mean(1)
        out = self.head(read)
        forecast: Tensor = out.unflatten(1, (self.config.horizon, -1))
        return forecast


register("transformer_forecaster", TransformerForecaster)
register("transformer_forecaster_dense", TransformerForecaster, **TransformerForecasterConfig.dense())
