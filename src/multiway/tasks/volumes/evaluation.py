"""Class probabilities of volumes, and their scores with intervals over cases."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.volumes import Cases, PreparedVolumes, Volume, VolumeBatches, shape_transform
from multiway.errors import DataError
from multiway.metrics import resampling
from multiway.tasks.classes import class_metrics, prediction_frame, thresholds_of
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway.tasks.volumes.config import VolumeConfig
from multiway.training import Source
from multiway.training.devices import best_device, device_of

Probabilities = NDArray[np.float64]
SAMPLE = 8
"""Volumes that a compression is measured on."""


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


def batches(source: VolumeBatches, size: int) -> Iterator[dict[str, Tensor]]:
    """All samples in order."""
    for index in torch.arange(len(source)).split(size):
        yield source.gather(index)


def some_volumes(source: Source) -> Tensor:
    """Volumes of a few samples, evenly over all."""
    rows = np.linspace(0, len(source) - 1, min(SAMPLE, len(source))).round().astype(np.int64)
    return source.gather(torch.from_numpy(rows))["volume"]


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
    outputs = [model(x.flip(chosen) if chosen else x).double().softmax(1) for chosen in flips]
    return torch.stack(outputs).mean(0).cpu()


def all_probabilities(model: nn.Module, source: VolumeBatches, config: VolumeConfig) -> Probabilities:
    """Class probabilities of every sample of a split."""
    model.eval()
    size = config.training.validation_batch_size or config.training.batch_size
    outputs = [probabilities(model, batch["volume"], config) for batch in batches(source, size)]
    return np.asarray(torch.cat(outputs).numpy())


def predict_split(run: Run, prepared: PreparedVolumes, split: str) -> Scored:
    """What every model says of the cases of a split."""
    cases, rows = prepared.cases, prepared.rows(split)
    if prepared.store is None:
        outputs = _one_by_one(run, cases, rows)
    else:
        source = prepared.batches(split)
        outputs = {name: all_probabilities(model, source, run.config) for name, model in run.models.items()}
    return Scored(
        names=tuple(cases.names[row] for row in rows),
        labels=prepared.labels[rows],
        patients=None if cases.patients is None else tuple(cases.patients[row] for row in rows),
        probabilities=outputs,
    )


def _one_by_one(run: Run, cases: Cases, rows: NDArray[np.int64]) -> dict[str, Probabilities]:
    """Probabilities of cases that are read one at a time, `(cases, classes)` by model."""
    outputs: dict[str, list[Probabilities]] = {name: [] for name in run.models}
    with contextlib.ExitStack() as moved:
        for model in run.models.values():
            moved.enter_context(best_device(model))
        for row in rows:
            volume = cases.prepared(int(row))
            for name, model in run.models.items():
                outputs[name].append(probabilities_of(run, model, volume))
    return {name: np.stack(each) for name, each in outputs.items()}


def probabilities_of(run: Run, model: nn.Module, volume: Volume) -> Probabilities:
    """Class probabilities of one prepared volume, `(classes,)`.

    Raises:
        DataError: It is of another size than the training's, or the network gives no finite number.
    """
    output = np.asarray(probabilities(model.eval(), run.state.normalised(volume), run.config)[0].numpy())
    if not np.isfinite(output).all():
        raise DataError(f"{volume.source}: the network gives no finite number. Look at the scan's intensities.")
    return output


def score_rows(run: Run, scored: Scored, split: str) -> list[Row]:
    """One row per model and metric: value, and its 95 % interval over cases, or over patients where they are known.

    A value is None where it is undefined. Every model and seed is measured on the same draws.
    """
    units = None if scored.patients is None else np.array(scored.patients, dtype=str)
    rows: list[Row] = []
    for model, threshold in thresholds_of(run.calibration, list(run.models)).items():
        found = resampling.score_rows(
            class_metrics(threshold), scored.labels, scored.probabilities[model], units=units, draws=run.config.draws
        )
        rows += [{"model": model, "split": split, **row} for row in found]
    return rows


def table_of(run: Run, scored: Scored, split: str) -> pd.DataFrame:
    """Case, patient, model, split, label, predicted class and the probability of each class."""
    cases = {"case": scored.names, "patient": scored.patients or (None,) * len(scored.names)}
    return prediction_frame(cases, scored.labels, scored.probabilities, split, run.state.classes)
