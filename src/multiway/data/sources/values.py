"""Cells of columns as numbers, days and words that a task takes; a flaw names each cell that is none."""

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.findings import Findings, Place, list_some
from multiway.data.options import FileOptions
from multiway.data.samples import Cells
from multiway.data.sources.cells import MOSTLY_NUMBERS, Kind, has_comma, with_truths
from multiway.data.sources.columns import RawTable
from multiway.data.sources.forms import PERIODS
from multiway.data.sources.times import ISO, best_reading, first_days, period_of, read_stamps, starts_of
from multiway.errors import Fix, Message

AS_DECIMALS: Message = (
    "Set decimal to ',', or to '.' where commas separate thousands (",
    Fix("read.decimal", ","),
    ")",
)
"""What helps where points of numbers are commas."""
EMPTIED: Message = ("Correct them, or empty them and set missing to mask or ffill (", Fix("read.missing", "mask"), ").")
CHOSEN: Message = ("Choose the columns of numbers with variates (", Fix("read.variates", like="NAME,NAME"), ")")
OF_INPUTS: Message = (
    "Correct or empty them, or take the column as categories (",
    Fix("read.categories", like="NAME"),
    ").",
)
OTHERS: Message = ("Correct them, or choose the other columns (", Fix("read.columns", like="NAME,NAME"), ")")
FLAWS: dict[str, tuple[str, str | Message]] = {
    "number": ("no finite number", EMPTIED),
    "digits": (
        "a whole number with more digits than float64 keeps",
        "Take a constant off the column, or write it as 1.5e22 if rounding is meant.",
    ),
}
"""What is said of odd cells, and what helps."""
IDLE: dict[Kind, str] = {
    "empty": "hold no value",
    "constant": "never change",
    "identifier": "say which row it is (nearly every value differs)",
}
"""Kinds of columns that nothing can be learnt from, in words."""
CLOCK = r"(:\d\d(?:\.\d+)?)\s*(?:Z|[+-]\d\d:?\d\d)$"
"""A time of day with its offset from UTC, which the clock does not show."""
EPOCH, DAY = np.datetime64("1970-01-01", "us"), np.timedelta64(1, "D")


def read_named_cells(table: RawTable, name: str | None, what: str, findings: Findings) -> tuple[str, ...] | None:
    """Cells of a named column as text, each of which says something; None where no column is named, or it lacks."""
    if name is None or name not in table.names:
        return None
    cells = table.columns[name].words
    empty = (cells == "").to_numpy(bool)
    findings.mark(what, f"rows have no {what}", "Fill it in.", empty, lambda row: table.place(row, name))
    return tuple(cells)


def parse_numbers(
    table: RawTable,
    columns: Sequence[str],
    findings: Findings,
    *,
    emptied: Message = EMPTIED,
    chosen: Message = CHOSEN,
    rounded: bool = False,
    marks: Collection[float] | None = None,
) -> NDArray[np.float64]:
    """Numbers of the columns, NaN where a cell is empty; what is no finite number is a finding and left infinite.

    emptied, chosen: What helps against such cells, and against columns of words, as parts of a message.
    rounded: Take whole numbers with more digits than float64 keeps.
    marks: Numbers that mean missing.
    """
    values = np.empty((len(table.rows), len(columns)), dtype=np.float64)
    odd: dict[str, list[tuple[int, str, str]]] = {"number": [], "digits": []}
    worded: dict[str, str] = {}
    for position, name in enumerate(columns):
        column = table.columns[name]
        values[:, position] = column.values
        for flaw in column.flaws:
            rows = flaw.rows[~table.broken[flaw.rows]]
            if not len(rows) or (rounded and flaw.kind == "digits"):
                continue
            shown = column.cells if column.is_numeric else column.words
            is_worded = flaw.kind == "number" and len(rows) > MOSTLY_NUMBERS * len(shown)
            if is_worded and not has_comma(str(shown.iloc[rows[0]])):
                worded[name] = str(shown.iloc[rows[0]])
            else:
                odd[flaw.kind] += [(int(row), name, str(shown.iloc[row])) for row in rows]
    values[table.broken] = 0.0
    if marks:
        values[np.isin(values, list(marks))] = np.nan
    if worded:
        places = [Place(column=name, value=value) for name, value in worded.items()]
        numeric = [name for name in columns if name not in worded]
        fix: Message = (*chosen, f": {list_some(numeric)}.") if numeric else ("Give numbers.",)
        findings.add("words", "error", "columns hold words, not numbers", fix, places)
    for kind, cells in odd.items():
        if cells:
            what, helps = FLAWS[kind]
            if kind == "number":
                helps = (*AS_DECIMALS, ".") if all(has_comma(value) for _, _, value in cells) else emptied
            are = "1 cell is" if len(cells) == 1 else f"{len(cells)} cells are"
            places = [table.place(*cell) for cell in sorted(cells)[:20]]
            findings.add(kind, "error", f"{are} {what}", helps, places, count=len(cells))
    return values


