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
from multiway.models.baselines import OnVolumeFeatures, PooledLinear, fit_linear, rows_of
from multiway.tasks.declarations import Fitted
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Lesson, Pooled
from multiway.tasks.scans.config import SegmentConfig, VolumeConfig
from multiway.tasks.scans.encode import Stored, VolumeState
from multiway.tasks.scans.scores import Predictor
from multiway.tasks.targets import decode_outputs
from multiway.training import Batch, Objective
from multiway.training.losses import segmentation_loss
from multiway.training.processes import device_of

Outputs = NDArray[np.float64]
POOLED = 32
"""Volumes whose features are computed at once."""


class VolumeLoss:
    """The loss of a batch of volumes, which are varied at random in training."""

    def __init__(self, config: VolumeConfig, loss: Objective) -> None:
        self.config, self.loss = config, loss

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the cases, and their number or weight."""
        x = batch["inputs"]
        if not model.training:
            return self.loss(model, {**batch, "inputs": as_evaluated(x, self.config)})
        x = augment(x, self.config.augment)
        if self.config.read.shape_transform:
            x = shape_transform(x, training=True)
        return self.loss(model, {**batch, "inputs": x})


def as_evaluated(volumes: Tensor, config: VolumeConfig) -> Tensor:
    """Normalised volumes as a network takes them outside of training."""
    return shape_transform(volumes, training=False) if config.read.shape_transform else volumes


def feature_rows(model: PooledLinear | OnVolumeFeatures[Any], part: Lesson) -> tuple[Tensor, Tensor]:
    """Features and targets of a split, its volumes as outside of training."""
    batches = part.samples.batches(POOLED)
    return rows_of(model, ({**batch, "inputs": as_evaluated(batch["inputs"], part.run.config)} for batch in batches))


class PooledVoxels(Pooled):
    """A linear map of means of blocks of voxels."""

    def fit(self, model: PooledLinear, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        rows, held = (feature_rows(model, part) for part in (training, validation))
        return fit_linear(model, *rows, *held, training.penalties())


@torch.no_grad()
def scan_outputs(model: nn.Module, volumes: Tensor, config: VolumeConfig, state: VolumeState) -> Outputs:
    """Class probabilities `(batch, classes)`, or numbers `(batch,)`, of normalised volumes, each by itself alone."""
    x = as_evaluated(volumes.to(device_of(model)), config)
    axes = range(2, x.ndim) if config.evaluate_flips else ()
    flips = [chosen for count in range(len(axes) + 1) for chosen in itertools.combinations(axes, count)]
    outputs = [decode_outputs(model(x.flip(chosen) if chosen else x).double().cpu(), state) for chosen in flips]
    return np.asarray(np.mean(outputs, axis=0))


def all_outputs(model: nn.Module, source: Samples[Stored], config: VolumeConfig, state: VolumeState) -> Outputs:
    """The same of every sample of a split."""
    model.eval()
    size = config.training.validation_batch_size or config.training.batch_size
    outputs = [scan_outputs(model, batch["inputs"], config, state) for batch in source.batches(size)]
    return np.concatenate(outputs)


def output_of(run: Run, model: nn.Module, volume: Volume) -> Outputs:
    """Class probabilities of one prepared volume, `(classes,)`, or its number."""
    output = np.asarray(scan_outputs(model.eval(), run.state.normalise(volume), run.config, run.state)[0])
    if not np.isfinite(output).all():
        raise DataError(f"{volume.source}: the network gives no finite number. Look at the scan's intensities.")
    return output


def auc_score(run: Run, validation: Samples[Stored]) -> Callable[[nn.Module], float] | None:
    """Validation's AUC of a model, without reflections; None where it has none of a class."""
    plain, classes = run.config.replace(evaluate_flips=False), run.state.classes
    if classes is None or run.state.several or len(np.unique(validation.truth)) < len(classes):
        return None

    def score(model: nn.Module) -> float:
        outputs = all_outputs(model, validation, plain, run.state)
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
