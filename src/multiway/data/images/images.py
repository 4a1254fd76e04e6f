"""`Images`: many images of one size in memory, with what is known of them."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed, quoted
from multiway.data.shares import Splits
from multiway.errors import DataError

Bytes = NDArray[np.uint8]
Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Images:
    """Images of one size.

    values: `(images, height, width, channels)`; grey ones have one channel.
    labels: `(images,)` positions in `classes`; None where none are given.
    classes: Names; whole numbers in their order, words by the alphabet.
    names: One per image: its file, or its place in an array.
    parts: Rows of the splits that the data name themselves: some of train, validation and test.
    notes: What reading did, one line each.
    """

    values: Bytes
    labels: Labels | None
    classes: tuple[str, ...]
    names: tuple[str, ...]
    source: str
    parts: Splits = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def form(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        height, width, channels = self.values.shape[1:]
        return channels, height, width

    @property
    def truth(self) -> Labels:
        """Labels.

        Raises:
            DataError: There are none.
        """
        if self.labels is None:
            fix = "Give a folder per class, or an array of labels beside the images."
            raise DataError(f"{self.source}: classes are needed, and there are none. {fix}")
        return self.labels

    def with_classes(self, classes: Sequence[str]) -> "Images":
        """The same images with labels that count these classes, as a trained model does.

        Raises:
            DataError: An image has a class that is not among them, or there are no labels.
        """
        labels, unknown = self.truth, [name for name in self.classes if name not in classes]
        if unknown:
            first = self.names[int(np.flatnonzero(labels == self.classes.index(unknown[0]))[0])]
            raise DataError(
                f"{self.source}: class '{quoted(unknown[0])}' of {quoted(first)} is none of {listed(classes)}. "
                f"Correct it, or leave the image out."
            )
        table = np.array([list(classes).index(name) for name in self.classes], np.int64)
        return dataclasses.replace(self, labels=table[labels], classes=tuple(classes))


def numbered(labels: Sequence[Any]) -> tuple[Labels, tuple[str, ...]]:
    """Labels as positions of their classes, and the names of these."""
    classes = in_order(set(map(str, labels)))
    places = {name: place for place, name in enumerate(classes)}
    return np.array([places[str(label)] for label in labels], np.int64), classes


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Whole numbers in their order, then words by the alphabet."""
    return tuple(sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name)))


def check_room(count: int, form: tuple[int, ...], limit: int, where: str) -> None:
    """Refuse images that take more memory than is allowed.

    Raises:
        DataError: They do.
    """
    needed = count * int(np.prod(form))
    if needed > limit:
        raise DataError(
            f"{where}: {count:,} images of {' x '.join(map(str, form))} take {needed:,} bytes, and {limit:,} are "
            f"allowed. Make them smaller (--size 64), or raise max_bytes (--set read.max_bytes={needed})."
        )