def read_inputs(
    table: RawTable,
    names: Sequence[str],
    categories: Collection[str],
    options: FileOptions,
    findings: Findings,
    *,
    is_named: bool,
) -> Cells:
    """Cells of columns of numbers, of dates and of categories by what they look like; `categories` are named as such.

    What cannot be an input is left out, unless the user named it: constants, empty columns and identifiers.
    """
    kinds: dict[str, Kind] = {}
    identifiers: dict[str, NDArray[np.object_]] = {}
    for name in names:
        kind = table.columns[name].kind
        kinds[name] = "category" if name in categories and kind not in ("empty", "constant") else kind
    if not is_named:
        fix = ("Name the inputs to keep them (", Fix("read.columns", like="NAME,NAME"), ").")
        for idle, said in IDLE.items():
            places = [Place(column=name) for name, kind in kinds.items() if kind == idle]
            if places:
                findings.add(idle, "warning", f"columns {said} and are left out", fix, places)
        own = [name for name, kind in kinds.items() if kind == "identifier"]
        identifiers = {name: table.columns[name].words.to_numpy(object) for name in own}
        kinds = {name: kind for name, kind in kinds.items() if kind not in IDLE}
    if not kinds:
        raise findings.fatal("columns", "no column is left to learn from", "Give a table with other columns.")
    numbers = [
        name for name, kind in kinds.items() if kind == "number" or (kind in IDLE and table.columns[name].is_numeric)
    ]
    dates = [name for name, kind in kinds.items() if kind == "date"]
    taken = {*numbers, *dates}
    others = [name for name in kinds if name not in taken]
    cells = read_cells(table, numbers, others, findings, dates=dict.fromkeys(dates), options=options)
    return dataclasses.replace(cells, identifiers=identifiers)


def read_cells(
    table: RawTable,
    numbers: Sequence[str],
    categories: Sequence[str],
    findings: Findings,
    *,
    dates: Mapping[str, str | None],
    options: FileOptions,
) -> Cells:
    """Columns of numbers, NaN where a cell is empty, and columns of words; cells that are no number are findings.

    dates: Columns that become numbers as days since 1970, after the others, and the forms that are known of them.
    """
    words = np.empty((len(table.rows), len(categories)), object)
    for place, name in enumerate(categories):
        words[:, place] = with_truths(table.columns[name].words)
    days: list[NDArray[np.float64]] = []
    forms: dict[str, str] = {}
    for name, known in dates.items():
        column, forms[name] = read_dates(table, name, options, findings, known)
        days.append(column)
    values = parse_numbers(
        table, numbers, findings, emptied=OF_INPUTS, chosen=OTHERS, rounded=True, marks=options.sentinels
    )
    return Cells(
        numbers=np.column_stack([values, *days]),
        words=words,
        of_numbers=(*numbers, *forms),
        of_words=tuple(categories),
        dates=forms,
    )


def read_dates(
    table: RawTable, name: str, options: FileOptions, findings: Findings, form: str | None
) -> tuple[NDArray[np.float64], str]:
    """Days since 1970, NaN where a cell is empty, and the form of the dates; cells of another form are findings.

    form: That of the training; the one that fits most cells if not given.
    """
    column = table.columns[name]
    if column.is_stamped:
        is_period = isinstance(column.cells.dtype, pd.PeriodDtype)
        stamps = pd.DatetimeIndex(column.cells.dt.to_timestamp() if is_period else column.cells)
        return days_of(stamps), form or ISO
    text = column.words.astype("string").str.replace(CLOCK, r"\1", regex=True)
    text = starts_of(text.where(text != ""))
    kind = period_of(text) if form is None else form if form in PERIODS else None
    if kind is not None:
        form, stamps = kind, first_days(text, kind)
    elif form is not None:  # as training wrote them, or in the standard form, which cannot be misread
        stamps, standard = read_stamps(text, form), read_stamps(text, ISO)
        stamps = stamps.where(stamps.notna(), standard)
    elif text.notna().any():
        first = functools.partial(table.place, 0, name)
        form, stamps = best_reading(text, column.cells, first, options.day_first, findings, "read.drop")
    else:
        form, stamps = ISO, read_stamps(text, ISO)
    bad = np.asarray(stamps.isna()) & text.notna().to_numpy()
    rule = f"of {len(bad)} dates are not written like the others"
    fix = ("Write them as 2024-01-31 23:00, empty them, or leave the column out (", Fix("read.drop", name), ").")
    odd = bad & ~table.broken
    findings.mark("dates", rule, fix, odd, lambda row: table.place(row, name, column.cells.iloc[row]))
    return days_of(stamps), form


def days_of(stamps: pd.DatetimeIndex) -> NDArray[np.float64]:
    """Days since 1970 by the clock of the stamps' zone; NaN where there is none."""
    local = stamps.tz_localize(None).as_unit("us").to_numpy()
    days = (local - EPOCH) / DAY
    return np.where(np.isnat(local), np.nan, days)
