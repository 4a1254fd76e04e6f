"""Rows drawn into splits by share, a group at a time and class by class."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from multiway.config import Config
from multiway.data.findings import listed

Splits = dict[str, NDArray[np.int64]]


class Shares(Config):
    """How much of the data validates and tests; the rest is trained on."""

    validation: float = Field(0.15, gt=0, lt=1)
    """Share to choose the best epoch on."""
    test: float = Field(0.2, gt=0, lt=1)
    """Share to test on, once, at the end."""

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> Self:
        if self.validation + self.test >= 1:
            raise ValueError(f"validation and test must leave some to train on. Got {self.validation} and {self.test}")
        return self


class SplitShares(Shares):
    """Shares that are drawn."""

    seed: int = Field(0, ge=0)
    """Which random split it is."""


def groups_of(
    count: int, labels: NDArray[np.int64] | None, names: Sequence[str] | None
) -> list[tuple[int, NDArray[np.int64]]]:
    """Commonest class and rows of each group, in the order of first appearance.

    Without names each row is a group; without labels all are of one class.
    """
    rows: dict[object, list[int]] = {}
    for row in range(count):
        rows.setdefault(row if names is None else names[row], []).append(row)
    groups = [np.array(group, dtype=np.int64) for group in rows.values()]
    return [(0 if labels is None else int(np.bincount(labels[group]).argmax()), group) for group in groups]


def fix_of_empty(labels: NDArray[np.int64] | None, classes: Sequence[str], samples: str, otherwise: str) -> str:
    """What fills an empty split: more samples of classes of one, which only train; else what fits any other data."""
    counts = np.bincount(np.empty(0, np.int64) if labels is None else labels, minlength=len(classes))
    single = [classes[place] for place in np.flatnonzero(counts == 1).tolist()]
    if not single:
        return otherwise
    rest = "has one, or drop the class" if len(single) == 1 else "have one each, or drop the classes"
    return f"Give more {samples} of {listed(single)}, which {rest}."


def draw_shares(groups: list[tuple[int, NDArray[np.int64]]], shares: dict[str, float], seed: int) -> Splits:
    """Take shuffled groups of each class for the named splits until their shares are met; the rest trains."""
    chance = np.random.default_rng(seed)
    taken: dict[str, list[NDArray[np.int64]]] = {name: [] for name in ("train", *shares)}
    owed = dict.fromkeys(shares, 0.0)
    for label in sorted({label for label, _ in groups}):
        members = [group for one, group in groups if one == label]
        order = [members[row] for row in chance.permutation(len(members))]
        total = sum(map(len, order))
        for name, share in shares.items():
            owed[name] += share * total  # what rounding kept from one class is made up in the next
            while len(order) > 1 and owed[name] >= len(order[-1]) / 2:
                owed[name] -= len(order[-1])
                taken[name].append(order.pop())
        taken["train"] += order
    return {name: np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64) for name, parts in taken.items()}
