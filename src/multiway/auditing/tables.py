"""Audit of a table and its split: repeated rows, copies of the target, what single columns and scaling tell."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.auditing.columns import NAMED, check_giveaways, usual_repeats
from multiway.auditing.report import AuditReport, Verdict, found
from multiway.auditing.samples import as_note, audited, check_codes, check_scaling, check_splits
from multiway.data import Finding
from multiway.data.samples import Cells, Prepared, Samples
from multiway.data.scaling import Scaler

COPY = 0.999
"""Rank correlation with the target from which on a column of numbers is called a copy of it."""
NEARLY = 0.05
"""Share of the commonest class's errors that a copy of classes may leave."""
BINS = 20
TOLERATED = 0.01
"""Share of a split's rows that may repeat training rows; more where few values make it likely."""


def audit_table(prepared: Prepared[Cells, Any], used: Scaler | None = None) -> AuditReport:
    """Whether rows or groups are in two splits, and whether a column gives the target away.

    Args:
        prepared: The table with its splits.
        used: The scale of the numbers that a run trained with; its own if not given.
    """
    return audited(prepared, _verdicts(prepared, used))


def _verdicts(prepared: Prepared[Cells, Any], used: Scaler | None) -> Iterator[Verdict | None]:
    table = prepared.raw
    yield from check_splits(prepared, row_digests(table), "rows", tolerated=max(TOLERATED, usual_repeats(prepared)))
    copies = copies_of_target(table)
    rule = f"{len(copies)} columns are the target under another name"
    leave = ("Leave them out (", NAMED, ").")
    yield found("copy", "error", rule, leave, copies) if copies else "no column is the target"
    yield from check_giveaways(prepared, copies)
    if table.classes is not None:
        told = (as_note(check_codes(prepared, {n: codes}, f"column {n}")) for n, codes in column_codes(table.inputs))
        yield from (verdict for verdict in told if isinstance(verdict, Finding))
    if table.inputs.of_numbers:
        yield check_scaling(prepared, used, table.inputs.of_numbers)


def row_digests(table: Samples[Cells]) -> list[bytes]:
    """A hash of each row, target included."""
    names, frame = table.classes, table.inputs.frame()
    target = table.truth if names is None else np.array(names, object)[table.truth]
    hashes = pd.util.hash_pandas_object(frame.assign(**{table.target_name or "": target}), index=False)
    return [value.tobytes() for value in hashes.to_numpy()]


def column_codes(cells: Cells) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """A whole number for each cell of every input; numbers of many values fall into 20 bins of as many rows."""
    for name, column in zip(cells.of_numbers, cells.numbers.T, strict=True):
        is_fine = len(np.unique(column)) > BINS
        codes = pd.qcut(column, BINS, labels=False, duplicates="drop") if is_fine else column
        yield name, pd.factorize(codes)[0].astype(np.int64)
    for name, words in zip(cells.of_words, cells.words.T, strict=True):
        yield name, pd.factorize(words)[0].astype(np.int64)


def copies_of_target(table: Samples[Cells]) -> list[str]:
    """Inputs that are the target under another name, as words or in other units, as far as one column shows it."""
    target, cells = pd.Series(table.truth), table.inputs
    if table.classes is not None:
        return [name for name, codes in column_codes(cells) if _tells(pd.Series(codes), target)]
    columns = zip(cells.of_numbers, cells.numbers.T, strict=True)
    return [name for name, column in columns if abs(pd.Series(column).rank().corr(target.rank())) > COPY]


def _tells(codes: pd.Series, target: pd.Series) -> bool:
    """Whether the commonest class of each value is that of nearly all rows, and rows share values."""
    counts = pd.crosstab(codes, target).to_numpy()
    errors, usual = len(target) - counts.max(1).sum(), len(target) - counts.sum(0).max()
    return bool(len(counts) <= len(target) / 2 and errors <= NEARLY * usual)
