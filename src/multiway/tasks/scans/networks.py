"""How networks and baselines on scans are built and fitted, and what they say of a volume or of an image."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.augmentation import augment, shape_transform
from multiway.data.samples import Samples
from multiway.data.sources.scans.volume import Array, Volume
from multiway.errors import DataError
from multiway.metrics.classes import auc
from multiway.models import sliding_window
from multiway.models.baselines import OnVolumeFeatures, PooledLogistic, rows_of
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Lesson
from multiway.tasks.scans.config import SegmentConfig, VolumeConfig
from multiway.tasks.scans.encode import Stored
from multiway.tasks.scans.scores import Predictor
from multiway.tasks.targets import whole_logits
from multiway.training import Batch
from multiway.training.losses import class_loss, segmentation_loss
from multiway.training.processes import device_of

Probabilities = NDArray[np.float64]
POOLED = 32
"""Volumes whose features are computed at once."""


class VolumeLoss:
    """Cross-entropy of a batch of volumes; varied at random in training, plain and unweighted outside of it."""

    def __init__(self, config: VolumeConfig, weights: Tensor | None = None, smoothing: float = 0.0) -> None:
        self.config, self.weights, self.smoothing = config, weights, smoothing

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the cases, and their number or weight."""
        x, labels = batch["inputs"], batch["target"]
        if not model.training:
            return class_loss(model(as_evaluated(x, self.config)), labels)
        x = augment(x, self.config.augment)
        if self.config.read.shape_transform:
            x = shape_transform(x, training=True)
        return class_loss(model(x), labels, self.weights, self.smoothing)


def as_evaluated(volumes: Tensor, config: VolumeConfig) -> Tensor:
    """Normalised volumes as a network takes them outside of training."""
    return shape_transform(volumes, training=False) if config.read.shape_transform else volumes


def feature_rows(model: PooledLogistic | OnVolumeFeatures[Any], part: Lesson) -> tuple[Tensor, Tensor]:
    """Features and classes of a split, its volumes as outside of training."""
    batches = part.samples.batches(POOLED)
    return rows_of(model, ({**batch, "inputs": as_evaluated(batch["inputs"], part.run.config)} for batch in batches))


@torch.no_grad()
def scan_probabilities(model: nn.Module, volumes: Tensor, config: VolumeConfig) -> Tensor:
    """Class probabilities `(batch, classes)` float64 of normalised volumes, each of which depends on itself alone."""
    x = as_evaluated(volumes.to(device_of(model)), config)
    axes = range(2, x.ndim) if config.evaluate_flips else ()
    flips = [chosen for count in range(len(axes) + 1) for chosen in itertools.combinations(axes, count)]
    outputs = [whole_logits(model(x.flip(chosen) if chosen else x)).double().softmax(1) for chosen in flips]
    return torch.stack(outputs).mean(0).cpu()


def all_probabilities(model: nn.Module, source: Samples[Stored], config: VolumeConfig) -> Probabilities:
    """Class probabilities of every sample of a split."""
    model.eval()
    size = config.training.validation_batch_size or config.training.batch_size
    outputs = [scan_probabilities(model, batch["inputs"], config) for batch in source.batches(size)]
    return np.asarray(torch.cat(outputs).numpy())


def probabilities_of(run: Run, model: nn.Module, volume: Volume) -> Probabilities:
    """Class probabilities of one prepared volume, `(classes,)`."""
    output = np.asarray(scan_probabilities(model.eval(), run.state.normalise(volume), run.config)[0].numpy())
    if not np.isfinite(output).all():
        raise DataError(f"{volume.source}: the network gives no finite number. Look at the scan's intensities.")
    return output


def auc_score(
    validation: Samples[Stored], num_classes: int, config: VolumeConfig
) -> Callable[[nn.Module], float] | None:
    """Validation's AUC of a model, without reflections; None where validation lacks a class."""
    plain = config.replace(evaluate_flips=False)
    if len(np.unique(validation.truth)) < num_classes:
        return None

    def score(model: nn.Module) -> float:
        outputs = all_probabilities(model, validation, plain)
        value = auc(validation.truth, outputs) if np.isfinite(outputs).all() else None
        return float("nan") if value is None else value

    return score


class PatchLoss:
    """Loss of a segmenter on a batch of patches; a large batch goes through the model in parts.

    `background` is whether class 0 is.
    """

    def __init__(self, config: SegmentConfig, background: bool) -> None:
        self.config, self.background = config, background

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over patches, and their number."""
        config, weights, parts = self.config, self.config.class_weights, []
        size = config.training.batch_size
        for volumes, masks in zip(*(batch[name].split(size) for name in ("inputs", "target")), strict=True):
            part = segmentation_loss(
                model(volumes),
                masks,
                background=self.background,
                dice_weight=config.dice_weight,
                cl_dice_weight=config.cl_dice_weight,
                class_weights=None if weights is None else torch.tensor(weights, device=volumes.device),
            )
            parts.append(part)
        total, count = (torch.stack(values).sum() for values in zip(*parts, strict=True))
        return total, count


def predictor_of(run: Run, name: str) -> Predictor:
    """A model of a run."""
    model: Any = run.models[name]
    if hasattr(model, "predict"):
        return functools.partial(model.predict, scale=run.state.scale)
    return network_predictor(run, model)


def network_predictor(run: Run, model: nn.Module) -> Predictor:
    """A network over overlapping windows, whose class probabilities are blended."""
    config, state, device = run.config, run.state, next(model.parameters()).device

    def predict(values: Array) -> NDArray[np.int64]:
        image = state.scale.apply_to(values).to(device)
        shares = sliding_window(
            lambda batch: model(batch).float().softmax(1),
            image,
            state.patch,
            config.overlap,
            config.training.batch_size,
        )
        return np.asarray(shares.cpu().argmax(0))

    model.eval()
    return predict
