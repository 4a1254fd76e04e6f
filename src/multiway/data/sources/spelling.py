"""How the numbers of a table are written: by separators, signs and marks that all cells of a column share."""

import dataclasses
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from multiway.data.findings import Findings, list_some, quote
from multiway.data.sources.cells import (
    EMPTY_CELLS,
    EXACT_INTEGERS,
    ID_NAMES,
    MARKED,
    NUMBER,
    QUOTE,
    SIGNS,
    TIME_NAMES,
    distinct_cells,
    is_text,
    parse_cells,
    sound_text,
)
from multiway.data.sources.columns import RawTable
from multiway.data.sources.forms import POINTED_MONTH
from multiway.data.sources.text import TextColumns
from multiway.errors import Fix

NUMBERED = re.compile(r"Unnamed: \d+(\.\d+)*|#|RECORD")
"""What pandas calls a column without a name, as is an index that was written and read again, and loggers a counter."""
GROUPED = r"[+-]?\d{1,3}(?:,\d{3})*(?:\.\d*)?"
CERTAIN = r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d*|(?:,\d{3}){2,})"
"""What can be nothing but separators of thousands: 1,234 alone could be a decimal comma."""
COMMA = r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?"
WITH_BOTH = r"[+-]?\d{1,3}(?:\.\d{3})+,\d+"
CERTAIN_COMMA = rf"{WITH_BOTH}|[+-]?(?:0,\d+|\d+,(?:\d{{1,2}}|\d{{4,}}))"
"""What can be nothing but a decimal comma where columns are separated otherwise: 1,234 could be thousands."""
POINTED = r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+"
"""What points can separate the thousands of."""
FEW_ODD = 0.1
"""Share of a column up to which cells of words are flaws among numbers."""
MANY_POINTED = 10
"""Different numbers with three digits behind a point, next to whole ones, that are no chance."""
MONEY = "$£¥₹"
"""Signs of which nobody writes three decimals; a litre of fuel costs 1,659 €."""
NOTHING = (
    r"\.{1,3}|…|-{2,}|\*+|\?+|X|MM?|(?::( [a-z]{1,2})?)|[nN][./]?[aAdDeE]\.?"
    r"|(?i:missing|no data|not available|unavailable|unknown)"
)
"""Marks of a missing value among numbers; a hyphen may be a zero."""
FLAGGED = r"([+-]?\d[\d.,]*) *((?<= )[bcdefnprsuz]{1,2}|[*#])"
"""A number and what offices say of it: that it is provisional, estimated, or of another series before."""
WRITTEN = rf"[{SIGNS}(+-]*\s*\.?\d[\d.,]*(?:[eE][+-]?\d+)?\s*[{SIGNS})]*"
"""A number with its separators and signs."""
SIGNED = rf"(\()?([+-]?)([{SIGNS}]?)\s*([+-]?)(\d[\d.,]*|\.\d+)\s*([{SIGNS}]?)(\))?"
"""An opening parenthesis, a minus, a sign, a minus, digits, a sign, a closing one."""
TORN = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which no file can hold."""
Text: TypeAlias = pa.ChunkedArray | pd.Series


@dataclasses.dataclass(frozen=True)
class Spelling:
    """What the options say of how cells are written.

    decimal: What separates the fraction of a number, or "auto".
    labels: Columns of times and names, which are text even where they look like numbers: 007 is not 7, NA is a name.
    names: Columns of classes and groups, of which 01 and 1 are two where numbers are written as names are.
    """

    decimal: str
    labels: frozenset[str]
    names: frozenset[str]

    def is_label(self, name: str) -> bool:
        """Whether cells of a column are text."""
        return name in self.labels or name.lower() in (*TIME_NAMES, *ID_NAMES)


def decide_columns(read: RawTable | TextColumns, spelling: Spelling, findings: Findings) -> RawTable:
    """Columns that are numbers as such, others as they came, and what stood in the place of those that changed."""
    texts: dict[str, Text] = {}
    if isinstance(read, TextColumns):
        numbers = read_numbers(read.columns, read.separator, spelling, findings)
        plain = without_exports(pd.DataFrame(numbers), findings)
        frame = compose_frame(plain)
        composed = zip(plain.columns, frame.columns, strict=True)
        texts = {new: read.columns[name] for name, new in composed if not is_text(numbers[name].dtype)}
    else:
        frame = compose_frame(without_row_numbers(read.frame, findings))
    signed = read_signed_numbers(frame, spelling, findings)
    texts |= {name: frame[name] for name in signed}
    frame = frame.assign(**signed) if signed else frame
    unit = "line" if isinstance(read, TextColumns) else read.unit
    return RawTable(frame=frame, rows=read.rows, unit=unit, broken=read.broken, texts=texts)


def without_exports(frame: pd.DataFrame, findings: Findings) -> pd.DataFrame:
    """The same columns without what other programs put in: marks of formulas, and those of row numbers or nothing.

    Marks are undone in columns that `escape_frame` has written, none of whose formulas is without one.
    """
    changed = {}
    for name, dtype in frame.dtypes.items():
        if is_text(dtype):
            column = frame[name]
            text = column.astype("string")
            present = text.dropna()
            bare = present[present.str.match(r"[=+\-@\t\r\n]")]
            if present.str.startswith(QUOTE).any() and bare.str.fullmatch(NUMBER).all():
                changed[str(name)] = text.str.replace(MARKED, "", regex=True).astype(column.dtype)
    return without_row_numbers(frame.assign(**changed) if changed else frame, findings)


def without_row_numbers(frame: pd.DataFrame, findings: Findings) -> pd.DataFrame:
    """The same columns without those that count the rows, as pandas writes them, and empty ones without a name."""
    dropped, last = [], len(frame.columns) - 1
    for position, name in enumerate(frame.columns if last > 1 else ()):
        is_unnamed = name == f"unnamed {position}"
        if is_unnamed or NUMBERED.fullmatch(str(name)):
            cells = frame[name]
            numbers = pd.api.types.is_numeric_dtype(cells) and bool((np.diff(cells) == 1).all())
            numbers = numbers and (not is_unnamed or position in (0, last))
            if numbers or (is_unnamed and (cells.astype(str) == "").all()):
                which = f"unnamed column {position + 1}" if is_unnamed else f"column '{quote(name)}'"
                what = "row numbers" if numbers else "nothing"
                findings.add("columns", "note", f"{which} holds {what} and is left out")
                dropped.append(name)
    return frame.drop(columns=dropped) if dropped else frame


def compose_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns, of characters that can be written, named in composed letters (NFC), as cells are."""
    torn = {}
    for name, dtype in frame.dtypes.items():
        cells = frame[name] if pd.api.types.is_object_dtype(dtype) else ()
        if any(isinstance(cell, str) and TORN.search(cell) for cell in cells):
            sound = [sound_text(cell) if isinstance(cell, str) else cell for cell in cells]
            torn[str(name)] = pd.Series(sound, index=frame.index, dtype=object)
    frame = frame.assign(**torn) if torn else frame
    names = [unicodedata.normalize("NFC", sound_text(name)) for name in map(str, frame.columns)]
    is_same = names == [*map(str, frame.columns)] or len(set(names)) < len(names)
    return frame if is_same else frame.set_axis(names, axis=1)


