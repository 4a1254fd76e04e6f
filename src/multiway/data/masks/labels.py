"""From the values of masks to classes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed
from multiway.data.masks.options import MaskOptions
from multiway.errors import DataError

IGNORED = -1
"""Class of voxels that are neither learned from nor scored."""
Targets = NDArray[np.int16]


def usable_values(found: set[int], ignore: int | None, source: str) -> tuple[int, ...]:
    """Values of the training masks that count, in order.

    Raises:
        DataError: There are fewer than two.
    """
    values = tuple(sorted(found - {ignore}))
    if len(values) < 2:
        raise DataError(
            f"{source}: the training masks must hold two values or more. Got {listed(values) or 'none'}. "
            "Check the column of masks and the option ignore."
        )
    return values


def to_classes(mask: NDArray[Any], values: tuple[int, ...], ignore: int | None, where: str) -> Targets:
    """Positions in `values` of a mask's values, `IGNORED` for the one to ignore.

    Raises:
        DataError: The mask holds another value.
    """
    target = np.full(mask.shape, len(values), dtype=np.int16)
    for position, value in enumerate(values):
        target[mask == value] = position
    if ignore is not None:
        target[mask == ignore] = IGNORED
    if (target == len(values)).any():
        other = np.unique(mask[target == len(values)]).tolist()
        raise DataError(
            f"{where}: a mask may hold the values of the training masks, {listed(values)}. Got {listed(other, 4)}. "
            "Correct it, or move a case that has them into training."
        )
    return target


def class_names(values: tuple[int, ...], options: MaskOptions, known: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """What the values are called: by the config, by the data set, or by themselves.

    Raises:
        DataError: The config names another number of classes.
    """
    if options.classes is not None:
        if len(options.classes) != len(values):
            raise DataError(
                f"classes names {len(options.classes)} classes and the masks hold {len(values)}: {listed(values)}. "
                "Name each, in this order."
            )
        return options.classes
    if known is not None and 0 <= min(values) <= max(values) < len(known):
        return tuple(known[value] for value in values)
    return tuple("background" if value == 0 else str(value) for value in values)
