"""Logistic regression on pooled voxels."""

import torch
from torch import Tensor
from torch.nn import functional as F

from multiway.data.volumes import VolumeBatches
from multiway.models.baselines import Facts, Linear, fit_logistic
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.evaluation import batches, evaluated

POOLED = 7
"""Means per axis, at most."""
BATCH = 32


class PooledLogistic(Linear):
    """Multinomial logistic regression on the means of at most 7 x 7 x 7 blocks of each channel, standardised."""

    def __init__(self, sizes: tuple[int, ...], channels: int, num_classes: int) -> None:
        depth, height, width = (min(size, POOLED) for size in sizes)
        super().__init__(channels * depth * height * width, num_classes)
        self.pooled = (depth, height, width)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of volumes."""
        return super().forward(self.features(x))

    def features(self, x: Tensor) -> Tensor:
        """Means of blocks, `(batch, features)`."""
        return F.adaptive_avg_pool3d(x, self.pooled).flatten(1)

    def fit(self, training: VolumeBatches, validation: VolumeBatches, config: VolumeConfig) -> Facts:
        """See `fit_logistic`."""
        return fit_logistic(self, *self._read(training, config), *self._read(validation, config))

    def _read(self, source: VolumeBatches, config: VolumeConfig) -> tuple[Tensor, Tensor]:
        """Features and labels of a split."""
        parts = list(batches(source, BATCH))
        features = [self.features(evaluated(batch["volume"], config)) for batch in parts]
        return torch.cat(features), torch.cat([batch["label"] for batch in parts])