def read_numbers(
    columns: Mapping[str, pa.ChunkedArray], separator: str, spelling: Spelling, findings: Findings
) -> dict[str, Any]:
    """Numbers where all cells of a column are finite ones, written with one decimal mark; other columns stay text."""
    decimal = "," if spelling.decimal == "," else "."
    read = _cast_columns(columns, decimal, spelling)
    if spelling.decimal == "auto" and separator != ",":
        commas = _columns_of_form(read, spelling, COMMA, CERTAIN_COMMA)
        if commas:
            findings.add("decimal", "note", f"commas separate decimals, as in columns {list_some(commas)}")
            decimal, read = ",", _cast_columns(columns, ",", spelling)
    if decimal == ",":
        grouped = _columns_of_form(read, spelling, COMMA, r".*\..*", mark=".")
    else:
        grouped = _columns_of_form(read, spelling, GROUPED, GROUPED)
        if not any(cells.dtype == float and (cells % 1 > 0).any() for cells in read.values() if grouped):
            grouped = []
        if grouped:
            findings.add("thousands", "note", f"commas separate thousands in columns {list_some(grouped)}")
    pointed = (
        []
        if spelling.decimal != "auto"
        else [
            name
            for name, values in read.items()
            if _may_be_thousands(values) and are_thousands(columns[name].to_pandas(), "")
        ]
    )
    if pointed:
        findings.add("thousands", "note", f"points separate thousands in columns {list_some(pointed)}")
    return (
        read
        | {name: plain_numbers(read[name], "." if decimal == "," else ",", decimal) for name in grouped}
        | {name: plain_numbers(columns[name].to_pandas(), ".", ",") for name in pointed}
    )


