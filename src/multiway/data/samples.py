"""Samples of any kind: inputs, targets, groups, the split that the data name, and where each came from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, soundly
from multiway.errors import DataError, Fix, Message

if TYPE_CHECKING:  # a list of the known sets does without torch
    from torch import Tensor

UNKNOWN = -1
"""Position of the class of a sample that nobody has labelled."""
Rows = NDArray[np.int64]
Array = NDArray[Any]
"""Of elements of any type."""
Splits = dict[str, Rows]
SPLITS = ("train", "validation", "test")
SPELLINGS = {
    "train": ("train", "training"),
    "validation": ("val", "valid", "validation", "dev", "development"),
    "test": ("test", "testing"),
}
"""What data may call the splits."""
SPLIT_OF = {spelling: split for split, spellings in SPELLINGS.items() for spelling in spellings}


class Inputs(Protocol):
    """Inputs of samples, held or read when they are needed: an array, a tensor, cells, files."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, rows: Any) -> Any:
        """Those of some samples."""


InputsT = TypeVar("InputsT", bound=Inputs)
NewT = TypeVar("NewT", bound=Inputs)
StateT = TypeVar("StateT")
T = TypeVar("T")


def _some(values: Sequence[T], rows: Rows) -> tuple[T, ...]:
    return tuple(values[row] for row in rows.tolist())


def read_samples(source: str, read: Callable[[Findings], "Samples[InputsT]"]) -> "Samples[InputsT]":
    """Samples without a flaw; what else was noted of them is among their notes."""

    def read_with_notes(findings: Findings) -> "Samples[InputsT]":
        samples = read(findings)
        notes = (*samples.notes, *findings.remarks())
        return dataclasses.replace(samples, notes=notes, warned=findings.remarks("warning"))

    return soundly(source, read_with_notes)


