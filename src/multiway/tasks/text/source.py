"""Texts with their classes: from a file, a frame or lists to samples, every flaw named."""

import dataclasses
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.config import Plain
from multiway.data.encoders.hashed import words_in
from multiway.data.findings import Findings, Unreadable, list_some, quote
from multiway.data.looking import are_classes
from multiway.data.options import FileOptions
from multiway.data.samples import SPLIT_OF, Samples, read_samples
from multiway.data.sources.cells import Column, as_text
from multiway.data.sources.columns import RawTable, require_column, require_columns, usual_column
from multiway.data.sources.frames import pair_of, source_name
from multiway.data.sources.tables import TEXT, has_plain_lines, load_table, load_texts_table
from multiway.data.sources.values import read_named_cells
from multiway.data.targets import OTHER_COLUMN, read_target
from multiway.errors import DataError, Fix
from multiway.tasks.kind import SampleKind
from multiway.tasks.text.config import TARGET_NAMES, LabelledTextOptions, TextConfig

TARGET = "target"
"""Column of classes that come as a list."""
TEXT_NAMES = ("text", "sentence", "review", "content", "document", "question", "tweet", "message", "comment", "body")
WORDS, LOOKED_AT = 3.0, 1000
"""Words of a cell, on average over the first ones, from which on a column of another name is one of texts."""
FEW_COLUMNS = 4
"""Columns of a table up to which one of distinct texts is what it is about."""
Strings = NDArray[np.object_]
"""Texts: single blanks between words; a second text stands on a line of its own below the first."""


def read_texts(source: object, options: LabelledTextOptions | None = None) -> Samples[Strings]:
    """Texts and their classes.

    The path of a CSV, TSV, JSONL, Excel or Parquet file, or of one text per line; a frame; a list of texts, or a pair
    of texts and classes.
    """
    given = options or LabelledTextOptions()
    return read_samples(source_name(source), lambda findings: texts_of(source, given, findings))


def texts_of(
    source: object,
    options: LabelledTextOptions,
    findings: Findings,
    known: Sequence[str] = (),
    target: str | None = None,
    classes: tuple[str, ...] | None = None,
) -> Samples[Strings]:
    """The same with flaws noted; the texts are sound only where no finding is an error.

    `known` has columns of texts that training had, to which the source is matched by name; then `target` and `classes`
    are those of the training as well. `target` is None where nobody looks for classes.
    """
    raw = load_texts(source, options, findings).sound()
    if known:
        if has_plain_lines(source) and len(known) == 1:
            raw = dataclasses.replace(raw, frame=raw.frame.rename(columns={TEXT: known[0]}))
        require_columns(raw.names, [*known, *([target] if target else [])], "the training", findings)
    else:
        raw = _keep_rows(raw, options, findings)
        known, target = _roles(raw, options, findings)
    texts = _texts(raw, known, options.empty == "error", findings)
    official, labels = _official(raw, options.split, findings), None
    if classes is None and official is not None and "test" not in official:
        fix = ("Give such rows, or name another column of splits (", Fix("read.split", like="NAME"), ").")
        findings.add("split", "error", f"column '{quote(str(options.split))}' names no rows to test on", fix)
    if target is not None:
        codes, names = read_target(raw, target, classes, options.kind, findings, otherwise=OTHER_COLUMN)
        labels, classes = codes.astype(np.int64), names
    return Samples(
        inputs=texts,
        source=findings.source,
        word="rows",
        target=labels,
        classes=classes,
        target_name=target,
        names={raw.unit: raw.rows.tolist(), "text": texts.tolist()},
        columns=tuple(known),
        rows=raw.rows,
        unit=raw.unit,
        keys=tuple(text.casefold() for text in texts),
        groups=read_named_cells(raw, options.group, "group", findings),
        official=official,
    )


def looks_like_texts(source: object) -> bool:
    """Whether it holds texts with classes: columns with the usual names, or one of distinct texts and few others."""
    if isinstance(source, tuple):
        values = source[0] if len(source) == 2 else ""
        is_frame = isinstance(values, str) or hasattr(values, "columns")
        return isinstance(values, Collection) and not is_frame and isinstance(next(iter(values), None), str)
    table = _table_of(source)
    if table is None:
        return False
    text, target = (usual_column(table.names, names) for names in (TEXT_NAMES, TARGET_NAMES))
    if text is not None and target is not None:
        return _count_words(table.columns[text]) >= WORDS
    wordy = _wordy(table, set())
    return (
        wordy is not None
        and 1 < len(table.names) <= FEW_COLUMNS
        and bool(table.frame[wordy].nunique() > len(table.frame) / 2)
    )


