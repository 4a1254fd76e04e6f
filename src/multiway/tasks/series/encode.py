"""What training learns of its series, and series as the network takes them."""

from typing import Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from multiway.config import Config
from multiway.data.findings import list_some
from multiway.data.samples import Samples
from multiway.data.scaling import Scaler
from multiway.data.sources.series import Sequences, Values
from multiway.errors import DataError
from multiway.tasks.stored import same_length

FARTHEST = 1e6
"""Deviations from the mean beyond which a value is taken as that far, so that float32 can hold what follows."""


class SeriesState(Config):
    """What training learnt of its series."""

    classes: tuple[str, ...] = Field(min_length=2)
    """Names, in the order of the outputs."""
    variates: tuple[str, ...] = Field(min_length=1)
    """Names of the variates."""
    length: int = Field(gt=0)
    """Steps that every series is padded to."""
    scaler: Scaler
    """Mean and deviation of each variate, over the training series."""
    target: None = None
    """Classes have no scale."""
    target_name: str | None = None
    """Column of classes; None where they have none, and in a run that does not say it."""
    num_series: int = Field(gt=0)
    """Those of the training, by which candidates are sized."""

    @model_validator(mode="after")
    def _as_many(self) -> Self:
        same_length({"variates": self.variates, "mean": self.scaler.mean, "std": self.scaler.std})
        return self

    @classmethod
    def fit(cls, samples: Samples[Values]) -> Self:
        """Learn from samples: the training series and no others."""
        steps, variates = samples.inputs.shape[1:]
        scaler = Scaler.fit(samples.inputs.reshape(-1, variates))
        return cls(
            classes=samples.classes or (),
            variates=samples.columns,
            length=steps,
            scaler=scaler,
            target_name=samples.target_name,
            num_series=len(samples),
        )

    def fit_length(self, series: Sequences) -> Sequences:
        """Later series at the length of the training."""
        expected, got = len(self.variates), series.values.shape[2]
        if expected != got:
            raise DataError(
                f"{series.source}: the run was trained on {expected} variates ({list_some(self.variates)}). Got {got} "
                f"({list_some(series.variates)}). Give series with the same variates."
            )
        return series.resize(self.length)

    def encode(self, samples: Samples[Values]) -> Samples[Tensor]:
        """Scaled values `(series, length, variates)` in float32, NaN where missing or padded."""
        values = self.scaler.transform(samples.inputs)
        return samples.with_inputs(torch.from_numpy(np.clip(values, -FARTHEST, FARTHEST).astype(np.float32)))
