"""Series in arrays, and in long tables: a row per step, with columns of name, time, values and class."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, listed, quoted
from multiway.data.options import CLASS_NAMES, SequenceOptions
from multiway.data.sources.arrays import Archive
from multiway.data.sources.cells import ID_NAMES, TIME_NAMES, RawTable, as_text
from multiway.data.sources.columns import parse_numbers, require_column
from multiway.data.sources.series import (
    PARTS,
    Sequences,
    check_observed,
    joined_series,
    numbered_variates,
    padded_series,
)
from multiway.data.sources.tables import load_table
from multiway.data.sources.times import parse_times
from multiway.errors import DataError, Fix, Message

OFFICIAL = ("X_train", "y_train", "X_test", "y_test")
PLAIN = (("X", "y"), ("x", "y"))


def holds_series(path: Path) -> bool:
    """Whether a .npz has the arrays of labelled series."""
    names = set(Archive(path, 0, path.name).names)
    return names >= set(OFFICIAL) or any(names >= set(pair) for pair in PLAIN)


def read_npz(path: Path, options: SequenceOptions, findings: Findings) -> Sequences:
    """Read X and y, or X_train, y_train, X_test and y_test; X is `(series, steps)` or `(series, steps, variates)`."""
    archive = Archive(path, options.max_bytes, findings.source)
    if set(archive.names) >= set(OFFICIAL):
        train, test = (_pair(archive, f"X_{part}", f"y_{part}", findings) for part in PARTS)
        return joined_series(train, test, findings.source)
    for pair in PLAIN:
        if set(archive.names) >= set(pair):
            return _pair(archive, *pair, findings)
    x = next((name for name in ("X", "x") if name in archive.names), None)
    if x is None:
        raise DataError(
            f"{findings.source}: series are arrays X and y, or {', '.join(OFFICIAL)}. It holds {listed(archive.names)}."
        )
    return of_arrays(archive.read(x), None, findings)


def _pair(archive: Archive, x: str, y: str, findings: Findings) -> Sequences:
    return of_arrays(archive.read(x), archive.read(y, words=True), findings, (x, y))


def of_arrays(x: Any, y: Any, findings: Findings, names: tuple[str, str] = ("X", "y")) -> Sequences:
    """Take arrays as series.

    `x` is `(series, steps)`, `(series, steps, variates)`, or a list of `(steps,)` or `(steps, variates)`.
    """
    series = [_series(each, f"{names[0]}[{row}]") for row, each in enumerate(_rows(x, names[0]))]
    check_observed(series, [Place(row=row, unit="row") for row in range(len(series))], findings)
    labels = None if y is None else _labels(y, len(series), names[1])
    return Sequences(
        values=padded_series(series), names=tuple(map(str, range(len(series)))), labels=labels, source=findings.source,
        variates=numbered_variates(series[0].shape[1]),
    )  # fmt: skip


def _rows(x: Any, name: str) -> Sequence[Any]:
    """Each series of an array or of a list."""
    if not isinstance(x, list | tuple):
        x = np.asarray(x)
        if x.dtype != object and x.ndim not in (2, 3):
            raise DataError(f"{name}: series are (series, steps) or (series, steps, variates). Got {x.shape}.")
    if not len(x):
        raise DataError(f"{name}: it holds no series. Give some.")
    return list(x)


def _series(values: Any, name: str) -> NDArray[np.float64]:
    """One series `(steps, variates)`."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" or given.ndim not in (1, 2) or 0 in given.shape:
        raise DataError(
            f"{name}: a series holds numbers, (steps,) or (steps, variates), one or more of each. "
            f"Got {given.dtype.name} {given.shape}. Correct it or leave it out."
        )
    if np.isinf(given).any():
        raise DataError(f"{name}: values must be finite, or NaN where missing. Got an infinity. Correct it.")
    return given.astype(np.float64).reshape(len(given), -1)


def _labels(y: Any, count: int, name: str) -> tuple[str, ...]:
    given = np.asarray(y)
    if given.shape != (count,):
        raise DataError(f"{name}: one class is needed per series, ({count},). Got {given.shape}.")
    if given.dtype.kind == "f" and not (given == np.round(given)).all():
        raise DataError(f"{name}: classes are words or whole numbers. Got {given[given != np.round(given)][0]:g}.")
    return tuple(as_text(pd.Series(given)))


