"""Targets of samples: classes by name, or numbers."""

import itertools
import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, list_some, quote, refuse_huge
from multiway.data.options import LabelKind, TargetKind
from multiway.data.samples import Samples
from multiway.data.sources.cells import (
    LARGEST,
    NOWHERE,
    NUMBER,
    SIGNS,
    TRUTHS,
    Column,
    as_text,
    has_comma,
    parse_cells,
    with_truths,
)
from multiway.data.sources.columns import RawTable
from multiway.data.sources.frames import as_pandas
from multiway.data.sources.values import AS_DECIMALS
from multiway.errors import DataError, Fix, Message

FEW_NUMBERS = 10
"""Up to so many different whole numbers are classes, if they repeat."""
ROWS_PER_CLASS = 5
MAX_CLASSES = 1000
MARKS = ".,;:!'\"` \t"
JOINED = "|"
MARKS_OF_LABELS = (JOINED, ";", ",")
"""What parts the labels of a cell."""

AS_NUMBERS: Message = ("Give another target, or set kind to number if it is one (", Fix("read.kind", "number"), ").")
LABELS = Fix("read.kind", "labels")
OTHER_COLUMN: Message = ("Name another column (", Fix("read.target", like="NAME"), ").")


def read_target(
    table: RawTable,
    name: str,
    classes: tuple[str, ...] | None,
    kind: LabelKind,
    findings: Findings,
    *,
    otherwise: Message = AS_NUMBERS,
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Targets of all rows and, unless they are numbers, the names of their classes, which later data take as given.

    kind: Of the target; `auto` takes words, truth values and a few whole numbers as classes, all else as numbers.
    otherwise: What helps where they are no classes.
    """
    column = table.columns[name]
    if kind == "labels":
        labels, names = read_labels(column.words.tolist(), classes, findings.source, "rows")
        return labels.astype(np.float64), names
    text = name_truths(column.words, classes)
    rows = np.flatnonzero(text == "")
    if len(rows):
        rule = f"{len(rows)} of {len(text)} rows have no target"
        raw = as_text(column.raw.iloc[rows[:20]]).tolist()
        places = [table.place(int(row), name, cell or None) for row, cell in zip(rows, raw, strict=False)]
        words = "; if a word such as NA is a class, write it otherwise" if any(raw) else ""
        raise findings.fatal("target", rule, f"Fill it in, or leave these rows out{words}.", places, len(rows))
    if classes is not None or are_classes(kind, column.values if column.holds_numbers else None):
        return _labels(table, name, text, classes, kind, findings, otherwise)
    return _numbers(table, column, text, findings), None


def read_labels(
    cells: Sequence[str], known: tuple[str, ...] | None, source: str, word: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Which labels each cell names, 0 or 1 in `(cells, labels)`, and their names; an empty cell names none.

    The first of | ; and , that is in any cell parts labels. `known` are those of the training.
    """
    mark = next((mark for mark in MARKS_OF_LABELS if any(mark in cell for cell in cells)), JOINED)
    sets = [{part.strip() for part in cell.split(mark)} - {""} for cell in cells]
    every = set().union(*sets)
    names = in_order(np.array(sorted(every), dtype=object)) if known is None else known
    if other := sorted(every - set(names)):
        raise DataError(f"{source}: labels are those of the training, {list_some(names)}. Got {list_some(other)}.")
    if not 2 <= len(names) <= MAX_CLASSES:
        got = f"Got {len(names)} ({list_some(names, 4)}) in {len(cells)} {word}"
        raise DataError(f"{source}: two to {MAX_CLASSES:,} labels are needed. {got}. ", *OTHER_COLUMN)
    return np.array([[name in own for name in names] for own in sets], dtype=np.int64).reshape(-1, len(names)), names


def match_labels(samples: Samples[Any], known: tuple[str, ...]) -> NDArray[np.int64]:
    """Labels of later samples as columns of those of the training."""
    cells = join_labels(samples.truth, samples.classes or ())
    return read_labels(cells, known, samples.source, samples.word)[0]


def join_labels(truth: NDArray[Any], names: Sequence[str]) -> list[str]:
    """Labels of each case in one cell, `cyst|stone`, by which of them are there, `(cases, labels)`."""
    return [JOINED.join(itertools.compress(names, row)) for row in truth]


def label_cells(y: Any) -> list[str]:
    """Labels of each case in one cell: from collections of them, from columns of 0 and 1, or as they are."""
    if getattr(y, "ndim", 1) == 2:
        values = np.asarray(y)
        names = [str(name) for name in getattr(y, "columns", range(values.shape[1]))]
        if not np.isin(values, (0, 1)).all():
            raise DataError("y: columns of labels hold 0 and 1. Got other values.")
        return join_labels(values, names)
    return [own if isinstance(own, str) else JOINED.join(sorted(map(str, own))) for own in y]


def are_classes(kind: TargetKind, values: NDArray[np.float64] | None, each: int = ROWS_PER_CLASS) -> bool:
    """Whether targets are classes: as `kind` says, else words, for which `values` is None, or few whole numbers.

    These are few if there are so many samples for each, on average.
    """
    if kind != "auto" or values is None:
        return kind != "number"
    most = min(FEW_NUMBERS, len(values) / each)
    return bool((values == np.round(values)).all()) and len(np.unique(values)) <= most


def name_truths(text: pd.Series, classes: tuple[str, ...] | None = None) -> pd.Series:
    """Truth values by their one name, where the classes are nothing else."""
    named = with_truths(text)
    known = {cell for cell in named.unique() if cell} if classes is None else set(classes)
    return named if known == {"False", "True"} else text


def _labels(
    table: RawTable,
    name: str,
    text: pd.Series,
    classes: tuple[str, ...] | None,
    kind: TargetKind,
    findings: Findings,
    otherwise: Message,
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    found = in_order(text.unique())
    most = MAX_CLASSES if kind == "classes" else min(MAX_CLASSES, len(text) / 2)
    if classes is None and not 2 <= len(found) <= most:
        count = "one class" if len(found) == 1 else f"{len(found):,} classes in {len(text):,} rows"
        raise findings.fatal("target", f"the target '{quote(name)}' has {count}", otherwise)
    note_spellings(name, found, findings)
    joined = [each for each in found if JOINED in each and set(each.split(JOINED)) & set(found)]
    if classes is None and joined:
        said = f"classes such as '{quote(joined[0])}' look like several labels in one cell"
        findings.add("classes", "note", said, ("Texts, images and scans take them so (", LABELS, ")."))
    written = _as_written(table.columns[name], text)
    if classes is None:
        pairs = pd.DataFrame({"cell": text.to_numpy(object), "written": written}).drop_duplicates()
        ways = pairs.groupby("cell")["written"].agg(list).to_dict()
        several = {cell: forms for cell, forms in ways.items() if len(forms) > 1}
        if several:
            cell, forms = next(iter(several.items()))
            shown = f"written as {list_some([*map(quote, forms)])} and named {quote(cell)}"
            findings.add("classes", "note", f"classes of '{quote(name)}' are {shown}")
        classes = tuple(cell if cell in several else str(ways[cell][0]) for cell in found)
    codes = pd.Index(classes, dtype=object).get_indexer(pd.Index(written, dtype=object))
    if (codes < 0).any():  # as later data may spell them otherwise
        values = pd.Index([*map(_value_of, classes)], dtype=object)
        if values.is_unique:
            codes = np.where(codes < 0, values.get_indexer(pd.Index([*map(_value_of, text)], dtype=object)), codes)
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        places = [table.place(int(row), name, text.iloc[row]) for row in unknown[:20]]
        rule = f"{len(unknown)} targets are none of the classes {list_some(classes)}"
        raise findings.fatal("target", rule, "Correct them, or leave these rows out.", places, len(unknown))
    return codes.astype(np.float64), classes


def _as_written(column: Column, text: pd.Series) -> NDArray[np.object_]:
    """Cells as they stood in the file where they were read as numbers, 1.0 and 10 %; truth values by their one name."""
    if column.text is None:
        return text.to_numpy(object)
    written = as_text(column.raw).to_numpy(object)
    return np.where(np.isin(written.astype(str), list(TRUTHS)), text.to_numpy(object), written)


def _value_of(name: str) -> str:
    """The number that a class is, without what it is written with; another name as it is."""
    number = name.strip(f"{SIGNS} ")
    return f"{float(number):.17g}" if re.fullmatch(NUMBER, number) else name


def note_spellings(name: str, found: Sequence[str], findings: Findings) -> None:
    """Warn of classes that are one number, written in two ways."""
    values, bad, _ = parse_cells(pd.Series(found, dtype="string"))
    numbers = pd.Series(values, index=list(found))[~bad]
    same = numbers[numbers.duplicated(keep=False)]
    if len(same):
        rule = f"classes of '{quote(name)}' are one number in several spellings: {list_some(same.index)}"
        findings.add("classes", "warning", rule, "Write one of them if they are one class.")


def note_near_names(name: str, found: Sequence[str], findings: Findings) -> None:
    """Warn of classes whose names differ in capitals, blanks or marks around them alone, as <=50K and <=50K. do."""
    plain = pd.Series([" ".join(each.casefold().strip(MARKS).split()) for each in found], index=list(found))
    same = plain[plain.duplicated(keep=False)]
    if len(same):
        rule = f"classes of '{quote(name)}' differ in capitals, blanks or marks alone: {list_some(same.index)}"
        findings.add("classes", "warning", rule, "Write one of them if they are one class.")


def in_order(names: NDArray[np.object_]) -> tuple[str, ...]:
    """Numbers in their order, words by the alphabet."""
    values, bad, _ = parse_cells(pd.Series(names, dtype="string"))
    order = np.argsort(values, kind="stable") if not bad.any() else np.argsort(names.astype(str), kind="stable")
    return tuple(str(name) for name in names[order])


def classes_of(labels: Sequence[str], source: str, word: str) -> tuple[str, ...]:
    """Every class of training labels once: numbers in their order, words by the alphabet."""
    absent = [row for row, label in enumerate(labels) if not label]
    if absent:
        raise DataError(f"{source}: every one of the {word} needs a class. Number {absent[0]} has none. Fill it in.")
    classes = in_order(np.array(sorted(set(labels)), dtype=object))
    if not 2 <= len(classes) <= min(MAX_CLASSES, len(labels) / 2):
        rule = f"two classes or more are needed, with two {word} or more each"
        got = f"Got {len(classes)} ({list_some(classes, 4)}) in {len(labels)} {word}"
        raise DataError(f"{source}: {rule}. {got}. ", *OTHER_COLUMN)
    return classes


def _numbers(table: RawTable, column: Column, text: pd.Series, findings: Findings) -> NDArray[np.float64]:
    name, values = column.name, column.values
    rows = np.concatenate([NOWHERE, *(flaw.rows for flaw in column.flaws if flaw.kind == "number")])
    if len(rows):
        cells = [text.iloc[row] for row in rows[:20]]
        start: Message = (*AS_DECIMALS, ". ") if all(map(has_comma, cells)) else ("Correct them. ",)
        fix = (*start, "If they are classes, set kind to classes (", Fix("read.kind", "classes"), ").")
        places = [table.place(int(row), name, cell) for row, cell in zip(rows, cells, strict=False)]
        raise findings.fatal("target", f"{len(rows)} targets are no finite number", fix, places, len(rows))
    huge = np.flatnonzero(np.abs(values) > LARGEST)
    places = [table.place(int(row), name, text.iloc[row]) for row in huge[:20]]
    refuse_huge(len(huge), places, findings, "Correct them, or write the target in a larger unit.", LARGEST)
    if len(values) > 1 and (values == values[0]).all():
        raise findings.fatal("target", f"the target '{quote(name)}' never changes", "Give another target.")
    return values


def join_table(X: object, y: object) -> tuple[pd.DataFrame, str]:
    """Rows with their targets as one frame, and the name of the targets' column."""
    frame = as_pandas(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    targets = np.asarray(y)
    if targets.shape != (len(frame),):
        raise DataError(f"y: one target is needed per row, ({len(frame)},). Got {targets.shape}.")
    name = free_name("target", frame.columns)
    return frame.assign(**{name: targets}), name


def free_name(name: str, taken: Collection[str]) -> str:
    """A name of a column that no other has."""
    while name in taken:
        name += "_"
    return name
