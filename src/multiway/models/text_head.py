"""The classification heads of NdLinear's table 3, on the vector of a text."""

import math
from typing import Any, Self

from pydantic import Field, model_validator
from torch import Tensor
from torch import nn as torch_nn
from torch.nn import functional as F

from multiway import nn
from multiway.config import Config
from multiway.errors import ShapeError
from multiway.models.blocks import ACTIVATIONS, Activation
from multiway.models.choices import PER_AXIS, LayerName, build_layer, check_rank
from multiway.models.registry import register


class TextHeadConfig(Config):
    """Everything needed to rebuild a `TextHead`; saved inside each run."""

    in_features: int = Field(gt=0)
    """Features of a vector."""
    num_classes: int = Field(gt=1)
    layer: LayerName = "nd_linear"
    """What the first map is."""
    columns: int = Field(8, gt=0)
    """Features are taken as rows of so many where the layer is one of axes."""
    hidden: tuple[int, ...] | None = Field(None, min_length=1)
    """Axes between the two maps: (16, 16) for layers of axes, else (64,), if not given."""
    rank: int | None = Field(None, gt=0)
    """Of a tensor train or a bottleneck."""
    pooled: int | None = Field(None, gt=0)
    """Means of so many stretches of neighbouring features in place of the features: a dense head of few parameters."""
    activation: Activation | None = "gelu"
    """Between the two maps; the published heads have none."""
    dropout: float = Field(0.1, ge=0.0, lt=1.0)
    """Share of the features dropped in training."""

    @classmethod
    def published(cls) -> dict[str, Any]:
        """Fields of the published head: 222 parameters on 768 features."""
        return {"hidden": (2, 2), "activation": None}

    @classmethod
    def dense(cls) -> dict[str, Any]:
        """Fields of the published baseline: 1,544 parameters on 768 features."""
        return {"layer": "linear", "hidden": (2,), "activation": None}

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        check_rank(self.layer, self.rank)
        if self.layer in PER_AXIS and self.features % self.columns:
            raise ValueError(f"columns must divide the {self.features} features. Got {self.columns}")
        if len(self.between) != len(self.sizes):
            raise ValueError(f"hidden needs {len(self.sizes)} sizes with {self.layer}. Got {self.hidden}")
        return self

    @property
    def features(self) -> int:
        """Of a vector, or means of them."""
        return self.pooled or self.in_features

    @property
    def sizes(self) -> tuple[int, ...]:
        """Axes that a vector is taken as."""
        return (self.features // self.columns, self.columns) if self.layer in PER_AXIS else (self.features,)

    @property
    def between(self) -> tuple[int, ...]:
        """Axes between the two maps."""
        return self.hidden or ((16, 16) if self.layer in PER_AXIS else (64,))


class TextHead(torch_nn.Module):
    r"""Two maps of a text's vector, the first of which can be of another kind than dense.

    $$y = W \operatorname{vec}(\sigma(\mathrm{Layer}(v))) + b$$

    NdLinear, section 4.1.2: (96, 8) -> (2, 2) on BERT's 768 features, then a dense map of 4, has 222 parameters; the
    dense 768 -> 2 -> 2 has 1,544.

    Differs from the paper: the usual head is wider, as four numbers cannot carry many classes, and has an activation.
    The paper names none and its public code has none; `text_head_published` and `text_head_dense` are its heads.

    Shape:
        Input `(*, in_features)`; output `(*, num_classes)`.
    """

    def __init__(self, config: TextHeadConfig) -> None:
        super().__init__()
        self.config = config
        self.dropout = nn.Dropout(config.dropout)
        self.layer = build_layer(config.layer, config.sizes, config.between, rank=config.rank)
        self.output = torch_nn.Linear(math.prod(config.between), config.num_classes)

    def forward(self, vectors: Tensor) -> Tensor:
        """Logits of the classes."""
        config = self.config
        if vectors.ndim < 1 or vectors.shape[-1] != config.in_features:
            raise ShapeError(
                f"TextHead: the last axis must be the {config.in_features} features of a text. "
                f"Got {tuple(vectors.shape)}. Leading axes are free."
            )
        lead = vectors.shape[:-1]
        if config.pooled is not None:  # means of so many stretches
            vectors = F.adaptive_avg_pool1d(vectors.reshape(-1, 1, vectors.shape[-1]), config.pooled)
        hidden = self.layer(self.dropout(vectors).reshape(*lead, *config.sizes)).reshape(*lead, -1)
        hidden = hidden if config.activation is None else ACTIVATIONS[config.activation](hidden)
        out: Tensor = self.output(hidden)
        return out


register("text_head", TextHead)
register("text_head_published", TextHead, **TextHeadConfig.published())
register("text_head_dense", TextHead, **TextHeadConfig.dense())
