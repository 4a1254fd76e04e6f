"""Class probabilities of volumes, and their scores with intervals over cases."""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.volumes import Cases, IntensityScale, Volume, VolumeBatches, shape_transform
from multiway.errors import DataError
from multiway.metrics import resampling
from multiway.tasks import classes as class_kit
from multiway.tasks.devices import best_device, device_of
from multiway.tasks.protocol import Row
from multiway.tasks.volumes.config import VolumeConfig
from multiway.tasks.volumes.prepared import Prepared, VolumeState

Probabilities = NDArray[np.float64]


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


def predict_split(
    models: Mapping[str, nn.Module], prepared: Prepared, config: VolumeConfig, state: VolumeState, split: str
) -> Scored:
    """What every model says of the cases of a split."""
    rows = prepared.rows(split)
    if prepared.store is None:
        return _cases_of(prepared.cases, rows, one_by_one(models, prepared.cases, rows, config, state))
    source = prepared.batches(split)
    outputs = {name: all_probabilities(model, source, config) for name, model in models.items()}
    return _cases_of(prepared.cases, rows, outputs)


def one_by_one(
    models: Mapping[str, nn.Module], cases: Cases, rows: Sequence[int] | NDArray[np.int64], config: VolumeConfig,
    state: VolumeState,
) -> dict[str, Probabilities]:  # fmt: skip
    """Probabilities of cases that are read one at a time, `(cases, classes)` by model."""
    outputs: dict[str, list[Probabilities]] = {name: [] for name in models}
    with contextlib.ExitStack() as moved:
        for model in models.values():
            moved.enter_context(best_device(model))
        for row in rows:
            volume = cases.prepared(int(row))
            for name, model in models.items():
                outputs[name].append(probabilities_of(model, volume, config, state))
    return {name: np.stack(each) for name, each in outputs.items()}


def probabilities_of(model: nn.Module, volume: Volume, config: VolumeConfig, state: VolumeState) -> Probabilities:
    """Class probabilities of one prepared volume, `(classes,)`.

    Raises:
        DataError: It is of another size than the training's, or the network gives no finite number.
    """
    x = to_input(volume, state.scale, state.channels, state.sizes)
    output = np.asarray(probabilities(model.eval(), x, config)[0].numpy())
    if not np.isfinite(output).all():
        raise DataError(f"{volume.source}: the network gives no finite number. Look at the scan's intensities.")
    return output


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


def score_rows(scored: Scored, split: str, thresholds: Mapping[str, float | None], draws: int) -> list[Row]:
    """One row per model and metric: value, and its 95 % interval over cases, or over patients where they are known.

    A value is None where it is undefined. Every model and seed is measured on the same draws.
    """
    units = None if scored.patients is None else np.array(scored.patients, dtype=str)
    return [
        {"model": model, "split": split, **row}
        for model, outputs in scored.probabilities.items()
        for row in resampling.score_rows(
            class_kit.class_metrics(thresholds.get(model)), scored.labels, outputs, units=units, draws=draws
        )
    ]


def prediction_frame(scored: Scored, split: str, classes: Sequence[str]) -> pd.DataFrame:
    """Case, patient, model, split, label, predicted class and the probability of each class."""
    cases = {"case": scored.names, "patient": scored.patients or (None,) * len(scored.names)}
    return class_kit.prediction_frame(cases, scored.labels, scored.probabilities, split, classes)


def _cases_of(cases: Cases, rows: NDArray[np.int64], outputs: dict[str, Probabilities]) -> Scored:
    """Some cases with what the models made of them."""
    assert cases.labels is not None
    return Scored(
        names=tuple(cases.names[row] for row in rows),
        labels=cases.labels[rows],
        patients=None if cases.patients is None else tuple(cases.patients[row] for row in rows),
        probabilities=outputs,
    )
