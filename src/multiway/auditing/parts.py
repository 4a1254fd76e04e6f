"""Parts of cells that say nothing of the thing itself: digits of a number, the day of a date, signs of a code."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.samples import Cells

Floats = NDArray[np.float64]
Words = NDArray[np.object_]
MOST_DECIMALS, LARGEST = 6, 1e15
"""Digits after the point that are looked at, and the size up to which a whole number is exact."""
SIGNS, LAST_SIGNS = 40, 3
"""Signs from the start and from the end of a code."""
DIVISORS = (3, 7, 9, 11)
"""Of check digits."""
LEVELS = 20
"""Different cells from which on a column has parts; fewer are classes."""
WHOLE = "the number"
"""An identifier itself, which is no input."""
REPEATED = "whether another row has the cell"
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
DAY = 86_400
OF_TIME = {"hour": 3600, "minute": 60, "second": 1}


def parts_of_cells(cells: Cells) -> Iterator[tuple[str, str, bool, Floats]]:
    """Column, part in words, whether it is one of a date, and that part of each cell as a number, NaN where none is."""
    for name, column in zip(cells.of_numbers, cells.numbers.T, strict=True):
        is_date = name in cells.dates
        for part, values in (parts_of_dates if is_date else parts_of_numbers)(column):
            yield name, part, is_date, values
    words = {**dict(zip(cells.of_words, cells.words.T, strict=True)), **cells.identifiers}
    for name, column in words.items():
        numbers = numbers_of(column)
        if numbers is not None:
            yield name, WHOLE, False, numbers
        for part, values in parts_of_words(column) if numbers is None else parts_of_numbers(numbers):
            yield name, part, False, values


def numbers_of(words: Words) -> Floats | None:
    """Cells as numbers, where every one is."""
    numbers = pd.to_numeric(pd.Series(words), errors="coerce").to_numpy(np.float64)
    return numbers if np.isfinite(numbers).all() else None


def decimals_of(column: Floats) -> NDArray[np.int64]:
    """Digits after the point of each number, `MOST_DECIMALS` at most."""
    count = np.full(column.shape, MOST_DECIMALS, np.int64)
    for digits in reversed(range(MOST_DECIMALS)):
        scaled = column * 10.0**digits
        count[np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(np.abs(scaled), 1)] = digits
    return count


def parts_of_numbers(column: Floats) -> Iterator[tuple[str, Floats]]:
    """Parity and last digits of whole numbers; of others the digits after the point, and how many there are."""
    known = np.isfinite(column)
    if len(np.unique(column[known])) < LEVELS or np.abs(column[known]).max() > LARGEST:
        return
    count = np.where(known, decimals_of(np.where(known, column, 0.0)), -1)
    most = int(count.max())
    if most >= MOST_DECIMALS:
        return
    scaled = np.where(known, np.abs(np.rint(column * 10.0**most)), np.nan)
    digits = len(str(int(np.nanmax(scaled))))
    sums = np.sum([scaled // 10.0**place % 10 for place in range(digits)], axis=0)
    parts = {"whether it is odd": scaled % 2, "the last digit": scaled % 10, "the last two digits": scaled % 100}
    parts["whether the sum of its digits is odd"] = sums % 2
    if not most:
        parts |= {f"the remainder by {divisor}": scaled % divisor for divisor in DIVISORS}
    if most:
        parts["how many digits follow the point"] = np.where(known, count.astype(np.float64), np.nan)
    yield from (parts | {REPEATED: is_repeated(column)}).items()


def parts_of_dates(days: Floats) -> Iterator[tuple[str, Floats]]:
    """Day of the week, of the month, the month, hour, minute and second of days since 1970."""
    known = np.isfinite(days)
    seconds = np.rint(np.where(known, days, 0.0) * DAY)
    stamps = pd.DatetimeIndex(pd.to_datetime(seconds, unit="s", errors="coerce"))
    parts = {"the weekday": stamps.day_of_week, "the day of the month": stamps.day, "the month": stamps.month}
    parts |= {name: seconds // size % (24 if name == "hour" else 60) for name, size in OF_TIME.items()}
    for name, values in parts.items():
        yield name if name.startswith("the") else f"the {name}", np.where(known, np.asarray(values, float), np.nan)


def parts_of_words(column: Words) -> Iterator[tuple[str, Floats]]:
    """Length, form and signs of codes that differ."""
    words = np.where(pd.isna(column), "", column).astype(str)
    if len(np.unique(words)) < LEVELS:
        return
    yield "the length", np.char.str_len(words).astype(np.float64)
    forms = [re.sub(r"\d", "0", re.sub(r"[^\W\d_]", "a", word)) for word in words]
    yield "the form of letters and digits", number_codes(forms)
    for place in range(min(SIGNS, int(np.char.str_len(words).max()))):
        yield f"sign {place + 1}", number_codes([word[place : place + 1] for word in words])
    for place in range(1, LAST_SIGNS + 1):
        yield f"sign {place} from the end", number_codes([word[-place : len(word) - place + 1] for word in words])
    numbers = [re.findall(r"\d+", word) for word in words]
    ends = np.array([float(found[-1][-1]) if found else np.nan for found in numbers])
    yield "whether its number is odd", ends % 2
    yield REPEATED, is_repeated(words)


def is_repeated(column: NDArray[Any]) -> Floats:
    """Whether a cell is in another row, too."""
    return np.asarray(pd.Series(column).duplicated(keep=False), np.float64)


def numbers_in(words: Words) -> dict[str, Floats]:
    """The first and the last number that is written in each text, NaN where none is."""
    found = [NUMBER.findall(word) for word in words]
    places = {"first": 0, "last": -1}
    return {
        name: np.array([float(each[at].replace(",", "")) if each else np.nan for each in found])
        for name, at in places.items()
    }


def number_codes(values: list[str]) -> Floats:
    """A number for each different text."""
    return pd.factorize(np.array(values, object))[0].astype(np.float64)


def ratios_of_counts(columns: Mapping[str, Floats]) -> Iterator[tuple[str, str, Floats]]:
    """Two columns of whole numbers, the first a part of the second, and the first over the second."""
    counts = {name: column for name, column in columns.items() if (column >= 0).all() and (column % 1 == 0).all()}
    for part, total in itertools.permutations(counts, 2):
        if (counts[total] > 0).all() and (counts[part] <= counts[total]).all():
            yield part, total, counts[part] / counts[total]


def pairs_of_columns(columns: Mapping[str, Floats], dates: Mapping[str, str]) -> Iterator[tuple[str, str, str, Floats]]:
    """Two columns of numbers, or two of dates: their difference, and of numbers their sum and quotient, by words."""
    names = list(columns)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            if (one in dates) == (other in dates):
                yield one, other, f"the difference of {one} and {other}", columns[one] - columns[other]
            if one not in dates and other not in dates:
                yield one, other, f"the sum of {one} and {other}", columns[one] + columns[other]
                with np.errstate(divide="ignore", invalid="ignore"):
                    quotient = columns[one] / columns[other]
                if np.isfinite(quotient).all():
                    yield one, other, f"the quotient of {one} and {other}", quotient


def within_levels(
    columns: Mapping[str, Floats], levels: Mapping[str, Floats]
) -> Iterator[tuple[str, str, str, Floats]]:
    """A column of numbers and one of levels: what each cell is above the mean of its level, in words and values."""
    for level, codes in levels.items():
        groups = pd.Series(codes)
        for name in columns.keys() - {level}:
            above = columns[name] - pd.Series(columns[name]).groupby(groups).transform("mean")
            yield name, level, f"{name} less its mean in each {level}", np.asarray(above)
