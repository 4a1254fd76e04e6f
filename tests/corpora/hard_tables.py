"""Tables of cells that readers disagree about, as text; and the same tables in six formats."""

import json
import random
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

Frame = pd.DataFrame
ACCENTS = ["caf\u00e9", "th\u00e9", "cr\u00e8me", "p\u00e2t\u00e9"]
MIXED_FORMS = [unicodedata.normalize(form, word) for word in ACCENTS for form in ("NFC", "NFD")]
CELLS: dict[str, list[str]] = {
    "zeros": ["01", "1", "2", "02"],
    "points": ["1", "1.0", "2", "2.0"],
    "agents": ["007", "7", "7.", "8"],
    "powers": ["10", "1e1", "20", "2E1"],
    "signs": ["+1", "1", "-1", "+2"],
    "minus zero": ["-0", "0", "0.0", "1"],
    "truths": ["TRUE", "FALSE"],
    "written truths": ["True", "False"],
    "small truths": ["true", "false", "true", "false"],
    "truths and gaps": ["TRUE", "False", ""],
    "answers": ["Yes", "yes", "no", "No"],
    "letters": MIXED_FORMS,
    "blanks": ["a", " a", "b ", "b", "c"],
    "inner blanks": ["New York", "New  York", "Bonn"],
    "quotes": ['say "yes"', "it's", '"', "a'b", "'", "plain"],
    "lines": ["one\ntwo", "one two", "three", "\nfour"],
    "separators": ["a,b", "a;b", "a|b", "a\tb"],
    "formulas": ["=1+1", "@x", "'=1", "-x", "+y"],
    "missing": ["", "NA", "null", "N/A", "nan", "x", "y"],
    "nearly missing": ["na", "none", "Nan", "NULLS", "-", "?"],
    "thousands": ["1,234", "12,345,678", "1,000", "2,500.5"],
    "decimal commas": ["1,5", "2,25", "0,125", "12,5"],
    "percent": ["5%", "10 %", "7.5%", "50%"],
    "money": ["$5", "€10", "$1,000", "7 €"],
    "large": ["9007199254740993", "9007199254740992", "9007199254740991"],
    "identifiers": ["123456789012345678", "123456789012345679", "000123456789012345"],
    "infinities": ["inf", "-inf", "1.5", "2.5"],
    "powers without end": ["1e400", "1e3", "2e3"],
    "other digits": ["1", "\u0661", "\uff11", "2"],
    "underscores": ["1_000", "2_000", "10"],
    "hexadecimal": ["0x10", "0x1F", "16"],
    "fractions": ["1/2", "1/3", "2/4"],
    "versions": ["1.10", "1.1", "1.2", "1.20"],
    "dates": ["2024-01-31", "2024-02-29", "2023-12-01"],
    "dotted dates": ["31.01.2024", "29.02.2024", "01.12.2023"],
    "slashed dates": ["1/31/2024", "2/29/2024", "12/1/2023"],
    "clock": ["09:30", "23:59", "00:00", "7:05"],
    "stamps": ["2024-01-31 23:00:00", "2024-02-29T01:02:03", "2024-03-01"],
    "numbers and words": ["1", "2.5", "many", "", "3"],
    "few numbers": ["1", "2", "3"],
    "few halves": ["0.5", "1.5", "2.5"],
    "signs of the zodiac": ["\u2648", "\u2649", "\U0001f9ea", "\u200bx", "x"],
    "accounts": ["12-34", "(5)", "5-", "--5"],
}
"""Cells of a column by what is hard about them."""
NUMERIC = ("thousands", "few halves", "few numbers", "powers", "minus zero")
"""Kinds that may be a target of numbers."""


def table(number: int, rows: int = 90) -> Frame:
    """A table as text: a hard target, an input that tells it, a column of numbers, and three hard columns."""
    chance, kinds = random.Random(number), list(CELLS)
    kind = kinds[number % len(kinds)]
    target = [chance.choice(CELLS[kind]) for _ in range(rows)]
    present = [cell for cell in CELLS[kind] if cell] if kind != "missing" else ["x", "y"]
    target = [cell if cell in present else chance.choice(present) for cell in target]
    hint = [present.index(cell) + chance.gauss(0, 1) for cell in target]
    columns = {
        "hint": [repr(round(each, 3)) for each in hint],
        "count": [str(chance.randrange(1000)) if chance.random() < 0.9 else "" for _ in range(rows)],
    }
    for place in range(3):
        name = kinds[(number * 3 + place * 7 + 1) % len(kinds)]
        columns[name] = [chance.choice(CELLS[name]) for _ in range(rows)]
    return Frame({**columns, "outcome": target}, dtype=object)


