"""The multilayer perceptron of NdLinear's experiments on tables (section 4.2.1, table 5)."""

import itertools
import math
from typing import Any, Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn

from multiway import nn
from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.blocks import ACTIVATIONS, Activation
from multiway.models.choices import Flattened, LayerName, build_layer, check_rank
from multiway.models.registry import register


class TabularMLPConfig(Config):
    """Everything needed to rebuild a `TabularMLP`; saved inside each run."""

    in_features: int = Field(gt=0)
    """Inputs of a row."""
    num_outputs: int = Field(gt=0)
    """Classes, or 1 for a number."""
    layer: LayerName = "nd_linear"
    """Dense layers, `NdLinear` or tensor trains on rows of inputs × features, or dense layers through a bottleneck."""
    rank: int | None = Field(None, ge=1)
    """Of tensor_train and low_rank."""
    hidden: tuple[int, ...] = Field((64, 64), min_length=1)
    """Features of each hidden layer; with nd_linear and tensor_train, of its second mode."""
    rows: int | None = Field(None, gt=0)
    """Size of the first mode of hidden layers, of nd_linear and tensor_train; as many as inputs if not given."""
    activation: Activation = "relu"
    dropout: float = Field(0.0, ge=0.0, lt=1.0)
    """Share of hidden features dropped in training."""

    @classmethod
    def dense(cls) -> dict[str, Any]:
        """Fields of the published baseline: two layers of 128, 18,306 parameters on Cardio and 18,561 on Delivery."""
        return {"layer": "linear", "hidden": (128, 128)}

    @model_validator(mode="after")
    def _layer_has_its_rank(self) -> Self:
        check_rank(self.layer, self.rank)
        return self

    def sizes(self) -> list[tuple[int, ...]]:
        """Size of a row, without its batch, before and after each hidden layer."""
        if self.layer in ("linear", "low_rank"):
            return [(self.in_features,), *((width,) for width in self.hidden)]
        rows = self.rows or self.in_features
        return [(self.in_features, 1), *((rows, width) for width in self.hidden)]


class TabularMLP(torch_nn.Module):
    r"""Hidden layers with an activation each, and a linear head on what the last one gives, flattened.

    $$h_0 = x, \qquad h_l = \sigma(\mathrm{Layer}_l(h_{l-1})), \qquad y = W \operatorname{vec}(h_L) + b$$

    NdLinear, section 4.2.1. With `nd_linear` and `tensor_train`, x is taken as (inputs, 1) and hidden layers are
    (rows, features).

    Differs from the paper: it prints parameter counts and no sizes. These defaults give its 5,962 parameters on Cardio
    (11 inputs, 2 classes), and with 32 rows its 7,873 on Delivery (14 inputs); other sizes may too. Its activation is
    not stated. Layers keep the variance (`nn.NdLinear`).

    Shape:
        Input `(*, in_features)` with any leading axes; output `(*, num_outputs)`.
    """

    def __init__(self, config: TabularMLPConfig) -> None:
        super().__init__()
        self.config = config
        sizes = config.sizes()
        self.layers = torch_nn.ModuleList(_layer(config, *pair) for pair in itertools.pairwise(sizes))
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = nn.Dropout(config.dropout) if config.dropout else torch_nn.Identity()
        self.head = torch_nn.Linear(math.prod(sizes[-1]), config.num_outputs)

    def reset_parameters(self) -> None:
        """Draw every layer anew, each by its own rule."""
        for layer in (*self.layers, self.head):
            drawn: Any = layer.layer if isinstance(layer, Flattened) else layer
            drawn.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """Logits of classes, or the number."""
        if x.ndim < 1 or x.shape[-1] != self.config.in_features:
            raise ShapeError(
                f"TabularMLP: the last axis of x must be the {self.config.in_features} inputs of a row. "
                f"Got {tuple(x.shape)}. Leading axes are free."
            )
        lead = x.shape[:-1]
        hidden = x.reshape(*lead, *self.config.sizes()[0])
        for layer in self.layers:
            hidden = self.dropout(self.activation(layer(hidden)))
        out: Tensor = self.head(hidden.reshape(*lead, -1))
        return out


def _layer(config: TabularMLPConfig, before: tuple[int, ...], after: tuple[int, ...]) -> torch_nn.Module:
    if config.layer == "linear":
        return torch_nn.Linear(before[0], after[0])
    return build_layer(config.layer, before, after, rank=config.rank)


register("tabular_mlp", TabularMLP)
register("tabular_mlp_dense", TabularMLP, **TabularMLPConfig.dense())
