"""Audit of a split that was made elsewhere: arrays or indices of training and test rows, and what rows belong to."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.duplicates import by_split, check_duplicates, check_groups, sample_digest
from multiway.auditing.probes import Floats, Ints, ProbeErrors, share_explained
from multiway.auditing.report import AuditReport, Verdict, finding, verdict_on
from multiway.auditing.tables import check_giveaways
from multiway.data.samples import Cells, Prepared, Samples, Splits
from multiway.data.sources.arrays import read_npy
from multiway.data.sources.bytes import allowance
from multiway.errors import DataError

PIECE, VARIED = 8, 6
"""Steps of a piece of a window, and different values that it must have."""
TOLERATED = 0.01
"""Share of the test rows that may be training rows, or share a piece with one."""
MOST_COLUMNS, MOST_PIECES, MOST_CLASSES = 200, 4_000_000, 20
BETWEEN, TELLING = 2.0, 0.5
"""Test rows lie as near to training rows as these to each other, within a factor; share of the target that tells."""
FEWEST = 30
KIND_OF_TIME = "mM"


def audit_split(
    X: Any, y: Any = None, *, train: Any, test: Any, groups: Any = None, times: Any = None, coordinates: Any = None
) -> AuditReport:
    """Whether training and test rows share what they should not, by every check that the data allow.

    Args:
        X: `(rows, ...)`: a frame, an array of columns, or of windows; None where the splits are rows themselves.
        y: Target of each row: classes as words or whole numbers of few values, else numbers.
        train: Indices or flags of rows of `X`; or, without `X`, the rows.
        test: The same of the rows that are scored.
        groups: What each row belongs to, such as a patient or a run.
        times: When each row was.
        coordinates: `(rows, axes)`: where it was.

    Raises:
        DataError: Rows and what is said of them differ in number, or an index is not there.
    """
    if X is None:
        counts = len(train), len(test)
        X = (
            pd.concat([train, test], ignore_index=True)
            if isinstance(train, pd.DataFrame)
            else np.concatenate([np.asarray(train), np.asarray(test)])
        )
        train, test = np.arange(counts[0]), np.arange(counts[0], sum(counts))
    rows = len(X)
    for name, given in {"y": y, "groups": groups, "times": times, "coordinates": coordinates}.items():
        if given is not None and len(given) != rows:
            raise DataError(f"audit: {name} has one value for each row of X. Got {len(given):,} for {rows:,} rows.")
    splits = {"train": _rows(train, rows, "train"), "validation": np.arange(0), "test": _rows(test, rows, "test")}
    verdicts = _verdicts(X, y, splits, groups, times, coordinates)
    counts_of = ", ".join(f"{name} {len(chosen):,}" for name, chosen in splits.items() if len(chosen))
    return AuditReport.of(f"{rows:,} rows; {counts_of}", verdicts)


def read_split(files: Mapping[str, Path]) -> dict[str, Any]:
    """Arrays of `.npy` files by name.

    Raises:
        DataError: One is not there, or holds neither numbers nor words.
    """
    arrays = dict[str, Any]()
    for name, path in files.items():
        if not path.is_file():
            raise DataError(f"{path} does not exist. Give a file that numpy.save wrote.")
        arrays[name] = np.asarray(read_npy(path, allowance(None, path.stat().st_size), path.name, words=True))
    return arrays


def _rows(given: Any, rows: int, name: str) -> Ints:
    """Indices, or those that flags choose."""
    index = np.asarray(given)
    if index.dtype == bool and index.shape == (rows,):
        return np.flatnonzero(index)
    if index.ndim != 1 or not np.issubdtype(index.dtype, np.integer):
        raise DataError(f"audit: {name} are indices of rows of X, or flags. Got {index.dtype} of shape {index.shape}.")
    if len(index) and not -rows <= index.min() <= index.max() < rows:
        raise DataError(f"audit: {name} has indices from {index.min()} to {index.max()}, and X has {rows:,} rows.")
    return np.asarray(index % rows, np.int64)


def _verdicts(X: Any, y: Any, splits: Splits, groups: Any, times: Any, coordinates: Any) -> Iterator[Verdict | None]:
    train, test = splits["train"], splits["test"]
    both = np.intersect1d(train, test)
    rule = f"{len(both):,} rows are in train and in test"
    yield verdict_on([f"row {row}" for row in both], "no row is in both splits", "overlap", rule, "Split again.")
    apart = {"train": train, "test": np.setdiff1d(test, train)}
    values = None if isinstance(X, pd.DataFrame) else np.asarray(X)
    names = [f"row {row}" for row in range(len(X))]
    digests = _digests(X, y)
    yield check_duplicates(by_split(digests, apart), by_split(names, apart), "rows", tolerated=TOLERATED)
    if groups is not None:
        yield check_groups(by_split(list(map(str, groups)), splits), "group")
    if values is not None and values.ndim > 1 and values.dtype.kind == "f":
        yield check_pieces_of_windows(values, train, apart["test"], digests)
    target = None if y is None else _target(y)
    positions = {"times": None if times is None else _seconds(times)[:, None], "places": coordinates}
    for what, position in positions.items():
        if position is not None and target is not None:
            yield check_position(np.asarray(position, np.float64), *target, train, apart["test"], what)
        elif position is not None:
            yield finding(what, "note", f"{what} were not held against the target, as there is none")
    if times is not None and len(train) and len(test) and _seconds(times)[train].max() > _seconds(times)[test].min():
        rule = "training rows are later than test rows, so a score is no forecast"
        yield finding("order", "warning", rule, "Test on what is later than the training.")
    if target is not None:
        frame = X if values is None else pd.DataFrame(values) if values.ndim == 2 else None
        if frame is not None and frame.shape[1] <= MOST_COLUMNS:
            yield from check_giveaways(_as_prepared(frame, *target, splits, groups))


def _digests(X: Any, y: Any) -> list[bytes | None]:
    if isinstance(X, pd.DataFrame):
        frame = X if y is None else X.assign(**{"target ": np.asarray(y)})
        return [value.tobytes() for value in pd.util.hash_pandas_object(frame, index=False).to_numpy()]
    return [sample_digest(row) for row in np.asarray(X)]


def _target(y: Any) -> tuple[Floats, Ints | None]:
    """Numbers, and classes where there are few or words."""
    values = np.asarray(y)
    if values.dtype.kind in "fiub" and not (values.dtype.kind in "iub" and len(np.unique(values)) <= MOST_CLASSES):
        return values.astype(np.float64), None
    codes = pd.factorize(values)[0].astype(np.int64)
    return codes.astype(np.float64), codes


def _seconds(times: Any) -> Floats:
    """Times as numbers: of dates the seconds since 1970."""
    values = np.asarray(times)
    if values.dtype.kind in KIND_OF_TIME or values.dtype.kind in "OU":
        return np.asarray((pd.DatetimeIndex(pd.to_datetime(values)) - pd.Timestamp(0)) / pd.Timedelta(1, "s"), float)
    return values.astype(np.float64)


def check_pieces_of_windows(
    values: NDArray[Any], train: Ints, test: Ints, digests: list[bytes | None]
) -> Verdict | None:
    """Whether test windows share a piece, at any step, with a training window: windows of one series that overlap."""
    rows = (
        values.reshape(len(values), -1)
        if values.ndim == 2
        else np.moveaxis(values.reshape(len(values), values.shape[1], -1), -1, 1)[:, 0]
    )
    if rows.shape[1] < 2 * PIECE or rows.size > MOST_PIECES or not len(test):
        return None
    copied = {digests[row] for row in train}
    known = {piece for row in train for piece in _pieces(rows[row])}
    shared = [row for row in test if digests[row] not in copied and not known.isdisjoint(_pieces(rows[row]))]
    examples = [f"test row {row}" for row in shared] if len(shared) > TOLERATED * len(test) else []
    rule = f"{len(shared):,} of {len(test):,} test rows share {PIECE} steps or more with a training row, as windows do"
    sound = f"none of {len(test):,} test rows shares a piece with a training row"
    return verdict_on(examples, sound, "overlap", rule, "Cut windows after the split, or leave a gap between.")


def _pieces(row: NDArray[Any]) -> Iterator[bytes]:
    for piece in np.lib.stride_tricks.sliding_window_view(row, PIECE):
        if len(set(piece.tolist())) >= VARIED:
            yield piece.tobytes()


def check_position(
    places: Floats, target: Floats, labels: Ints | None, train: Ints, test: Ints, what: str
) -> Verdict | None:
    """Whether test rows lie among training rows, whose nearest one tells the target.

    places: `(rows, axes)`.
    """
    if len(train) < FEWEST or len(test) < FEWEST:
        return None
    from scipy.spatial import cKDTree  # takes a while, which other commands do without

    tree = cKDTree(places[train])
    away, nearest = tree.query(places[test])
    own = tree.query(places[train], k=2)[0][:, 1]
    share = (
        share_explained(target[train[nearest]], target[test])
        if labels is None
        else ProbeErrors.of_said([labels[train[nearest]]], labels, [(train, test)]).gain
    )
    sound = f"{what} of training rows do not tell the target of test rows"
    if np.median(away) > BETWEEN * max(float(np.median(own)), float(np.quantile(away, 0.1))) or share <= TELLING:
        return sound
    rule = f"test rows lie between training rows, and the nearest one by {what} tells {share:.0%} of the target"
    return finding(what, "error", rule, "Test on stretches or areas of their own, with a gap around them.")


def _as_prepared(
    frame: pd.DataFrame, target: Floats, labels: Ints | None, splits: Splits, groups: Any
) -> Prepared[Cells, None]:
    """Columns of numbers, of dates and of words as the checks of tables take them."""
    dates = frame.select_dtypes(["datetime", "datetimetz"])
    numbers = frame.select_dtypes(["number", "bool"]).drop(columns=dates.columns)
    words = frame.drop(columns=[*numbers.columns, *dates.columns])
    days = {str(name): _seconds(column) / 86_400 for name, column in dates.items()}
    cells = Cells(
        numbers=np.column_stack([numbers.to_numpy(np.float64), *days.values()]),
        words=words.astype(object).where(words.notna(), "").astype(str).to_numpy(object),
        of_numbers=(*(f"{name}" for name in numbers), *days),
        of_words=tuple(map(str, words)),
        dates=dict.fromkeys(days, ""),
    )
    samples = Samples(
        inputs=cells,
        source="rows",
        word="rows",
        names={"row": range(len(frame))},
        target=target if labels is None else labels,
        classes=None if labels is None else tuple(map(str, np.unique(labels))),
        groups=None if groups is None else tuple(map(str, groups)),
    )
    return Prepared(raw=samples, encoded=samples, state=None, splits=splits)
