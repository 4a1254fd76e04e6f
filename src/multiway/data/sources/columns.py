"""Which columns are times, names and values; and cells turned into numbers or days, naming each that is none."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, list_some, quote
from multiway.data.options import FileOptions, ReadOptions
from multiway.data.samples import Cells
from multiway.data.sources.cells import MOSTLY_NUMBERS, TIME_NAMES, Column, RawTable, has_comma, with_truths
from multiway.data.sources.times import ISO, PERIODS, best_reading, first_days, looks_like_time, period_of, read_stamps
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


Kind = Literal["number", "category", "date", "empty", "constant", "identifier"]
NEARLY_ALL = 0.95
"""Share of rows with a value of their own from which on a column of words says who, not what."""
IDLE = {
    "empty": "hold no value",
    "constant": "never change",
    "identifier": "say which row it is (nearly every value differs)",
}
"""Kinds of columns that nothing can be learnt from, in words."""
TAKEN: tuple[Kind, ...] = ("number", "category", "date")
"""Kinds of columns that are inputs."""
FEW_ROWS = 20
"""Below so many rows, values that are all different say nothing yet."""


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
    absent = [quote(name) for name in wanted if name not in names]
    if absent:
        named = list_some([f"'{name}'" for name in absent])
        near = closest(absent[0], map(quote, names)).removeprefix(".").lstrip("; ").capitalize()
        rule = f"{option} names {named}, which {'is' if len(absent) == 1 else 'are'} not there"
        raise findings.fatal("columns", rule, f"{near} There are {list_some(names)}.".strip())
    return list(wanted)


def read_named_cells(table: RawTable, name: str | None, what: str, findings: Findings) -> tuple[str, ...] | None:
    """Cells of a named column as text, each of which says something; None where no column is named, or it lacks."""
    if name is None or name not in table.names:
        return None
    cells = table.column(name).words
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
    table: RawTable,
    columns: Sequence[str],
    findings: Findings,
    *,
    emptied: Message = EMPTIED,
    chosen: Message = CHOSEN,
    rounded: bool = False,
) -> NDArray[np.float64]:
    """Numbers of the columns, NaN where a cell is empty; what is no finite number is a finding and left infinite.

    emptied, chosen: What helps against such cells, and against columns of words, as parts of a message.
    rounded: Take whole numbers with more digits than float64 keeps.
    """
    values = np.empty((len(table.frame), len(columns)), dtype=np.float64)
    wrong: list[tuple[int, str, str]] = []
    long: list[tuple[int, str, str]] = []
    worded: dict[str, str] = {}
    for position, name in enumerate(columns):
        column = table.column(name)
        values[:, position], bad, inexact = column.numbers
        for marks, cells in ((bad, wrong), (inexact & (not rounded), long)):
            rows = np.flatnonzero(marks & ~table.broken)
            if not len(rows):
                continue
            shown = column.raw if column.is_numeric else column.words
            if marks is bad and len(rows) > MOSTLY_NUMBERS * len(shown) and not has_comma(str(shown.iloc[rows[0]])):
                worded[name] = str(shown.iloc[rows[0]])
            else:
                cells += [(int(row), name, str(shown.iloc[row])) for row in rows]
    values[table.broken] = 0.0
    if worded:
        places = [Place(column=name, value=value) for name, value in worded.items()]
        numeric = [name for name in columns if name not in worded]
        fix: Message = (*chosen, f": {list_some(numeric)}.") if numeric else ("Give numbers.",)
        findings.add("words", "error", "columns hold words, not numbers", fix, places)
    if wrong:
        is_comma = all(has_comma(value) for _, _, value in wrong)
        fix = (*AS_DECIMALS, ".") if is_comma else emptied
        _report_cells(table, "number", "no finite number", fix, wrong, findings)
    if long:
        rule = "a whole number with more digits than float64 keeps"
        less = "Take a constant off the column, or write it as 1.5e22 if rounding is meant."
        _report_cells(table, "digits", rule, less, long, findings)
    return values


def _report_cells(
    table: RawTable, kind: str, what: str, fix: str | Message, cells: list[tuple[int, str, str]], findings: Findings
) -> None:
    are = "1 cell is" if len(cells) == 1 else f"{len(cells)} cells are"
    places = [table.place(*cell) for cell in sorted(cells)[:20]]
    findings.add(kind, "error", f"{are} {what}", fix, places, count=len(cells))


def kind_of(column: Column, categories: Collection[str] = ()) -> Kind:
    """Judge a column by its cells, and identifiers by their name too; `categories` are what the user says are some."""
    present, said = column.is_present, column.raw if column.is_numeric or column.is_stamped else column.words
    if not present.any():
        return "empty"
    if present.all() and len(said) > 1 and (said == said.iloc[0]).all():
        return "constant"
    if column.name in categories:
        return "category"
    if column.is_stamped:
        return "date"
    if column.holds_numbers:
        return "identifier" if _counts_rows(column.numbers[0], column.name) else "number"
    different = said[present].drop_duplicates()
    if all(looks_like_time(pd.Series([cell])) for cell in different.iloc[:20]):
        return "date"
    is_own = len(said) >= FEW_ROWS and len(different) >= NEARLY_ALL * len(said)
    return "identifier" if is_own else "category"


def _counts_rows(values: NDArray[np.float64], name: str) -> bool:
    """Whether whole numbers all differ, and rise from row to row or stand in a column named as identifiers are."""
    if len(values) < FEW_ROWS or not np.isfinite(values).all() or (values != np.round(values)).any():
        return False
    is_named = re.search(r"(?i)(^|[_ .-])(id|uuid|index)$", name) is not None
    return bool((np.diff(values) > 0).all() or (is_named and len(np.unique(values)) == len(values)))


def _without_idle(kinds: dict[str, Kind], findings: Findings) -> dict[str, Kind]:
    """Leave out columns that nothing can be learnt from, and say so."""
    fix = ("Name the inputs to keep them (", Fix("read.columns", like="NAME,NAME"), ").")
    for idle, said in IDLE.items():
        places = [Place(column=name) for name, kind in kinds.items() if kind == idle]
        if places:
            findings.add(idle, "warning", f"columns {said} and are left out", fix, places)
    return {name: kind for name, kind in kinds.items() if kind not in IDLE}


def read_inputs(
    table: RawTable,
    names: Sequence[str],
    categories: Collection[str],
    options: FileOptions,
    findings: Findings,
    *,
    is_named: bool,
) -> Cells:
    """Cells of columns of numbers, of dates and of categories by what they look like.

    What cannot be an input is left out, unless the user named it: constants, empty columns and identifiers.
    """
    kinds = {name: kind_of(table.column(name), categories) for name in names}
    if not is_named:
        kinds = _without_idle(kinds, findings)
    if not kinds:
        raise findings.fatal("columns", "no column is left to learn from", "Give a table with other columns.")
    numbers = [
        name for name, kind in kinds.items() if kind == "number" or (kind in IDLE and table.column(name).is_numeric)
    ]
    dates = [name for name, kind in kinds.items() if kind == "date"]
    others = [name for name in kinds if name not in (*numbers, *dates)]
    return read_cells(table, numbers, others, findings, dates=dict.fromkeys(dates), options=options)


def read_cells(
    table: RawTable,
    numbers: Sequence[str],
    categories: Sequence[str],
    findings: Findings,
    *,
    dates: Mapping[str, str | None] | None = None,
    options: FileOptions | None = None,
) -> Cells:
    """Columns of numbers, NaN where a cell is empty, and columns of words; cells that are no number are findings.

    dates: Columns that become numbers as days since 1970, after the others, and the forms that are known of them.
    """
    read = {
        name: read_dates(table, name, options or FileOptions(), findings, form) for name, form in (dates or {}).items()
    }
    values = parse_numbers(table, numbers, findings, emptied=OF_INPUTS, chosen=OTHERS, rounded=True)
    columns = [with_truths(table.column(name).words).to_numpy(object) for name in categories]
    return Cells(
        numbers=np.column_stack([values, *(days for days, _ in read.values())]),
        words=np.column_stack(columns) if columns else np.empty((len(table.frame), 0), object),
        of_numbers=(*numbers, *read),
        of_words=tuple(categories),
        dates={name: form for name, (_, form) in read.items()},
    )


def read_dates(
    table: RawTable, column: str, options: FileOptions, findings: Findings, form: str | None = None
) -> tuple[NDArray[np.float64], str]:
    """Days since 1970, NaN where a cell is empty, and the form of the dates; cells of another form are findings.

    form: That of the training; the one that fits most cells if not given.
    """
    known = table.column(column)
    if known.is_stamped:
        is_period = isinstance(known.raw.dtype, pd.PeriodDtype)
        return days_of(pd.DatetimeIndex(known.raw.dt.to_timestamp() if is_period else known.raw)), form or ISO
    text = known.words.astype("string").str.replace(CLOCK, r"\1", regex=True)
    text = text.where(text != "")
    if form is None:
        form, stamps = _first_reading(text, table, column, options, findings)
    else:
        stamps = _read_as_trained(text, form)
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


def _read_as_trained(text: pd.Series, form: str) -> pd.DatetimeIndex:
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
