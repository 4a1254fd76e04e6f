"""Samples with classes: what reading leaves of series, texts and images."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.shares import Splits

UNKNOWN = -1
"""Position of the class of a sample that nobody has labelled."""


def unchanged(inputs: Tensor) -> Tensor:
    """Inputs as they are."""
    return inputs


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Labelled:
    """Samples as the training loop takes them: inputs and classes, gathered by index.

    inputs: `(samples, *)`, in whatever type they are kept.
    truth: Position of each sample's class, `UNKNOWN` where it has none.
    classes: Their names.
    names: Columns that name each sample: {"file": ...}.
    groups: What each sample belongs to, such as a patient, where it is known.
    decode: From kept inputs of some samples to what a model takes.
    """

    inputs: Tensor
    truth: NDArray[np.int64]
    classes: tuple[str, ...]
    names: Mapping[str, Sequence[Any]]
    groups: tuple[str, ...] | None = None
    decode: Callable[[Tensor], Tensor] = unchanged

    def __len__(self) -> int:
        return len(self.inputs)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs and classes of some samples."""
        return {"inputs": self.decode(self.inputs[index]), "target": torch.from_numpy(self.truth)[index]}

    def take(self, rows: NDArray[np.int64]) -> Self:
        """Some of the samples, in this order."""
        chosen = rows.tolist()
        return dataclasses.replace(
            self,
            inputs=self.inputs[torch.from_numpy(rows)],
            truth=self.truth[rows],
            names={name: [column[row] for row in chosen] for name, column in self.names.items()},
            groups=None if self.groups is None else tuple(self.groups[row] for row in chosen),
        )

    def some(self, most: int) -> Tensor:
        """Indices of so many samples at most, evenly spread."""
        return torch.linspace(0, len(self) - 1, min(most, len(self))).round().long()

    def batches(self, size: int) -> Iterator[dict[str, Tensor]]:
        """All samples in order."""
        for index in torch.arange(len(self)).split(size):
            yield self.gather(index)

    def counts(self) -> dict[str, Any]:
        """How many samples and groups there are, and samples of each class."""
        classes = np.bincount(self.truth[self.truth != UNKNOWN], minlength=len(self.classes)).tolist()
        groups = None if self.groups is None else len(set(self.groups))
        return {"samples": len(self), "groups": groups, "classes": dict(zip(self.classes, classes, strict=True))}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedSamples:
    """Samples with their splits: what every later step starts from; later data have no splits."""

    source: str
    samples: Labelled
    splits: Splits = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        samples = self.samples
        yield from (samples.inputs.numpy(), samples.truth, samples.classes, samples.groups)
        yield from (list(map(str, column)) for column in samples.names.values())
        yield from self.splits.values()

    def rows(self, split: str) -> NDArray[np.int64]:
        """Rows of a split; all of them where there is no such split."""
        return self.splits.get(split, np.arange(len(self.samples)))

    def part(self, split: str) -> Labelled:
        """The samples of a split."""
        return self.samples.take(self.rows(split))

    def counts(self, split: str) -> dict[str, Any]:
        """How many samples and groups a split has, and samples of each class."""
        return self.part(split).counts()
