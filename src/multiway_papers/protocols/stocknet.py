"""StockNet's folder as its authors publish it, and two tables from their archive: unpacked with care and counted."""

import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from multiway.data.findings import Findings, Place, quote
from multiway.data.sources.cells import sound_text
from multiway.data.sources.json_files import read_lines
from multiway.errors import DataError
from multiway.files import write_with
from multiway_papers.stocks.config import PUBLISHED, StockOptions
from multiway_papers.stocks.options import FOLDERS, DatedText
from multiway_papers.stocks.panel import FIELDS, StockPanel, StockTexts
from multiway_papers.stocks.protocols import PublishedProtocol
from multiway_papers.stocks.source import read_stocks

MAX_BYTES, MAX_MEMBERS = 2 * 2**30, 500_000
Counts = tuple[int, int, int]
WANTED = (("price", "raw"), ("price", "preprocessed"), ("tweet", "preprocessed"))


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
                f"{quote(folder, 200)}: StockNet's prices lie in price/raw as one CSV for each ticker, and there are "
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
                rule = f"{quote(path.name)}: a line holds a day and a movement, with tabs between"
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
                with findings.member(f"{quote(ticker.name)}/{file.name}") as inner:
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


def make_tables(archive: Path, folder: Path, days: tuple[str, str], counts: Counts, expected: str) -> Path:
    """Write `prices.parquet` and `tweets.parquet` into a new folder, if the archive holds what is expected."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        root = unpack_archive(archive, Path(scratch) / "archive")
        panel, texts = read_stocks(root, StockOptions(start=days[0], end=days[1]))
        made_of = (len(panel.tickers), int(panel.traded.sum()), 0 if texts is None else texts.count)
        if made_of != counts:
            tickers, rows, said = made_of
            got = f"Got {tickers} tickers, {rows:,} rows of prices, {said:,} texts. Nothing was kept."
            raise DataError(f"{expected}. {got}")
        made = Path(scratch) / "tables"
        made.mkdir()
        write_with(made / "prices.parquet", _price_table(panel).to_parquet)
        if texts is not None:
            write_with(made / "tweets.parquet", _text_table(panel, texts).to_parquet)
        made.replace(folder)
    return folder


def unpack_archive(archive: Path, folder: Path) -> Path:
    """Unpack the prices and tweets of an archive below a new folder; return the folder that holds `price`."""
    where = quote(archive.name, 80)
    try:
        with zipfile.ZipFile(archive) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
            _check_members(members, where)
            for member in members:
                parts = PurePosixPath(member.filename).parts[1:]
                if parts[:2] in WANTED:
                    target = folder.joinpath(*parts)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with file.open(member) as source, target.open("wb") as sink:  # no more bytes than it declares
                        shutil.copyfileobj(source, sink)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise DataError(f"{where}: the archive is broken ({quote(error, 80)}). Fetch it again.") from None
    if not (folder / "price" / "raw").is_dir():
        raise DataError(f"{where}: there is no price/raw in it. Fetch StockNet's own archive.")
    return folder


def _check_members(members: list[zipfile.ZipInfo], where: str) -> None:
    size = sum(member.file_size for member in members)
    if size > MAX_BYTES or len(members) > MAX_MEMBERS:
        raise DataError(
            f"{where}: an archive may hold {MAX_MEMBERS:,} files of {MAX_BYTES:,} bytes in all. Got {len(members):,} "
            f"of {size:,}. Fetch it again."
        )
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in member.filename or "\\" in member.filename:
            raise DataError(f"{where}: paths must stay inside. Got '{quote(member.filename, 80)}'. Fetch it again.")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise DataError(f"{where}: it must hold no links. Got '{quote(member.filename, 80)}'. Fetch it again.")


def _price_table(panel: StockPanel) -> pd.DataFrame:
    ticker, day = np.nonzero(panel.traded)
    values = panel.prices[ticker, day]
    return pd.DataFrame(
        {
            "ticker": np.array(panel.tickers)[ticker],
            "date": panel.days[day].astype("datetime64[s]"),
            **{field: values[:, column] for column, field in enumerate(FIELDS)},
            "movement": panel.movement[ticker, day],
        }
    )


def _text_table(panel: StockPanel, texts: StockTexts) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "ticker": np.array(panel.tickers)[texts.ticker],
            "date": texts.day.astype("datetime64[s]"),
            "created_at": texts.stamp,
            "text": texts.text,
        }
    )
