"""Splits of cases: those that the data names, else by patient and class."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multiway.data.findings import quoted
from multiway.data.samples import SPLITS
from multiway.data.sources.scans.options import VolumeSplit
from multiway.data.splitting import Splits, draw_shares, groups_of
from multiway.errors import DataError, Fix


def split_cases(
    count: int, labels: NDArray[np.int64] | None, patients: Sequence[str] | None, split: VolumeSplit, source: str
) -> Splits:
    """Cut cases into train, validation and test by share.

    All cases of a patient fall into one split. Patients are drawn class by class (a patient's class is its commonest
    label), so that each split has its share of each class as far as whole patients allow.

    Raises:
        DataError: A split would be empty.
    """
    groups = groups_of(count, labels, patients)
    return _checked(draw_shares(groups, {"test": split.test, "validation": split.validation}, split.seed), source)


def named_splits(
    names: Sequence[str | None],
    labels: NDArray[np.int64] | None,
    patients: Sequence[str] | None,
    split: VolumeSplit,
    source: str,
    places: Sequence[str],
) -> Splits:
    """Splits as the data names them; without a validation split, it is taken from the training cases by share.

    Raises:
        DataError: A case has no split, a patient is in two, or a split is empty.
    """
    without = [place for place, name in zip(places, names, strict=True) if name is None]
    if without:
        raise DataError(
            f"{without[0]}: a split is needed in every row, or in none ({len(without)} lack it). Fill it in."
        )
    if patients is not None:
        _check_leak(names, patients, source)
    result = {name: np.flatnonzero(np.array([one == name for one in names])) for name in SPLITS}
    if not len(result["validation"]) and len(result["train"]):
        rows = result["train"]
        inner = groups_of(
            len(rows),
            None if labels is None else labels[rows],
            None if patients is None else [patients[int(row)] for row in rows],
        )
        result |= {
            name: rows[index]
            for name, index in draw_shares(inner, {"validation": split.validation}, split.seed).items()
        }
    return _checked(result, source)


def _check_leak(names: Sequence[str | None], patients: Sequence[str], source: str) -> None:
    where: dict[str, set[str]] = {}
    for patient, name in zip(patients, names, strict=True):
        where.setdefault(patient, set()).add(str(name))
    leaks = [patient for patient, splits in where.items() if len(splits) > 1]
    if leaks:
        both = " and ".join(sorted(where[leaks[0]]))
        raise DataError(
            f"{source}: a patient must be in one split. Patient '{quoted(leaks[0])}' is in {both} ({len(leaks)} "
            f"such). Correct the column of splits, or leave it out to split by patient."
        )


def _checked(splits: Splits, source: str) -> Splits:
    empty = [name for name in SPLITS if not len(splits.get(name, ()))]
    if empty:
        counts = ", ".join(f"{name} {len(splits.get(name, ()))}" for name in SPLITS)
        raise DataError(
            f"{source}: each split needs cases. Got {counts}. Add cases or patients, change the shares (",
            Fix("split.test", 0.3),
            "), or name all three splits in a column.",
        )
    return {name: splits[name] for name in SPLITS}
