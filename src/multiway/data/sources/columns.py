"""Which columns are times, names and values; and cells turned into numbers or days, naming each that is none."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, listed, quoted
from multiway.data.samples import Cells
from multiway.data.sources.cells import (
    CERTAIN,
    COMMA,
    EMPTY_CELLS,
    GROUPED,
    MONEY,
    TIME_NAMES,
    WITH_BOTH,
    RawTable,
    are_nothing,
    are_spelled,
    distinct_cells,
    has_comma,
    has_decimal_commas,
    has_grouped_points,
    is_grouped,
    is_label,
    is_text,
    keeps_spelling,
    numbers_of,
    parse_cells,
    plain_numbers,
    sound_text,
    with_truths,
    without_marks,
    words,
)
from multiway.data.sources.options import FileOptions, ReadOptions
from multiway.data.sources.periods import PERIODS, first_days, period_of
from multiway.data.sources.text import TextColumns
from multiway.data.sources.times import ISO, best_reading, looks_like_time, read_stamps
from multiway.errors import Fix, Message, closest

PARTIAL_TIMES = ("day", "month", "year", "week")
AS_DECIMALS: Message = (
    "Set decimal to ',', or to '.' where commas separate thousands (",
    Fix("read.decimal", ","),
    ")",
)
"""What helps where points of numbers are commas."""
CLOCK = r"(:\d\d(?:\.\d+)?)\s*(?:Z|[+-]\d\d:?\d\d)$"
"""A time of day with its offset from UTC, which the clock does not show."""
EPOCH, DAY = np.datetime64("1970-01-01", "us"), np.timedelta64(1, "D")


def columns_of_text(text: TextColumns, options: FileOptions, findings: Findings) -> RawTable:
    """Numbers where all cells of a column are finite ones, written with one decimal mark; other columns stay text."""
    decimal = "," if options.decimal == "," else "."
    columns = _read_numbers(text, decimal, options)
    if options.decimal == "auto" and text.separator != ",":
        commas = [name for name, cells in _texts_in(columns, options) if has_decimal_commas(cells)]
        if commas:
            findings.add("decimal", "note", f"commas separate decimals, as in columns {listed(commas)}")
            decimal, columns = ",", _read_numbers(text, ",", options)
    if decimal == ",":
        grouped = [name for name, cells in _texts_in(columns, options) if has_grouped_points(cells)]
    else:
        has_fractions = any(cells.dtype == float and (cells % 1 > 0).any() for cells in columns.values())
        grouped = [name for name, cells in _texts_in(columns, options) if has_fractions and is_grouped(cells, GROUPED)]
        if grouped:
            findings.add("thousands", "note", f"commas separate thousands in columns {listed(grouped)}")
    columns |= {name: plain_numbers(columns[name], "." if decimal == "," else ",", decimal) for name in grouped}
    return RawTable(
        frame=pd.DataFrame(columns),
        rows=text.rows,
        unit="line",
        broken=text.broken,
        texts={name: cells for name, cells in text.columns.items() if not is_text(columns[name].dtype)},
    )


def _read_numbers(text: TextColumns, decimal: str, options: FileOptions) -> dict[str, pd.Series]:
    columns = {}
    for name, cells in text.columns.items():
        numbers = None if is_label(name, options) else numbers_of(cells, decimal)
        columns[name] = cells.to_pandas() if numbers is None else pd.Series(numbers)
        if numbers is not None and keeps_spelling(name, options) and are_spelled(cells.to_pandas()):
            columns[name] = cells.to_pandas()
    return columns


def _texts_in(columns: Mapping[str, pd.Series], options: FileOptions) -> Iterator[tuple[str, pd.Series]]:
    """Columns of text that may be numbers."""
    for name, column in columns.items():
        if is_text(column.dtype) and not is_label(name, options):
            yield name, column


def with_plain_numbers(table: RawTable, options: FileOptions, findings: Findings) -> RawTable:
    """Turn columns into numbers whose thousands are separated in every cell, and where one can mean nothing else.

    A currency or percent sign that every cell has is left out. Dollars and the like have no three decimals.
    """
    columns = _worded(table, options)
    holed = _holed(columns, findings)
    columns |= holed
    signed = {name: found for name, column in columns.items() if (found := _bare(column, name, findings)) is not None}
    bare = {name: cells for name, (cells, _) in signed.items()}
    columns |= bare
    sure = columns if options.decimal == "." else {name for name, (_, sign) in signed.items() if sign in MONEY}
    commas = {} if options.decimal == "." else {
        name: plain_numbers(column, ".", ",") for name, column in columns.items()
        if has_decimal_commas(column, WITH_BOTH if options.decimal == "auto" else COMMA)
    }  # fmt: skip
    points = {
        name: plain_numbers(column, ",")
        for name, column in columns.items()
        if name not in commas and is_grouped(column, GROUPED if name in sure else CERTAIN)
    }
    if commas and options.decimal == "auto":
        findings.add("decimal", "note", f"commas separate decimals in columns {listed(commas)}")
    if points:
        findings.add("thousands", "note", f"commas separate thousands in columns {listed(points)}")
    changed = {**holed, **bare, **commas, **points}
    return dataclasses.replace(table, frame=table.frame.assign(**changed)) if changed else table


def _worded(table: RawTable, options: FileOptions) -> dict[str, pd.Series]:
    """Columns of text that may be numbers."""
    return {
        str(name): column.map(sound_text, na_action="ignore") if column.dtype == object else column
        for name, column in table.frame.items()
        if is_text(column.dtype) and not is_label(str(name), options) and not _holds_lists(column)
    }


def _holed(columns: dict[str, pd.Series], findings: Findings) -> dict[str, pd.Series]:
    """Columns of numbers without the marks of missing values that some have, which a note names."""
    marked = {name: held for name, column in columns.items() if (held := _without_nothing(column)) is not None}
    if marked:
        marks = sorted({mark for _, own in marked.values() for mark in own})
        findings.add("marks", "note", f"cells of {listed(marks)} in columns {listed(marked)} are missing")
    return {name: cells for name, (cells, _) in marked.items()}


def _without_nothing(column: pd.Series) -> tuple[pd.Series, list[str]] | None:
    """The cells without marks of missing values, and these marks; None where there are none."""
    cells, rows = distinct_cells(column)
    text = cells.astype("string").str.strip()
    marks = are_nothing(text[text.notna() & ~text.isin(EMPTY_CELLS)])
    if not marks.any():
        return None
    held = marks.index[marks]
    return cells.drop(held).reindex(cells.index).take(rows).set_axis(column.index), list(text[held].unique())


def _bare(column: pd.Series, name: str, findings: Findings) -> tuple[pd.Series, str] | None:
    """The cells without the sign that all of them have, which a note names, and it; None where they have none."""
    cells, rows = distinct_cells(column)
    cells = cells.astype("string").str.strip()
    is_empty = cells.isna() | cells.isin(EMPTY_CELLS)
    found = without_marks(cells[~is_empty])
    if found is None:
        return None
    numbers, sign = found
    said = "parentheses stand for a minus" if sign == "()" else f"numbers stand without their {sign}"
    findings.add("signs", "note", f"{said} in column '{name}'")
    return numbers.reindex(cells.index).take(rows).set_axis(column.index), sign


def _holds_lists(column: pd.Series) -> bool:
    """Whether cells are lists or objects of JSON, or bytes."""
    return column.dtype == object and any(isinstance(cell, list | dict | bytes) for cell in column)


def find_time_column(table: RawTable, options: ReadOptions, findings: Findings) -> str | None:
    """The named column, else one with a usual name, else the first of dates, else a leading counter, else none."""
    names = table.names
    if options.time_column is not None:
        return require_column(names, options.time_column, "time_column", findings)
    seen = column_of_times(table)
    if seen is not None:
        return seen
    if len(names) > 1 and _is_counter(table.frame[names[0]]):
        return names[0]
    findings.add("time", "note", "no column of times was found, so rows are counted 0, 1, 2, …")
    return None


def column_of_times(table: RawTable) -> str | None:
    """The first column with a usual name, else the first of dates, else the only one of days, weeks or months."""
    usual = [name for name in table.names if name.lower() in TIME_NAMES and name.lower() not in PARTIAL_TIMES]
    dated = [name for name in table.names if looks_like_time(table.frame[name])]
    partial = [name for name in table.names if name.lower() in PARTIAL_TIMES]
    if usual or dated or len(partial) == 1:
        return (usual or dated or partial)[0]
    return None


def _is_counter(raw: pd.Series) -> bool:
    if not pd.api.types.is_numeric_dtype(raw) or len(raw) < 3:
        return False
    steps = np.diff(raw.to_numpy(np.float64, na_value=np.nan))
    return bool(steps[0] > 0 and steps[0] == np.round(steps[0]) and (steps == steps[0]).all())


def usual_column(names: Sequence[str], known: Sequence[str], taken: Collection[str | None] = ()) -> str | None:
    """The column that has the first of the known names, whatever its case, and is not taken."""
    own = {name.lower(): name for name in reversed(names) if name not in taken}
    return next((own[name] for name in known if name in own), None)


def require_column(names: list[str], name: str, option: str, findings: Findings) -> str:
    """The name itself if it is there."""
    return require_columns(names, [name], option, findings)[0]


def require_columns(names: list[str], wanted: Sequence[str], option: str, findings: Findings) -> list[str]:
    """The wanted names themselves if all are there."""
    absent = [quoted(name) for name in wanted if name not in names]
    if absent:
        named = listed([f"'{name}'" for name in absent])
        near = closest(absent[0], map(quoted, names)).removeprefix(".").lstrip("; ").capitalize()
        rule = f"{option} names {named}, which {'is' if len(absent) == 1 else 'are'} not there"
        raise findings.fatal("columns", rule, f"{near} There are {listed(names)}.".strip())
    return list(wanted)


def named_cells(table: RawTable, name: str | None, what: str, findings: Findings) -> tuple[str, ...] | None:
    """Cells of a named column as text, each of which says something; None where no column is named, or it lacks."""
    if name is None or name not in table.names:
        return None
    cells = words(table.frame[name])
    rows = np.flatnonzero(cells == "")
    if len(rows):
        places = [table.place(int(row), name) for row in rows[:20]]
        findings.add(what, "error", f"{len(rows)} rows have no {what}", "Fill it in.", places, len(rows))
    return tuple(cells)


EMPTIED: Message = ("Correct them, or empty them and set missing to mask or ffill (", Fix("read.missing", "mask"), ").")
CHOSEN: Message = ("Choose the columns of numbers with variates (", Fix("read.variates", like="NAME,NAME"), ")")


CATEGORIES = Fix("read.categories", like="NAME")
OF_INPUTS: Message = ("Correct or empty them, or take the column as categories (", CATEGORIES, ").")
OTHERS: Message = ("Correct them, or choose the other columns (", Fix("read.columns", like="NAME,NAME"), ")")


def parse_numbers(
    table: RawTable, columns: list[str], findings: Findings,
    *, emptied: Message = EMPTIED, chosen: Message = CHOSEN, rounded: bool = False,
) -> NDArray[np.float64]:  # fmt: skip
    """Numbers of the columns, NaN where a cell is empty; what is no finite number is a finding and left infinite.

    emptied, chosen: What helps against such cells, and against columns of words, as parts of a message.
    rounded: Take whole numbers with more digits than float64 keeps.
    """
    values = np.empty((len(table.frame), len(columns)), dtype=np.float64)
    wrong: list[tuple[int, str, str]] = []
    long: list[tuple[int, str, str]] = []
    worded: list[tuple[str, str]] = []
    for position, column in enumerate(columns):
        raw = table.frame[column]
        values[:, position], bad, inexact = parse_cells(raw)
        bad = bad & ~table.broken
        if bad.sum() > 0.9 * len(raw) and not has_comma(str(raw.iloc[int(np.argmax(bad))])):
            worded.append((column, str(raw.iloc[int(np.argmax(bad))])))
        else:
            wrong += [(int(row), column, str(raw.iloc[row])) for row in np.flatnonzero(bad)]
        inexact = inexact & ~table.broken & (not rounded)
        long += [(int(row), column, str(raw.iloc[row])) for row in np.flatnonzero(inexact)]
    values[table.broken] = 0.0
    _report_words(worded, [name for name in columns if name not in dict(worded)], chosen, findings)
    _report_cells(table, wrong, long, emptied, findings)
    return values


def read_cells(
    table: RawTable, numbers: Sequence[str], categories: Sequence[str], findings: Findings,
    *, dates: Mapping[str, str | None] | None = None, options: FileOptions | None = None,
) -> Cells:  # fmt: skip
    """Columns of numbers, NaN where a cell is empty, and columns of words; cells that are no number are findings.

    dates: Columns that become numbers as days since 1970, after the others, and the forms that are known of them.
    """
    frame = table.frame
    read = {
        name: read_dates(table, name, options or FileOptions(), findings, form) for name, form in (dates or {}).items()
    }
    text = {name: words(frame[name]) for name in numbers if not pd.api.types.is_numeric_dtype(frame[name])}
    table = dataclasses.replace(table, frame=frame.assign(**text))
    values = parse_numbers(table, list(numbers), findings, emptied=OF_INPUTS, chosen=OTHERS, rounded=True)
    columns = [with_truths(words(frame[name])).to_numpy(object) for name in categories]
    cells = np.column_stack(columns) if columns else np.empty((len(frame), 0), object)
    forms = {name: form for name, (_, form) in read.items()}
    values = np.column_stack([values, *(days for days, _ in read.values())])
    return Cells(
        numbers=values, words=cells, of_numbers=(*numbers, *read), of_words=tuple(categories), dates=forms
    )  # fmt: skip


def _report_words(worded: list[tuple[str, str]], numeric: list[str], chosen: Message, findings: Findings) -> None:
    if worded:
        places = [Place(column=column, value=value) for column, value in worded]
        fix: Message = (*chosen, f": {listed(numeric)}.") if numeric else ("Give numbers.",)
        findings.add("words", "error", "columns hold words, not numbers", fix, places)


def _report_cells(
    table: RawTable,
    wrong: list[tuple[int, str, str]],
    long: list[tuple[int, str, str]],
    emptied: Message,
    findings: Findings,
) -> None:
    if wrong:
        wrong.sort()
        comma = all(has_comma(value) for _, _, value in wrong)
        fix = (*AS_DECIMALS, ".") if comma else emptied
        rule = f"{_cells(len(wrong))} no finite number"
        findings.add("number", "error", rule, fix, [table.place(*cell) for cell in wrong[:20]], count=len(wrong))
    if long:
        rule = f"{_cells(len(long))} a whole number with more digits than float64 keeps"
        less = "Take a constant off the column, or write it as 1.5e22 if rounding is meant."
        findings.add("digits", "error", rule, less, [table.place(*cell) for cell in sorted(long)[:20]], count=len(long))


def _cells(count: int) -> str:
    return "1 cell is" if count == 1 else f"{count} cells are"


def read_dates(
    table: RawTable, column: str, options: FileOptions, findings: Findings, form: str | None = None
) -> tuple[NDArray[np.float64], str]:
    """Days since 1970, NaN where a cell is empty, and the form of the dates; cells of another form are findings.

    form: That of the training; the one that fits most cells if not given.
    """
    raw = table.frame[column]
    if isinstance(raw.dtype, pd.PeriodDtype):
        raw = raw.dt.to_timestamp()
    if pd.api.types.is_datetime64_any_dtype(raw):
        return days_of(pd.DatetimeIndex(raw)), form or ISO
    text = words(raw).astype("string").str.replace(CLOCK, r"\1", regex=True)
    text = text.where(text != "")
    if form is None:
        form, stamps = _first_reading(text, table, column, options, findings)
    else:
        stamps = _known_reading(text, form)
    _report_others(table, column, np.asarray(stamps.isna()) & text.notna().to_numpy(), findings)
    return days_of(stamps), form


def days_of(stamps: pd.DatetimeIndex) -> NDArray[np.float64]:
    """Days since 1970 by the clock of the stamps' zone; NaN where there is none."""
    local = stamps.tz_localize(None).as_unit("us").to_numpy()
    days = (local - EPOCH) / DAY
    return np.where(np.isnat(local), np.nan, days)


def _first_reading(
    text: pd.Series, table: RawTable, column: str, options: FileOptions, findings: Findings
) -> tuple[str, pd.DatetimeIndex]:
    if not text.notna().any():
        return ISO, read_stamps(text, ISO)
    if (kind := period_of(text)) is not None:
        return kind, first_days(text, kind)
    return best_reading(text, table, column, options, findings, "read.drop")


def _known_reading(text: pd.Series, form: str) -> pd.DatetimeIndex:
    """Times by the form of the training, else by the standard form, which cannot be misread."""
    if form in PERIODS:
        return first_days(text, form)
    stamps, standard = read_stamps(text, form), read_stamps(text, ISO)
    return stamps.where(stamps.notna(), standard)


def _report_others(table: RawTable, column: str, bad: NDArray[np.bool_], findings: Findings) -> None:
    rows = np.flatnonzero(bad & ~table.broken)
    if len(rows):
        places = [table.place(int(row), column, table.frame[column].iloc[row]) for row in rows[:20]]
        rule = f"{len(rows)} of {len(bad)} dates are not written like the others"
        fix = ("Write them as 2024-01-31 23:00, empty them, or leave the column out (", Fix("read.drop", column), ").")
        findings.add("dates", "error", rule, fix, places, len(rows))
