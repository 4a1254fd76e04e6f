"""Series with splits, classes and scale: what every later step of a run starts from."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from multiway.config import Config
from multiway.data.findings import listed
from multiway.data.labelled import UNKNOWN, Labelled, PreparedSamples
from multiway.data.sequences.classes import checked_classes, positions
from multiway.data.sequences.options import SequenceOptions, SequenceSplit
from multiway.data.sequences.reading import read_sequences
from multiway.data.sequences.sequences import Sequences
from multiway.data.sequences.splitting import split_sequences
from multiway.data.series.scaling import Scaler
from multiway.errors import DataError

FARTHEST = 1e6
"""Deviations from the mean beyond which a value is taken as that far, so that float32 can hold what follows."""


class SequenceState(Config):
    """What training learnt of its series."""

    classes: tuple[str, ...] = Field(min_length=2)
    """Names, in the order of the outputs."""
    variates: tuple[str, ...] = Field(min_length=1)
    """Names of the variates."""
    length: int = Field(gt=0)
    """Steps that every series is padded to."""
    mean: tuple[float, ...]
    """Of each variate, over the training series."""
    std: tuple[float, ...]
    """Standard deviation, likewise."""

    @property
    def scaler(self) -> Scaler:
        """Mean and deviation as a scaler."""
        return Scaler(np.array(self.mean), np.array(self.std))

    def inputs(self, sequences: Sequences) -> Tensor:
        """Scaled values `(series, length, variates)` in float32, NaN where missing or padded.

        Raises:
            DataError: A series is longer than those of the training, or has other variates.
        """
        wanted, got = len(self.variates), sequences.values.shape[2]
        if wanted != got:
            raise DataError(
                f"{sequences.source}: the run was trained on {wanted} variates ({listed(self.variates)}). Got {got} "
                f"({listed(sequences.variates)}). Give series with the same variates."
            )
        values = self.scaler.transform(sequences.resized(self.length).values)
        return torch.from_numpy(np.clip(values, -FARTHEST, FARTHEST).astype(np.float32))


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedSequences(PreparedSamples):
    """Scaled series, and what the training ones say."""

    state: SequenceState


def prepare_sequences(source: Any, options: SequenceOptions, split: SequenceSplit) -> PreparedSequences:
    """Read, split, and learn the scale from the training series; what can be wrong with the data shows here.

    Raises:
        DataError: The series are not sound, have no classes, or a split has none.
    """
    sequences = read_sequences(source, options)
    if sequences.labels is None:
        raise DataError(f"{sequences.source}: there are no classes to learn from. Name their column (--target NAME).")
    classes = checked_classes(sequences.labels, sequences.source)
    truth = positions(sequences.labels, classes)
    splits = split_sequences(sequences, truth, classes, split)
    state = _learnt(sequences, classes, splits["train"])
    return dataclasses.replace(_prepared(sequences, truth, state), splits=splits)


def match_sequences(
    source: Any, options: SequenceOptions, state: SequenceState, *, has_target: bool = True
) -> PreparedSequences:
    """Series that came after the training, with variates matched by name in tables; nothing is learnt from them.

    Raises:
        DataError: They are not like those of the training; or there are no classes, or unknown ones, and a target is
            needed.
    """
    later = _as_trained(options, state, has_target=has_target)
    sequences = read_sequences(source, later, has_target=has_target)
    if not has_target:
        return _prepared(sequences, np.full(len(sequences), UNKNOWN), state)
    if sequences.labels is None:
        raise DataError(f"{sequences.source}: scores need classes, and there are none. Name them (--target NAME).")
    truth = positions(sequences.labels, state.classes)
    unknown = sorted({label for label, place in zip(sequences.labels, truth, strict=True) if place == UNKNOWN})
    if unknown:
        raise DataError(
            f"{sequences.source}: classes are those of the training, {listed(state.classes)}. Got {listed(unknown)} "
            f"in {int((truth == UNKNOWN).sum())} series. Correct them, or leave these out."
        )
    return _prepared(sequences, truth, state)


def _learnt(sequences: Sequences, classes: tuple[str, ...], train: NDArray[np.int64]) -> SequenceState:
    steps, variates = sequences.values.shape[1:]
    scaler = Scaler.fit(sequences.values[train].reshape(-1, variates))
    return SequenceState(
        classes=classes, variates=sequences.variates, length=steps, mean=tuple(scaler.mean.tolist()),
        std=tuple(scaler.std.tolist()),
    )  # fmt: skip


def _prepared(sequences: Sequences, truth: NDArray[np.int64], state: SequenceState) -> PreparedSequences:
    names: dict[str, Sequence[Any]] = {"series": sequences.names}
    samples = Labelled(
        inputs=state.inputs(sequences), truth=truth, classes=state.classes, names=names, groups=sequences.groups
    )
    return PreparedSequences(source=sequences.source, samples=samples, notes=sequences.notes, state=state)


def _as_trained(options: SequenceOptions, state: SequenceState, *, has_target: bool) -> SequenceOptions:
    """Options for later data: tables have the columns of the training, and the state says how long series may be."""
    roles = {} if has_target else {"target": None, "group": None}
    return options.replace(columns=state.variates, length=None, **roles)
