"""Class probabilities of volumes, and their scores with intervals over cases."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.volumes import Cases, IntensityScale, Volume, VolumeBatches, shape_transform
from multiway.errors import DataError
from multiway.metrics import classes as metrics
from multiway.metrics.resampling import Metric, intervals
from multiway.tasks.volumes.config import VolumeConfig

Probabilities = NDArray[np.float64]
METRICS = ("auc", "acc", "balanced_accuracy", "sensitivity", "specificity", "ece")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scored:
    """Cases with the probabilities of every model.

    labels: Positions of classes.
    probabilities: By model, `(cases, classes)`.
    """

    names: tuple[str, ...]
    labels: NDArray[np.int64]
    patients: tuple[str, ...] | None
    probabilities: dict[str, Probabilities]


def device_of(model: nn.Module) -> torch.device:
    """Where a model is."""
    tensors = itertools.chain(model.parameters(), model.buffers())
    return next((tensor.device for tensor in tensors), torch.device("cpu"))


def best_device() -> torch.device:
    """Where prediction is fast."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def batches(source: VolumeBatches, size: int) -> Iterator[dict[str, Tensor]]:
    """All samples in order."""
    for index in torch.arange(len(source)).split(size):
        yield source.gather(index)


def evaluated(volumes: Tensor, config: VolumeConfig) -> Tensor:
    """Normalised volumes as a network takes them outside of training."""
    changed: Tensor = shape_transform(volumes, training=False) if config.read.shape_transform else volumes
    return changed


@torch.no_grad()
def probabilities(model: nn.Module, volumes: Tensor, config: VolumeConfig) -> Tensor:
    """Class probabilities `(batch, classes)` float64 of normalised volumes, each of which depends on itself alone."""
    x = evaluated(volumes.to(device_of(model)), config)
    axes = range(2, x.ndim) if config.evaluate_flips else ()
    flips = [chosen for count in range(len(axes) + 1) for chosen in itertools.combinations(axes, count)]
    found = [model(x.flip(chosen) if chosen else x).double().softmax(1) for chosen in flips]
    return torch.stack(found).mean(0).cpu()


def all_probabilities(model: nn.Module, source: VolumeBatches, config: VolumeConfig) -> Probabilities:
    """Class probabilities of every sample of a split."""
    model.eval()
    size = config.training.validation_batch_size or config.training.batch_size
    found = [probabilities(model, batch["volume"], config) for batch in batches(source, size)]
    return np.asarray(torch.cat(found).numpy())


def to_input(volume: Volume, scale: IntensityScale, channels: int, sizes: tuple[int, ...]) -> Tensor:
    """A prepared volume, normalised, `(1, channels, *sizes)`.

    Raises:
        DataError: It is of another size or has other channels than those of the training.
    """
    wanted = (channels, *sizes)
    if volume.values.shape != wanted:
        raise DataError(
            f"{volume.source}: the run was trained on (channels, *sizes) {wanted}. Got {volume.values.shape}. Give "
            f"scans of that size, or train with read.size or read.resample_to, which bring any scan to one size."
        )
    return scale.apply(torch.from_numpy(np.ascontiguousarray(volume.values))[None])


def metrics_at(threshold: float | None) -> dict[str, Metric]:
    """Every metric; AUC and ACC are MedMNIST's, and the three that weigh errors use the threshold if there is one."""
    at = metrics.MIDDLE if threshold is None else threshold
    return {
        "auc": metrics.auc,
        "acc": metrics.accuracy,
        "balanced_accuracy": partial(metrics.balanced_accuracy, threshold=at),
        "sensitivity": partial(metrics.sensitivity, threshold=at),
        "specificity": partial(metrics.specificity, threshold=at),
        "ece": metrics.calibration_error,
    }


def score_rows(scored: Scored, split: str, thresholds: dict[str, float | None], draws: int) -> list[dict[str, Any]]:
    """One row per model and metric: value, and its 95 % interval over cases, or over patients where they are known.

    A value is None where it is undefined. Every model and seed is measured on the same draws.
    """
    rows, units = [], None if scored.patients is None else np.array(scored.patients, dtype=str)
    for model, found in scored.probabilities.items():
        measures = metrics_at(thresholds.get(model))
        bounds = intervals(measures, scored.labels, found, units=units, draws=draws)
        for name, metric in measures.items():
            value = metric(scored.labels, found)
            low, high = bounds[name] or (None, None)
            rows.append({"model": model, "split": split, "metric": name, "value": value, "low": low, "high": high})
    return rows


def prediction_frame(scored: Scored, split: str, classes: Sequence[str]) -> pd.DataFrame:
    """Case, patient, model, split, label, predicted class and the probability of each class."""
    frames = []
    for model, found in scored.probabilities.items():
        frame = pd.DataFrame(
            {
                "case": list(scored.names),
                "patient": list(scored.patients) if scored.patients is not None else [None] * len(scored.names),
                "model": model,
                "split": split,
                "label": [classes[place] for place in scored.labels],
                "predicted": [classes[place] for place in metrics.predicted_classes(found)],
            }
        )
        frames.append(pd.concat([frame, probability_frame(found, classes)], axis=1))
    return pd.concat(frames, ignore_index=True)


def probability_frame(found: Probabilities, classes: Sequence[str]) -> pd.DataFrame:
    """One column `p_CLASS` per class."""
    return pd.DataFrame(found, columns=[f"p_{name}" for name in classes])


def cases_of(cases: Cases, rows: NDArray[np.int64], found: dict[str, Probabilities]) -> Scored:
    """Some cases with what the models made of them."""
    assert cases.labels is not None
    return Scored(
        names=tuple(cases.names[row] for row in rows),
        labels=cases.labels[rows],
        patients=None if cases.patients is None else tuple(cases.patients[row] for row in rows),
        probabilities=found,
    )