def long_table(number: int, steps: int = 4) -> Frame:
    """A long table of series that are called by hard cells, one each, and are of hard classes."""
    kinds = list(CELLS)
    names = list(dict.fromkeys(cell for cell in CELLS[kinds[number % len(kinds)]] if cell.strip()))
    classes = CELLS[kinds[(number + 11) % len(kinds)]]
    rows = [
        (name, str(step), repr(place + step / 8), classes[place % len(classes)] or "x")
        for place, name in enumerate(names)
        for step in range(steps)
    ]
    return Frame(rows, columns=["who", "step", "x", "outcome"], dtype=object)


def natural(cells: pd.Series) -> list[Any]:
    """Cells as a program would hold them: numbers and truth values where nothing is lost, None for empty, else text."""
    spelt = {cell for cell in cells if cell}
    numbers = {cell for cell in spelt if _is_canonical(cell)}
    is_whole = numbers == spelt and len({float(cell) for cell in spelt}) == len(spelt)
    mixes = any(re.fullmatch(r"-?\d+", cell) for cell in spelt) and any(cell.endswith(".0") for cell in spelt)
    if spelt == {"True", "False"}:
        return [None if not cell else cell == "True" for cell in cells]
    return [None if not cell else _number(cell) if is_whole and not mixes else cell for cell in cells]


def by_cell(cells: pd.Series) -> list[Any]:
    """The same of a format where each cell has a type of its own."""
    return [
        _number(cell) if isinstance(cell, str) and _is_canonical(cell) and not cell.endswith(".0") else cell
        for cell in natural(cells)
    ]


def _is_canonical(cell: str) -> bool:
    """Whether a number says the same text when it is written as a number."""
    if re.fullmatch(r"0|-?[1-9]\d{0,14}", cell):
        return True
    return bool(re.fullmatch(r"-?\d+\.\d+", cell)) and repr(float(cell)) == cell and cell != "-0.0"


def _number(cell: str) -> int | float:
    return int(cell) if re.fullmatch(r"-?\d+", cell) else float(cell)


def typed(rows: Frame) -> Frame:
    """Columns of numbers, of truth values, or of text."""
    return Frame({name: pd.Series(natural(rows[name])).infer_objects() for name in rows})


def to_csv(rows: Frame, folder: Path) -> Path:
    """Text as it is written."""
    rows.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def to_parquet(rows: Frame, folder: Path) -> Path:
    """Columns of one type each."""
    typed(rows).to_parquet(folder / "table.parquet", index=False)
    return folder / "table.parquet"


def to_excel(rows: Frame, folder: Path) -> Path:
    """Cells of a type each; text that looks like a formula is text."""
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    cells = [by_cell(rows[name]) for name in rows]
    for place, column in enumerate(cells, start=1):
        sheet.cell(1, place, list(rows)[place - 1])
        for row, value in enumerate(column, start=2):
            cell = sheet.cell(row, place)
            cell.value = value
            if isinstance(value, str):
                cell.data_type = "s"
    book.save(folder / "table.xlsx")
    return folder / "table.xlsx"


def to_json_lines(rows: Frame, folder: Path) -> Path:
    """Values of a type each, null where there is none."""
    columns = {name: by_cell(rows[name]) for name in rows}
    lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
    (folder / "table.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "table.jsonl"


def to_polars(rows: Frame, folder: Path) -> Any:
    """The typed frame in polars."""
    import polars

    return polars.DataFrame({name: natural(rows[name]) for name in rows})


FORMATS: dict[str, Callable[[Frame, Path], Any]] = {
    "csv": to_csv,
    "parquet": to_parquet,
    "xlsx": to_excel,
    "jsonl": to_json_lines,
    "frame": lambda rows, folder: typed(rows),
    "polars": to_polars,
}