def may_hold_texts(source: object) -> bool:
    """Whether a column of a table has several words a cell."""
    table = None if isinstance(source, tuple) else _table_of(source)
    return table is not None and len(table.names) > 1 and _wordy(table, set()) is not None


def likely_target(source: object, options: LabelledTextOptions) -> str | None:
    """The column of classes: the one that is named, or called so, else one of few different cells."""
    table = _table_of(source)
    if table is None or options.target is not None:
        return options.target
    usual = usual_column(table.names, TARGET_NAMES)
    text = options.text or usual_column(table.names, TEXT_NAMES) or _wordy(table, set())
    others = [name for name in table.names if name != text]
    counts = {name: as_text(table.frame[name]).nunique() for name in others}
    few = [name for name, count in counts.items() if count > 1 and are_classes(count, len(table.frame))]
    return usual or (few[-1] if few else None)


def _table_of(source: object) -> RawTable | None:
    if isinstance(source, list | np.ndarray):
        return None
    try:
        return load_texts(source, FileOptions(), Findings(""))
    except (DataError, Unreadable):
        return None


def load_texts(source: object, options: FileOptions, findings: Findings) -> RawTable:
    """Columns of CSV, TSV, Excel, Parquet, JSON lines, a file of one text on each line, frames, or lists."""
    if isinstance(source, str | Path):
        return load_texts_table(source, options, findings)
    texts, classes = pair_of(source)
    if classes is None and hasattr(texts, "columns"):
        return load_table(texts, options, findings)
    columns: dict[str, Any] = {TEXT: list_texts(texts)}
    if classes is not None:
        columns[TARGET], count = np.asarray(classes), len(columns[TEXT])
        if columns[TARGET].shape != (count,):
            raise DataError(f"y: one class is needed per text, ({count},). Got {columns[TARGET].shape}.")
    return load_table(pd.DataFrame(columns), options, findings)