CHOSEN: Message = ("Choose the columns of numbers (", Fix("read.columns", like="NAME,NAME"), ")")
Codes = NDArray[np.int64]


def read_long(source: Any, options: SequenceOptions, findings: Findings, *, has_target: bool = True) -> Sequences:
    """Read a long table; rows of a series are successive steps, in the order of their times."""
    table = load_table(source, options, findings)
    name = _column(table, options.id, "id", ID_NAMES, findings)
    if name is None:
        fix = (
            "Name it (",
            Fix("read.id", like="NAME"),
            "): a long table has a row per step, and a column of their series.",
        )
        raise findings.fatal("columns", f"no column of series is among {listed(table.names)}", fix)
    target = _column(table, options.target, "target", CLASS_NAMES, findings) if has_target else None
    time = _column(table, options.time, "time", TIME_NAMES, findings)
    group = _column(table, options.group, "group", (), findings)
    variates = _variates(table, {name, target, time, group}, options, findings)
    values = parse_numbers(table, variates, findings, emptied=("Correct or empty them.",), chosen=CHOSEN)
    codes, ids = pd.factorize(as_text(table.frame[name]))
    order = _order(table, codes, ids, time, options, findings)
    series = np.split(values[order], np.flatnonzero(np.diff(codes[order])) + 1)
    check_observed(series, [Place(column=name, value=str(each)) for each in ids], findings)
    return Sequences(
        values=padded_series(series), names=tuple(map(str, ids)), variates=tuple(variates), source=findings.source,
        labels=_constant(table, target, codes, ids, findings), target_name=target,
        groups=_constant(table, group, codes, ids, findings),
    )  # fmt: skip


def looks_long(names: Sequence[str]) -> bool:
    """Whether columns are called as those of labelled series: a name, a time and a class."""
    known = {name.lower() for name in names}
    return all(known & set(usual) for usual in (ID_NAMES, TIME_NAMES, CLASS_NAMES))


def _column(table: RawTable, named: str | None, option: str, usual: tuple[str, ...], findings: Findings) -> str | None:
    """The named column, or the first with a usual name."""
    if named is not None:
        return require_column(table.names, named, option, findings)
    return next((name for name in table.names if name.lower() in usual), None)


def _variates(table: RawTable, roles: set[str | None], options: SequenceOptions, findings: Findings) -> list[str]:
    named = [require_column(table.names, name, "columns", findings) for name in options.columns or ()]
    variates = named or [name for name in table.names if name not in roles]
    if not variates:
        raise findings.fatal("columns", "no column of values is left", f"There are {listed(table.names)}.")
    return variates


def _order(
    table: RawTable, codes: Codes, ids: pd.Index, time: str | None, options: SequenceOptions, findings: Findings
) -> NDArray[np.int64]:
    """Rows series by series, each in the order of time; two rows of one series at one time are refused."""
    if time is None:
        return np.argsort(codes, kind="stable")
    times, good = parse_times(table, time, options, findings, field="read.time")
    if not good.all():
        raise findings.fatal("time", "rows have no sound time", "Correct them.")
    stamps = times.to_numpy()
    order: NDArray[np.int64] = np.lexsort((stamps, codes))
    repeats = np.flatnonzero((np.diff(codes[order]) == 0) & (stamps[order][1:] == stamps[order][:-1]))
    if len(repeats):
        places = [
            table.place(int(order[at + 1]), time, detail=f"series {ids[codes[order[at + 1]]]}") for at in repeats[:20]
        ]
        rule = f"{len(repeats)} rows have the series and the time of another one"
        raise findings.fatal("time", rule, "Keep one row per series and time.", places, len(repeats))
    return order


def _constant(
    table: RawTable, column: str | None, codes: Codes, ids: pd.Index, findings: Findings
) -> tuple[str, ...] | None:
    """Class or group of each series; every row of a series says the same."""
    if column is None:
        return None
    words = as_text(table.frame[column]).to_numpy(object)
    _, first = np.unique(codes, return_index=True)
    of_series = words[first]
    other = np.flatnonzero((words != of_series[codes]) | (words == ""))
    if len(other):
        place = table.place(int(other[0]), column, words[other[0]], f"series {quoted(ids[codes[other[0]]])}")
        fix = ("Write the same in every row of a series, or name another (", Fix("read.target", like="NAME"), ").")
        raise findings.fatal("class", f"a series has one {column}, in each of its rows", fix, [place], len(other))
    return tuple(map(str, of_series))