def _may_be_thousands(values: Any) -> bool:
    """Whether numbers below 1000 are whole or have three decimals, some of either: a look before one at the text."""
    if values.dtype != float:
        return False
    known = np.abs(values[~np.isnan(values)])
    is_whole = known == np.round(known)
    if not len(known) or known.max() >= 1000 or is_whole.all() or not is_whole.any() or known[~is_whole].min() < 1:
        return False
    return bool(np.allclose(1000 * known, np.round(1000 * known), rtol=0, atol=1e-6))


def are_thousands(column: pd.Series, sign: str) -> bool | None:
    """Whether points separate thousands: three digits stand behind each of them, and other cells have none.

    None where all cells have such a point and a currency: nearly nobody writes three decimals of one.
    """
    text = distinct_cells(column)[0].astype("string").str.strip()
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)]
    is_pointed, is_whole = text.str.fullmatch(POINTED), text.str.fullmatch(r"[+-]?\d{1,3}")
    if not is_pointed.any() or not (is_pointed | is_whole).all():
        return False
    is_money = sign in [*MONEY, "€"]
    if is_whole.any() or text.str.contains(r"\..*\.").any():
        return is_money or bool(text.str.contains(r"\..*\.").any()) or int(is_pointed.sum()) >= MANY_POINTED
    return None if is_money else False


def _cast_columns(columns: Mapping[str, pa.ChunkedArray], decimal: str, spelling: Spelling) -> dict[str, Any]:
    """Columns of numbers as such, and the others as text; numbers that are written as names are text in some."""
    read = {}
    for name, cells in columns.items():
        numbers = None if spelling.is_label(name) else cast_numbers(cells, decimal)
        may_name = numbers is not None and bool({name, name.lower()} & spelling.names)
        read[name] = cells.to_pandas() if numbers is None or (may_name and are_spelled(cells.to_pandas())) else numbers
    return read


def _columns_of_form(
    columns: Mapping[str, Any], spelling: Spelling, form: str, certain: str, mark: str = ","
) -> list[str]:
    """Columns of text, and not of names, whose cells have a form."""
    texts = (name for name, column in columns.items() if is_text(column.dtype) and not spelling.is_label(name))
    return [name for name in texts if has_form(columns[name], form, certain, mark)]


def has_form(column: pd.Series, form: str, certain: str, mark: str = ",") -> bool:
    """Whether every cell has a form, and one with a mark in it can be nothing else."""
    text = distinct_cells(column)[0].astype("string").str.strip()
    if not text.str.contains(mark, regex=False).any():
        return False
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)]
    return bool(text.str.fullmatch(form).all() and text.str.fullmatch(certain).any())


