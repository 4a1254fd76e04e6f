"""StockNet's folder as its authors publish it: prices as CSV, movements beside them, tweets as TICKER/DAY."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multiway.data.findings import Findings, Place, quoted
from multiway.data.sources.cells import sound_text
from multiway.data.sources.json_lines import read_lines
from multiway.errors import DataError
from multiway.tasks.stocks.options import FOLDERS, DatedText
from multiway.tasks.stocks.protocols import PUBLISHED, PublishedProtocol


class StockNetFolder:
    """A `PublishedFolder`."""

    def recognises(self, folder: Path) -> bool:
        """Whether there are prices below it."""
        return (folder / "price").is_dir()

    def prices(self, folder: Path) -> tuple[Path, ...]:
        """CSV files below price/raw, those that the authors kept where they say which."""
        files = tuple(sorted((folder / "price" / "raw").glob("*.csv")))
        if not files:
            raise DataError(
                f"{quoted(folder, 200)}: StockNet's prices lie in price/raw as one CSV for each ticker, and there are "
                f"none; the normalised ones alone do not say prices. Fetch the whole data set."
            )
        listed = {file.stem for file in (folder / "price" / "preprocessed").glob("*.txt")}
        return tuple(file for file in files if not listed or file.stem in listed)

    def movements(self, file: Path, findings: Findings) -> dict[str, float]:
        """Those of `price/preprocessed/TICKER.txt`, where that is there: day, movement, normalised prices."""
        path = file.parent.parent / "preprocessed" / f"{file.stem}.txt"
        known: dict[str, float] = {}
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        for number, line in enumerate(text.splitlines(), start=1):
            day, movement = ([*line.split("\t"), ""])[:2]
            try:
                known[str(np.datetime64(day.strip(), "D"))] = float(movement)
            except ValueError:
                rule = f"{quoted(path.name)}: a line holds a day and a movement, with tabs between"
                raise findings.fatal("movement", rule, "Fetch it again.", [Place(row=number, value=line)]) from None
        return known

    def texts(self, folder: Path) -> Path | None:
        """The folder that holds tweets as TICKER/DAY, at or below a folder."""
        for path in (folder / "tweet" / "preprocessed", folder / "tweet" / "raw", folder / "preprocessed", folder):
            if path.is_dir() and any(_days_in(ticker) for ticker in _folders(path)):
                return path
        return None

    def read_texts(self, folder: Path, max_bytes: int, findings: Findings) -> Iterator[DatedText]:
        """Every tweet of every ticker and day; the name of its file is its day."""
        for ticker in _folders(folder):
            for file in _days_in(ticker):
                with findings.member(f"{quoted(ticker.name)}/{file.name}") as inner:
                    for number, item in read_lines(file, max_bytes, inner):
                        stamp = sound_text(item.get("created_at", file.name))
                        text, origin = _words(item.get("text")), f"{ticker.name}/{file.name}"
                        yield DatedText(ticker.name, stamp, file.name, text, number, origin)


def _words(value: Any) -> Any:
    """A text as it is, or StockNet's list of words with blanks between."""
    return " ".join(word for word in value if isinstance(word, str)) if isinstance(value, list) else value


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _days_in(folder: Path) -> list[Path]:
    """Files named as days that there are; what else lies there is passed over."""
    return sorted(file for file in folder.iterdir() if _is_day(file.name) and file.is_file())


def _is_day(name: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", name):
        return False
    try:
        np.datetime64(name, "D")
    except ValueError:
        return False
    return True


BORDERS = np.array(["2014-01-01", "2015-08-01", "2015-10-01", "2016-01-01"], dtype="datetime64[D]")
FOLDERS.append(StockNetFolder())
PUBLISHED["stocknet"] = PublishedProtocol(borders=BORDERS, dead_zone=(0.005, 0.0055), by_calendar=True)
