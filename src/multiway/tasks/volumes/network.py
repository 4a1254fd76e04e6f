"""How classifiers of volumes are built and fitted, and what they say of normalised volumes."""

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.augmentation import augment, shape_transform
from multiway.data.samples import Samples
from multiway.data.sources.scans.volume import Volume
from multiway.errors import DataError
from multiway.metrics.classes import auc
from multiway.models import create_model
from multiway.models.baselines import pooled_baseline
from multiway.tasks.options import Sizes
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.volumes.encode import NETWORKS, Stored, VolumeConfig, VolumeState
from multiway.training import Batch
from multiway.training.losses import class_loss
from multiway.training.processes import device_of

Probabilities = NDArray[np.float64]
POOLED = 32
"""Volumes whose blocks are averaged at once, for the logistic regression."""


class VolumeLoss:
    """Cross-entropy of a batch of volumes; varied at random in training, plain and unweighted outside of it."""

    def __init__(self, config: VolumeConfig, weights: Tensor | None = None, smoothing: float = 0.0) -> None:
        self.config, self.weights, self.smoothing = config, weights, smoothing

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the cases, and their number or weight."""
        x, labels = batch["inputs"], batch["target"]
        if not model.training:
            return class_loss(model(evaluated(x, self.config)), labels)
        x = augment(x, self.config.augment)
        if self.config.read.shape_transform:
            x = shape_transform(x, training=True)
        return class_loss(model(x), labels, self.weights, self.smoothing)


def build_model(config: VolumeConfig, state: VolumeState, name: str) -> nn.Module:
    """Draw the network, or a baseline, by its name in a run."""
    num_classes = len(state.classes)
    if name in ("majority", "logistic"):
        return pooled_baseline(name, state.sizes, state.channels, num_classes)
    sizes: dict[str, Sizes] = {"sizes": state.sizes, "in_channels": state.channels, "num_classes": num_classes}
    return config.network(**sizes) if name == NETWORK else create_model(NETWORKS[name], **sizes)


def evaluated_batches(source: Samples[Stored], config: VolumeConfig) -> Iterator[dict[str, Tensor]]:
    """Some volumes at once, as outside of training."""
    return ({**batch, "inputs": evaluated(batch["inputs"], config)} for batch in source.batches(POOLED))


def auc_of(validation: Samples[Stored], num_classes: int, config: VolumeConfig) -> Callable[[nn.Module], float] | None:
    """Validation's AUC of a model, without reflections; None where validation lacks a class."""
    plain = config.replace(evaluate_flips=False)
    if len(np.unique(validation.truth)) < num_classes:
        return None

    def score(model: nn.Module) -> float:
        outputs = all_probabilities(model, validation, plain)
        value = auc(validation.truth, outputs) if np.isfinite(outputs).all() else None
        return float("nan") if value is None else value

    return score


def evaluated(volumes: Tensor, config: VolumeConfig) -> Tensor:
    """Normalised volumes as a network takes them outside of training."""
    return shape_transform(volumes, training=False) if config.read.shape_transform else volumes


@torch.no_grad()
def scan_probabilities(model: nn.Module, volumes: Tensor, config: VolumeConfig) -> Tensor:
    """Class probabilities `(batch, classes)` float64 of normalised volumes, each of which depends on itself alone."""
    x = evaluated(volumes.to(device_of(model)), config)
    axes = range(2, x.ndim) if config.evaluate_flips else ()
    flips = [chosen for count in range(len(axes) + 1) for chosen in itertools.combinations(axes, count)]
    outputs = [model(x.flip(chosen) if chosen else x).double().softmax(1) for chosen in flips]
    return torch.stack(outputs).mean(0).cpu()


def all_probabilities(model: nn.Module, source: Samples[Stored], config: VolumeConfig) -> Probabilities:
    """Class probabilities of every sample of a split."""
    model.eval()
    size = config.training.validation_batch_size or config.training.batch_size
    outputs = [scan_probabilities(model, batch["inputs"], config) for batch in source.batches(size)]
    return np.asarray(torch.cat(outputs).numpy())


def probabilities_of(run: Run, model: nn.Module, volume: Volume) -> Probabilities:
    """Class probabilities of one prepared volume, `(classes,)`."""
    output = np.asarray(scan_probabilities(model.eval(), run.state.normalised(volume), run.config)[0].numpy())
    if not np.isfinite(output).all():
        raise DataError(f"{volume.source}: the network gives no finite number. Look at the scan's intensities.")
    return output