def cast_numbers(text: pa.ChunkedArray, decimal: str) -> NDArray[np.float64] | None:
    """Numbers of a column of text, NaN where nothing stands.

    None where a cell is no finite number, is so large that whole numbers are not exact, or where none is a number.
    Months such as 01.2024 are none.
    """
    if len(text) and re.match(POINTED_MONTH, text[0].as_py() or ""):
        if pa.compute.all(pa.compute.match_substring_regex(text, POINTED_MONTH)).as_py():
            return None
    if decimal == ",":
        if pa.compute.any(pa.compute.match_substring(text, ".")).as_py():
            return None
        text = pa.compute.replace_substring(text, ",", ".")
    try:
        numbers = text.cast(pa.float64())
    except pa.ArrowInvalid:
        is_empty = pa.compute.is_in(text, value_set=pa.array(EMPTY_CELLS))
        trimmed = pa.compute.utf8_trim(text, " \t")
        try:
            numbers = pa.compute.if_else(is_empty, pa.scalar(None, pa.string()), trimmed).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    values: NDArray[np.float64] = numbers.to_numpy()
    largest = np.nanmax(np.abs(values), initial=-1.0)
    return values if 0 <= largest < EXACT_INTEGERS else None


def are_spelled(text: pd.Series) -> bool:
    """Whether numbers are written as names are: with leading zeros or signs, or one of them in two ways."""
    text = text.astype("string").str.strip()
    text = text[text.notna() & ~text.isin(EMPTY_CELLS)].drop_duplicates()
    values, bad, _ = parse_cells(text)
    if bad.any():
        return False  # with decimal commas, which a target of numbers may have
    return bool(text.str.match(r"\+|-?0\d").any() or len(np.unique(values)) < len(text))


def plain_numbers(column: pd.Series, thousands: str, decimal: str = ".") -> pd.Series:
    """Numbers of cells whose thousands and fractions are separated so."""
    text = column.astype("string").str.strip()
    for mark, other in ((thousands, ""), (decimal, ".")):
        text = text.str.replace(mark, other, regex=False)
    return text.where(~text.isin(EMPTY_CELLS)).astype("Float64").astype("float64")


def read_signed_numbers(frame: pd.DataFrame, spelling: Spelling, findings: Findings) -> dict[str, pd.Series]:
    """Columns of words that are numbers but for marks that all their cells share, without these marks.

    Thousands are separated in every cell, and one can mean nothing else. A currency or percent sign that every cell
    has is left out. Dollars and the like have no three decimals.
    """
    columns, changed, signs = dict[str, pd.Series](), dict[str, pd.Series](), dict[str, str]()
    marked, marks, flagged = list[str](), set[str](), dict[str, list[str]]()
    for name, dtype in frame.dtypes.items():
        if not is_text(dtype) or spelling.is_label(str(name)):
            continue
        column = frame[name]
        if column.dtype == object:
            if any(isinstance(cell, list | dict | bytes) for cell in column):
                continue
            column = column.map(sound_text, na_action="ignore")
        cells, rows = distinct_cells(column)
        text = cells.astype("string").str.strip()
        text = text[text.notna() & ~text.isin(EMPTY_CELLS)]
        flags = text.str.extract(f"^{FLAGGED}$")
        if flags[1].notna().any():
            text = flags[0].fillna(text)
            cells = text.reindex(cells.index)
            changed[str(name)] = cells.take(rows).set_axis(column.index)
            flagged[str(name)] = sorted(flags[1].dropna().unique())
        is_nothing = text.str.fullmatch(NOTHING)
        others = text[~is_nothing]
        if is_nothing.any() and len(others) and others.str.fullmatch(WRITTEN).all():
            marked.append(str(name))
            marks |= {*text[is_nothing]}
            text, cells = others, cells.drop(text.index[is_nothing]).reindex(cells.index)
            changed[str(name)] = cells.take(rows).set_axis(column.index)
        if (found := _without_signs(text)) is not None:
            numbers, signs[str(name)] = found
            changed[str(name)] = numbers.reindex(cells.index).take(rows).set_axis(column.index)
        columns[str(name)] = changed.get(str(name), column)
    if marks:
        rule = f"cells of {list_some(sorted(marks))} in columns {list_some(marked)} are missing"
        findings.add("marks", "note", rule)
    if flagged:
        letters = list_some(sorted({letter for own in flagged.values() for letter in own}))
        what = "letters" if re.match(r"\w", letters) else "marks"
        rule = f"{what} behind numbers ({letters}) in columns {list_some(flagged)} are flags and left out"
        findings.add("marks", "note", rule)
    for sign in dict.fromkeys(signs.values()):
        said = "parentheses stand for a minus" if sign == "()" else f"numbers stand without their {sign}"
        names = [name for name, own in signs.items() if own == sign]
        where = f"column '{names[0]}'" if len(names) == 1 else f"columns {list_some(names)}"
        findings.add("signs", "note", f"{said} in {where}")
    separated = read_separated(columns, signs, spelling, findings)
    return {**changed, **separated}


