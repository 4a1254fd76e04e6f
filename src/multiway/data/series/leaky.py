"""The split of NdLinear's published forecasts, kept to show what it is worth: it leaks in three ways."""

import numpy as np
import torch

from multiway.data.series.windows import Windows
from multiway.errors import DataError

NOTE = (
    "leaky_random_windows: windows of training and scores overlap, scaling saw all rows, and the score is of the "
    "windows that chose the epoch, in units of the range of all rows. It says little about later rows."
)


def leaky_windows(windows: Windows, seed: int, source: str) -> dict[str, Windows]:
    """Put overlapping windows at random into halves; the one that chooses the epoch is scored as well.

    Args:
        windows: All windows of a panel, which is scaled by all its rows.
        seed: Of the draw.
        source: Name of the data.

    Raises:
        DataError: There are not two windows.
    """
    count = len(windows)
    if count < 2:
        raise DataError(f"{source}: its rows hold no two windows. Use a shorter look-back or horizon.")
    order = np.random.default_rng(seed).permutation(count)
    first, second = (torch.from_numpy(np.sort(half)) for half in (order[: count // 2], order[count // 2 :]))
    scored = windows.only(second)
    return {"train": windows.only(first), "validation": scored, "test": scored}
