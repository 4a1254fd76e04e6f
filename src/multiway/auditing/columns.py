"""Whether columns of a table give its target away: one alone, a formula of several, or the target of a later row."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.auditing.look_ahead import FORESEEN, foreseen
from multiway.auditing.near import check_near_rows
from multiway.auditing.probes import (
    Floats,
    Ints,
    Parts,
    ProbeErrors,
    class_numbers,
    explained_by_column,
    explained_by_sum,
    held_out,
)
from multiway.auditing.report import Verdict, found
from multiway.data.findings import quoted
from multiway.data.samples import Cells, Prepared
from multiway.errors import Fix

SURE = 0.94
"""Share of the commonest class's errors that one column must surely remove; honest ones remove less."""
COPY = 0.998
"""R² of the ranks that one column of numbers must reach."""
FORMULA = 0.9999
"""R² that a weighted sum must reach; measured things never fit so well."""
USUAL = 4.0
"""Repeats may be this much more frequent than chance makes them."""
LEAST_ROWS = 50
LAGS = 24
NAMED = Fix("read.drop", like="NAME")
DROP = ("Leave it out (", NAMED, "), unless it is known before the target is.")


def check_giveaways(prepared: Prepared[Cells, Any], known: Collection[str] = ()) -> Iterator[Verdict | None]:
    """What one column, a formula, noise on a doubled row, a later row or the order of the rows gives away.

    known: Columns that are said to be the target already.
    """
    table, train, rest = prepared.raw, prepared.rows("train"), _rest(prepared)
    cells, groups = table.inputs, None if table.groups is None else class_numbers(table.groups)
    labels = np.zeros(len(table), np.int64) if table.labels is None else table.labels
    parts, target = held_out(train, rest, labels, groups), table.truth.astype(np.float64)
    numbers = dict(zip(cells.of_numbers, cells.numbers.T, strict=True))
    for name, column in numbers.items():
        if name not in known:
            yield check_column(name, column, target, parts, classes=table.labels is not None)
    yield check_near_rows(cells.numbers, train, rest)
    if table.labels is None:
        words = dict(zip(cells.of_words, cells.words.T, strict=True))
        yield check_formula(numbers, words, target, train, rest)
    if table.times is not None and numbers and len(table) >= LEAST_ROWS:
        yield from check_later(numbers, target, np.argsort(table.times, kind="stable"))
    elif table.labels is not None:
        yield check_row_order(table.labels, parts, prepared.rows(""))


def usual_repeats(prepared: Prepared[Cells, Any]) -> float:
    """Share of rows that may equal a training row in tables of few values, well above what chance makes."""
    table, train = prepared.raw, prepared.rows("train")
    columns = [*table.inputs.numbers.T, *table.inputs.words.T]
    if table.labels is None:
        return USUAL * chance_of_repeats([*columns, table.truth], train, _rest(prepared), np.zeros(len(table), int))
    return USUAL * chance_of_repeats(columns, train, _rest(prepared), table.labels)


def _rest(prepared: Prepared[Cells, Any]) -> Ints:
    return np.concatenate([prepared.rows(name) for name in ("validation", "test")])


def check_column(name: str, column: Floats, target: Floats, parts: Parts, *, classes: bool) -> Verdict | None:
    """Whether one column alone tells nearly everything; None where it does not."""
    if len(target) < LEAST_ROWS or np.isnan(column).all():
        return None
    if classes:
        errors = ProbeErrors.of_column(column, target.astype(np.int64), parts)
        if errors.surely_removed <= SURE:
            return None
        said = f"{errors.count} errors on rows held out, where the commonest class makes {errors.usual}"
    else:
        explained = explained_by_column(column, target, parts)
        if explained <= COPY:
            return None
        said = f"{explained:.3%} of the variance of its ranks on rows held out"
    return found("copy", "error", f"column {quoted(name)} alone tells the target: {said}", DROP)


def check_formula(
    numbers: Mapping[str, Floats], levels: Mapping[str, NDArray[np.object_]], target: Floats, learnt: Ints, judged: Ints
) -> Verdict | None:
    """Whether a weighted sum of columns, or of their logarithms, gives a target of numbers to four digits."""
    coded = [values[:, None] == np.unique(values[learnt].astype(str)) for values in levels.values()]
    hot = np.hstack(coded).astype(np.float64) if coded else np.empty((len(target), 0))
    plain = {name: np.nan_to_num(column, nan=float(np.nanmean(column))) for name, column in numbers.items()}
    positive = {name: np.log(column) for name, column in plain.items() if (column > 0).all()}
    kinds = [("weighted sum", plain, target)]
    kinds += [("product of powers", positive, np.log(target))] if positive and (target > 0).all() else []
    for kind, columns, wanted in kinds:
        matrix = np.column_stack([*columns.values(), hot])
        if len(learnt) < max(LEAST_ROWS, 3 * matrix.shape[1]):
            continue
        explained = explained_by_sum(matrix, wanted, learnt, judged)
        if explained > FORMULA:
            return found(
                "formula", "error", f"a {kind} of the columns gives the target: R² {explained:.6f} on rows held out",
                ("Leave out what the target is computed from (", NAMED, ")."),
            )  # fmt: skip
    return "no formula of the columns gives the target"


def check_later(numbers: Mapping[str, Floats], target: Floats, order: Ints) -> Iterator[Verdict]:
    """Whether a column holds the target of a later row, in the order of time."""
    values = np.column_stack([target, *numbers.values()])[order]
    removed = foreseen(values, LAGS)[0, 1:]
    told = [name for name, share in zip(numbers, removed, strict=True) if share > FORESEEN]
    for name in told:
        share = removed[list(numbers).index(name)]
        rule = f"column {quoted(name)} knows the target of later rows: it removes {share:.1%} of what their past leaves"
        yield found("shifted", "error", rule, DROP)
    if not told:
        yield "no column knows the target of later rows"


def check_row_order(labels: Ints, parts: Parts, rows: Ints) -> Verdict:
    """Whether the place of a row in the file tells its class; no model reads it, but an identifier may follow it."""
    errors = ProbeErrors.of_column(rows.astype(np.float64), labels, parts)
    if errors.surely_removed <= SURE:
        return "the order of the rows does not tell the class"
    return found(
        "order", "note", "rows stand class by class, so whatever counts them tells the class",
        "Keep identifiers and times out of the inputs.",
    )  # fmt: skip


def chance_of_repeats(columns: Sequence[NDArray[np.generic]], train: Ints, rest: Ints, kinds: Ints) -> float:
    """Share of rows that equal a training row by chance, were the columns independent within each kind of row."""
    chance = np.zeros(len(rest))
    for kind in np.unique(kinds[rest]):
        learnt, judged = train[kinds[train] == kind], kinds[rest] == kind
        if len(learnt):
            each = np.prod([_frequency(column[learnt], column[rest[judged]]) for column in columns], axis=0)
            chance[judged] = 1 - (1 - each) ** len(learnt)
    return float(chance.mean()) if len(rest) else 0.0


def _frequency(known: NDArray[np.generic], wanted: NDArray[np.generic]) -> Floats:
    """Share of the known cells that are like each wanted one."""
    values, counts = np.unique(known.astype(str), return_counts=True)
    place = np.minimum(np.searchsorted(values, wanted.astype(str)), len(values) - 1)
    return np.where(values[place] == wanted.astype(str), counts[place], 0) / len(known)