def read_separated(
    columns: Mapping[str, pd.Series], signs: Mapping[str, str], spelling: Spelling, findings: Findings
) -> dict[str, pd.Series]:
    """Those of some columns whose numbers have thousands or decimals that are no points, by all cells of a column."""
    commas, points, dots = dict[str, pd.Series](), dict[str, pd.Series](), dict[str, pd.Series]()
    words = {name: odd for name, column in columns.items() if (odd := _cells_without_digits(column)) is not None}
    for name, cells in columns.items():
        column = cells.drop(words[name].index) if name in words else cells
        is_sure = spelling.decimal == "." or signs.get(name, "") in [*MONEY]
        if spelling.decimal != "." and has_form(column, COMMA, WITH_BOTH if spelling.decimal == "auto" else COMMA):
            commas[name] = plain_numbers(column, ".", ",")
        elif has_form(column, GROUPED, GROUPED if is_sure else CERTAIN):
            points[name] = plain_numbers(column, ",")
        elif spelling.decimal != ".":
            sign = signs.get(name, "")
            is_said = spelling.decimal == "," and has_form(column, COMMA, r".*\..*", mark=".")
            verdict = is_said or are_thousands(column, sign)
            if verdict is None and spelling.decimal == "auto":
                shown = f"{column.dropna().iloc[0]} {sign}"
                rule = f"a point separates thousands or decimals in column '{quote(name)}': {shown}"
                ways = (Fix("read.decimal", ","), " or ", Fix("read.decimal", "."))
                findings.add("decimal", "error", rule, ("Say what separates decimals (", *ways, ")."))
            elif verdict is not False:
                dots[name] = plain_numbers(column, ".", ",")
    if dots:
        findings.add("thousands", "note", f"points separate thousands in columns {list_some(dots)}")
    if commas and spelling.decimal == "auto":
        findings.add("decimal", "note", f"commas separate decimals in columns {list_some(commas)}")
    if points:
        findings.add("thousands", "note", f"commas separate thousands in columns {list_some(points)}")
    read = {**commas, **points, **dots}
    kept = {name: pd.concat([read[name].map(repr), words[name]]).sort_index() for name in words if name in read}
    return {**read, **kept}


def _cells_without_digits(column: pd.Series) -> pd.Series | None:
    """The few cells of words among numbers, which are flaws; None where there are none, or many."""
    text = column.astype("string").str.strip()
    odd = text[text.notna() & ~text.isin(EMPTY_CELLS) & ~text.str.contains(r"\d", na=False)]
    return odd if 0 < len(odd) <= FEW_ODD * len(text) else None


def _without_signs(text: pd.Series) -> tuple[pd.Series, str] | None:
    """Numbers of cells as they are written, without their sign; and the sign, "()" where only parentheses are.

    None where a cell is no number, where signs differ, or where none is.

    text: Cells that hold something, each once, without blanks around them.
    """
    if not text.str.contains(rf"[{SIGNS}(]").any():
        return None
    parts = text.str.extract(rf"^{SIGNED}$").fillna("")
    opening, early, before, late, digits, after, closing = (parts[column] for column in parts)
    signs = (before + after).unique()
    is_sound = (digits != "") & ((opening == "") == (closing == "")) & (opening + early + late).str.len().lt(2)
    if not is_sound.all() or len(signs) > 1 or len(signs[0]) > 1:
        return None
    return (early + late).where(opening == "", "-") + digits, signs[0] or "()"