def keep_inputs(inputs: Any) -> Any:
    """Inputs as they are."""
    return inputs


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Samples(Generic[InputsT]):
    """What a source is read to, and what a network is given: the inputs differ, the rest stays.

    inputs: Of a kind of their own as read; a tensor `(samples, *)` once encoded.
    source: What messages call the data.
    word: What messages call samples: rows, series, images.
    names: Columns that name each sample in tables: {"file": ...}; none where rows do.
    target: Positions in `classes`, `UNKNOWN` where nobody knows, or numbers; None where there are none. Of several
        labels a sample, which `classes` are then, 0 or 1 for each.
    classes: None where targets are numbers.
    target_name: The column that the target came from.
    target_sign: The currency or percent sign without which numbers of the target are read.
    columns: Names along the last axis of the inputs, or of their columns.
    weights: How much each sample counts in fitting, in validation and in scores; alike where there are none.
    groups: What each sample belongs to, such as a patient: a group stays in one split.
    keys: Equal for copies, which stay in one split as well.
    times: Of each sample: training is on the earliest, the test on the latest.
    sizes: How much of the whole each sample is, where they stand in an order that a split keeps.
    official: `train`, `validation` or `test` as the data name it; empty for a sample that they leave out.
    rows, unit: Where each sample stands in the source; None where its name says it.
    notes: What was done on the way in, one line each.
    warned: Those of the notes that nobody should miss.
    labelling: What helps where targets are needed and lack; empty where none are needed.
    decode: From kept inputs of some samples to what a model takes.
    """

    inputs: InputsT
    source: str
    word: str = "samples"
    names: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    target: NDArray[Any] | None = None
    classes: tuple[str, ...] | None = None
    target_name: str | None = None
    target_sign: str = ""
    columns: tuple[str, ...] = ()
    weights: NDArray[np.float64] | None = None
    groups: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None
    times: pd.Index | None = None
    sizes: Rows | None = None
    official: tuple[str, ...] | None = None
    rows: Rows | None = None
    unit: Literal["line", "row"] = "row"
    notes: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    labelling: Message = ("Name it (", Fix("read.target", like="NAME"), ").")
    decode: Callable[[Any], Tensor] = keep_inputs

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def truth(self) -> NDArray[Any]:
        """Targets."""
        if self.target is None:
            raise DataError(f"{self.source}: scores need a target, and there is none. ", *self.labelling)
        return self.target

    @property
    def target_tensor(self) -> Tensor:
        """Targets as a tensor: whole numbers are classes, others numbers."""
        import torch

        return torch.from_numpy(self.truth)

    @property
    def labels(self) -> Rows | None:
        """Targets that are classes."""
        return None if self.classes is None or self.has_several else self.target

    @property
    def has_several(self) -> bool:
        """Whether samples have several labels each."""
        return self.target is not None and self.target.ndim == 2

    @property
    def strata(self) -> Rows | None:
        """Classes, whose proportions splits keep; of several labels the rarest that a sample has, 0 without any."""
        if self.target is None or not self.has_several:
            return self.labels
        ranked = self.target[:, np.argsort(-self.target.sum(0), kind="stable")]
        return np.asarray((ranked * np.arange(1, ranked.shape[1] + 1)).max(1), dtype=np.int64)

    def by_rarest(self) -> Self:
        """The same with one class each: of several labels the rarest that a sample has, or none of them."""
        if self.target is None or not self.has_several:
            return self
        ranked = np.argsort(-self.target.sum(0), kind="stable").tolist()
        names = ("none of them", *((self.classes or ())[place] for place in ranked))
        return dataclasses.replace(self, target=self.strata, classes=names)

    def class_counts(self, rows: Rows | slice = slice(None)) -> Rows | None:
        """Samples of each class, of some rows or of all; None of numbers."""
        if self.target is None or self.classes is None:
            return None
        target = self.target[rows]
        if self.has_several:
            return np.asarray(target.sum(0), dtype=np.int64)
        return np.bincount(target[target != UNKNOWN], minlength=len(self.classes))

    def place(self, row: int) -> Place:
        """Where a sample came from."""
        if self.rows is not None:
            return Place(row=int(self.rows[row]), unit=self.unit)
        column = next(iter(self.names.values()), range(len(self)))
        return Place(detail=str(column[row]))

    def labels_of(self, rows: Rows) -> list[str]:
        """What messages call some samples."""
        return [str(self.place(row)) for row in rows.tolist()]

    def with_inputs(self, inputs: NewT, **changes: Any) -> "Samples[NewT]":
        """The same samples with other inputs, such as encoded ones, and other changes."""
        kept = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return Samples(**{**kept, **changes, "inputs": inputs})

    def take(self, rows: Rows) -> Self:
        """Some of the samples, in this order."""
        return dataclasses.replace(
            self,
            inputs=self.inputs[rows],
            names={name: _some(column, rows) for name, column in self.names.items()},
            target=None if self.target is None else self.target[rows],
            weights=None if self.weights is None else self.weights[rows],
            groups=None if self.groups is None else _some(self.groups, rows),
            keys=None if self.keys is None else _some(self.keys, rows),
            official=None if self.official is None else _some(self.official, rows),
            times=None if self.times is None else self.times[rows],
            sizes=None if self.sizes is None else self.sizes[rows],
            rows=None if self.rows is None else self.rows[rows],
        )

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs and targets of some samples, as training takes them; inputs of several parts gather themselves."""
        import torch

        own = getattr(self.inputs, "batch", None)
        if own is not None:
            batch: dict[str, Tensor] = own(index)
            return batch
        batch = {"inputs": self.decode(self.inputs[index])}
        batch |= {} if self.target is None else {"target": torch.from_numpy(self.target)[index]}
        return batch if self.weights is None else {**batch, "weight": torch.from_numpy(self.weights).float()[index]}

    def some(self, most: int) -> Tensor:
        """Indices of so many samples at most, evenly spread."""
        import torch

        return torch.linspace(0, len(self) - 1, min(most, len(self))).round().long()

    def batches(self, size: int) -> Iterator[dict[str, Tensor]]:
        """All samples in order."""
        import torch

        for index in torch.arange(len(self)).split(size):
            yield self.gather(index)

    def counts(self) -> dict[str, Any]:
        """How many samples and groups there are, and samples of each class; or what inputs of a kind count."""
        own = getattr(self.inputs, "counts", None)
        if own is not None:
            return dict(own())
        counts = self.class_counts()
        return {
            "samples": len(self),
            "groups": None if self.groups is None else len(set(self.groups)),
            "classes": None if counts is None else dict(zip(self.classes or (), counts.tolist(), strict=True)),
        }

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        own = getattr(self.inputs, "content", None)
        import torch

        inputs = self.inputs.numpy() if isinstance(self.inputs, torch.Tensor) else self.inputs
        yield from (inputs,) if own is None else own()
        yield from (self.columns, self.target, self.classes, self.groups)
        yield from () if self.weights is None else (self.weights,)
        yield from (list(map(str, column)) for column in self.names.values())


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Prepared(Generic[InputsT, StateT]):
    """Samples with their splits, what the training ones say, and the inputs that a network takes by it.

    raw: As read.
    encoded: The same samples as the network takes them.
    splits: Rows of each; later data have none.
    """

    raw: Samples[InputsT]
    encoded: Samples[Any]
    state: StateT
    splits: Splits = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What messages call the data."""
        return self.raw.source

    def content(self) -> Iterator[object]:
        """Everything that was read; what is encoded by a network of others counts by the hash of that."""
        yield getattr(self.state, "digest", None)
        yield from self.raw.content()
        yield from self.splits.values()

    def rows(self, split: str) -> Rows:
        """Rows of a split; all of them where there is no such split."""
        return self.splits.get(split, np.arange(len(self.raw)))

    def part(self, split: str) -> Samples[Any]:
        """The samples of a split as the network takes them."""
        return self.encoded.take(self.rows(split))

    def without_inputs(self, split: str) -> Samples[Rows]:
        """The samples of a split as read, with their rows in place of inputs, which are not copied."""
        return self.raw.with_inputs(self.rows("all")).take(self.rows(split))

    def counts(self, split: str) -> dict[str, Any]:
        """How many samples and groups a split has, and samples of each class."""
        return self.part(split).counts()


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """Inputs of rows: columns of numbers and columns of words.

    numbers: `(rows, numbers)` float64, NaN where missing; dates are days since 1970.
    words: `(rows, categories)` strings, empty where missing.
    of_numbers, of_words: What the columns are called.
    dates: How the dates among the numbers are written, by column.
    identifiers: Cells that say which row it is, as words: no inputs, but an audit looks at them.
    """

    numbers: NDArray[np.float64]
    words: NDArray[np.object_]
    of_numbers: tuple[str, ...]
    of_words: tuple[str, ...]
    dates: Mapping[str, str] = dataclasses.field(default_factory=dict)
    identifiers: Mapping[str, NDArray[np.object_]] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> Self:
        identifiers = {name: column[rows] for name, column in self.identifiers.items()}
        return dataclasses.replace(self, numbers=self.numbers[rows], words=self.words[rows], identifiers=identifiers)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns, numbers first."""
        return self.of_numbers + self.of_words

    def missing(self) -> dict[str, int]:
        """Missing cells by column, those with any."""
        counts = [*np.isnan(self.numbers).sum(0), *(self.words == "").sum(0)]
        return {name: int(count) for name, count in zip(self.names, counts, strict=True) if count}

    def shuffle(self, columns: Sequence[str], chance: np.random.Generator) -> Self:
        """The same rows with the cells of some columns exchanged between them, each column for itself."""
        numbers, words = self.numbers.copy(), self.words.copy()
        for name in columns:
            is_number = name in self.of_numbers
            array, position = (numbers, self.of_numbers) if is_number else (words, self.of_words)
            column = array[:, position.index(name)]
            column[:] = chance.permutation(column)
        return dataclasses.replace(self, numbers=numbers, words=words)

    def frame(self) -> pd.DataFrame:
        """Columns by name."""
        named = (*zip(self.of_numbers, self.numbers.T, strict=True), *zip(self.of_words, self.words.T, strict=True))
        return pd.DataFrame(dict(named), index=range(len(self)))

    def digests(self) -> list[bytes]:
        """A hash of each row."""
        return [value.tobytes() for value in pd.util.hash_pandas_object(self.frame(), index=False).to_numpy()]

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        yield from (self.names, self.numbers, self.words)
