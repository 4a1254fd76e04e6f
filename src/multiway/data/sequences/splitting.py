"""Training, validation and test series: the official test where there is one, else by share, class by class."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import listed
from multiway.data.sequences.options import SequenceSplit
from multiway.data.sequences.sequences import Sequences
from multiway.data.shares import Splits, draw_shares, fix_of_empty, groups_of
from multiway.errors import DataError

SPLITS = ("train", "validation", "test")


def split_sequences(
    sequences: Sequences, truth: NDArray[np.int64], classes: Sequence[str], split: SequenceSplit
) -> Splits:
    """Rows of each split.

    Series of an official test are the test, and validation takes its share of the others. Series of one group stay
    together, and classes keep their proportions as far as groups allow.

    Raises:
        DataError: A split would be empty, or training without a class.
    """
    parts, every = sequences.parts, np.arange(len(sequences))
    if parts is None:
        splits = _drawn(sequences, truth, every, {"test": split.test, "validation": split.validation}, split.seed)
    else:
        is_test = np.array(parts) == "test"
        splits = _drawn(sequences, truth, every[~is_test], {"validation": split.validation}, split.seed)
        splits["test"] = every[is_test]
    if not all(len(splits[name]) for name in SPLITS):
        counts = ", ".join(f"{name} {len(splits[name])}" for name in SPLITS)
        fix = "Give more series or groups, or change the shares (--set split.test=0.3)."
        fix = fix_of_empty(truth, classes, "series", fix)
        raise DataError(f"{sequences.source}: each split needs series. Got {counts}. {fix}")
    absent = sorted(set(range(len(classes))) - set(truth[splits["train"]].tolist()))
    if absent:
        names = listed(classes[place] for place in absent)
        raise DataError(f"{sequences.source}: train has no series of {names}. Give more of it, or split otherwise.")
    return {name: splits[name] for name in SPLITS}


def _drawn(
    sequences: Sequences, truth: NDArray[np.int64], rows: NDArray[np.int64], shares: dict[str, float], seed: int
) -> Splits:
    """Some of the rows by share."""
    groups = None if sequences.groups is None else [sequences.groups[row] for row in rows]
    drawn = draw_shares(groups_of(len(rows), truth[rows], groups), shares, seed)
    return {name: rows[places] for name, places in drawn.items()}
