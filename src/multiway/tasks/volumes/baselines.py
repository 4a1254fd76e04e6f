"""Features of volumes for their logistic regression."""

import torch
from torch import Tensor

from multiway.data.volumes import VolumeBatches
from multiway.models.baselines import Facts, fit_logistic
from multiway.models.pooled_logistic import PooledLogistic
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.evaluation import batches, evaluated

BATCH = 32


def fit_pooled(
    model: PooledLogistic, training: VolumeBatches, validation: VolumeBatches, config: VolumeConfig
) -> Facts:
    """See `fit_logistic`."""
    return fit_logistic(model, *_read(model, training, config), *_read(model, validation, config))


def _read(model: PooledLogistic, source: VolumeBatches, config: VolumeConfig) -> tuple[Tensor, Tensor]:
    """Features and labels of a split."""
    parts = list(batches(source, BATCH))
    features = [model.features(evaluated(batch["volume"], config)) for batch in parts]
    return torch.cat(features), torch.cat([batch["label"] for batch in parts])