def list_texts(source: object) -> list[str]:
    """A list, a series or an array of texts as a list."""
    needed = "texts: a list or a series of str is needed."
    if isinstance(source, str) or not isinstance(source, Collection):
        raise DataError(f"{needed} Got {type(source).__name__}.")
    if getattr(source, "ndim", 1) != 1:
        raise DataError(f"{needed} Got an array of shape {getattr(source, 'shape', ())}.")
    texts = list(source)
    wrong = next((position for position, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise DataError(f"texts[{wrong}] must be text. Got {type(texts[wrong]).__name__}.")
    return list(map(str, texts))


def _keep_rows(raw: RawTable, options: LabelledTextOptions, findings: Findings) -> RawTable:
    """The rows that the options keep."""
    require_columns(raw.names, list(options.where), "where", findings)
    chosen = np.ones(len(raw.rows), dtype=bool)
    for name, value in options.where.items():
        chosen &= (as_text(raw.frame[name]) == value).to_numpy(bool)
    rows = np.flatnonzero(chosen)
    if options.first is None or options.split not in raw.names:
        rows = rows[: options.first]
    else:
        split = as_text(raw.frame[options.split].iloc[rows]).to_numpy()
        rows = pd.Series(rows).groupby(split, sort=False).head(options.first).to_numpy()
    if not len(rows):
        cells = ", ".join(f"{name} = {value}" for name, value in options.where.items())
        raise findings.fatal("where", f"no row has {quote(cells, 80)}", "Name cells that are there (read.where).")
    return raw.take(rows)


def _roles(raw: RawTable, options: LabelledTextOptions, findings: Findings) -> tuple[tuple[str, ...], str | None]:
    """Columns of texts and of classes: the named ones, else those with a usual name; of texts also the wordiest."""
    for option in ("second", "group", "split"):
        name = getattr(options, option)
        if name is not None:
            require_column(raw.names, name, option, findings)
    taken = {options.second, options.group, options.split, options.target, *options.where}
    text = options.text or usual_column(raw.names, TEXT_NAMES, taken) or _wordy(raw, taken)
    if text is None:
        fix = ("Name it (", Fix("read.text", like="NAME"), f"). There are {list_some(raw.names)}.")
        raise findings.fatal("text", "no column of texts was found", fix)
    require_column(raw.names, text, "text", findings)
    target = options.target or usual_column(raw.names, TARGET_NAMES, taken | {text})
    if target is not None:
        require_column(raw.names, target, "target", findings)
    return (text,) if options.second is None else (text, options.second), target


def _wordy(raw: RawTable, taken: set[str | None]) -> str | None:
    """The column of the most words, if those are several a cell."""
    counts = {name: _count_words(raw.columns[name]) for name in raw.names if name not in taken}
    best = max(counts, key=lambda name: counts[name], default=None)
    return best if best is not None and counts[best] >= WORDS else None


def _count_words(column: Column) -> float:
    """Words of a cell on average; none in a column of numbers or of times."""
    if pd.api.types.is_numeric_dtype(column.cells) or column.looks_like_time:
        return 0.0
    return float(as_text(column.cells.head(LOOKED_AT)).map(lambda cell: len(cell.split())).mean())


def _texts(raw: RawTable, columns: Sequence[str], is_error: bool, findings: Findings) -> Strings:
    """Texts with single blanks; a row without any is refused or noted."""
    parts = [[" ".join(text.split()) for text in as_text(raw.frame[name])] for name in columns]
    for name, texts in zip(columns, parts, strict=True):
        empty = [row for row, text in enumerate(texts) if not text]
        if empty:
            fix = ("Fill it in, or set empty to keep (", Fix("read.empty", "keep"), ").") if is_error else ""
            places = [raw.place(row, name) for row in empty[:20]]
            rule = f"{len(empty)} rows have no text"
            findings.add("text", "error" if is_error else "note", rule, fix, places, len(empty))
    return np.array(["\n".join(lines) for lines in zip(*parts, strict=True)], dtype=object)


def _official(raw: RawTable, name: str | None, findings: Findings) -> tuple[str, ...] | None:
    """Our name of each row's split; rows of others are warned of, or noted where they say what part, as ood_dev."""
    cells = read_named_cells(raw, name, "split", findings)
    if cells is None:
        return None
    splits = [SPLIT_OF.get(cell.lower(), "") for cell in cells]
    others = sorted({cell for cell, split in zip(cells, splits, strict=True) if not split})
    if others:
        count = splits.count("")
        are = "row is" if count == 1 else "rows are"
        rule = f"{count} {are} left out: column '{quote(str(name))}' says {list_some(others)}, which is no split"
        apart = all(SPLIT_OF.keys() & re.split(r"[\W_]+", cell.lower()) for cell in others)
        findings.add("split", "note" if apart else "warning", rule, "A split is called train, validation or test.")
    held = "test" if "test" not in splits else "validation"
    return tuple(held if split == "validation" else split for split in splits)


def propose_target(config: TextConfig, source: object) -> tuple[Fix, ...] | None:
    """A column of classes, where none is named or has a usual name."""
    target = likely_target(source, config.read)
    if target is None:
        return None
    return () if target == config.read.target or target.lower() in TARGET_NAMES else (Fix("read.target", target),)


def read_with_flaws(
    config: TextConfig,
    source: object,
    findings: Findings,
    state: Any = None,
    *,
    has_target: bool = True,
) -> Samples[Strings]:
    """Texts; later ones matched by the names of their columns."""
    if state is None:
        return texts_of(source, config.read, findings)
    target = state.target_name if has_target else None
    return texts_of(source, config.read, findings, state.columns, target, state.classes)


def describe_texts(samples: Samples[Strings]) -> Plain:
    """Texts and their lengths."""
    lengths = [len(words_in(text)) for text in samples.inputs]
    return {
        "rows": len(samples),
        "text": " and ".join(samples.columns),
        "words": f"{np.median(lengths):.0f} in the middle, {max(lengths)} at most",
        "different texts": len(set(samples.keys or ())),
    }


TEXTS = SampleKind(
    recognises=looks_like_texts,
    could_take=lambda source, *, is_chosen=False: may_hold_texts(source),
    proposal=propose_target,
    read=read_with_flaws,
    describe=describe_texts,
)
