"""From the archive of StockNet's folder to two tables: unpacked with care, counted, and written whole or not at all."""

import shutil
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from multiway.data.findings import quoted
from multiway.errors import DataError
from multiway.files import write_with
from multiway.tasks.stocks.options import StockOptions
from multiway.tasks.stocks.panel import FIELDS, StockPanel, StockTexts
from multiway.tasks.stocks.source import read_stocks

MAX_BYTES, MAX_MEMBERS = 2 * 2**30, 500_000
Counts = tuple[int, int, int]
WANTED = (("price", "raw"), ("price", "preprocessed"), ("tweet", "preprocessed"))


def make_tables(archive: Path, folder: Path, days: tuple[str, str], counts: Counts, expected: str) -> Path:
    """Write `prices.parquet` and `tweets.parquet` into a new folder, if the archive holds what is expected."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as scratch:
        root = unpack_archive(archive, Path(scratch) / "archive")
        panel, texts = read_stocks(root, StockOptions(start=days[0], end=days[1]))
        _check_counts(panel, texts, counts, expected)
        made = Path(scratch) / "tables"
        made.mkdir()
        write_with(made / "prices.parquet", _price_table(panel).to_parquet)
        if texts is not None:
            write_with(made / "tweets.parquet", _text_table(panel, texts).to_parquet)
        made.replace(folder)
    return folder


def unpack_archive(archive: Path, folder: Path) -> Path:
    """Unpack the prices and tweets of an archive below a new folder; return the folder that holds `price`."""
    where = quoted(archive.name, 80)
    try:
        with zipfile.ZipFile(archive) as file:
            members = [member for member in file.infolist() if not member.is_dir()]
            _check_members(members, where)
            for member in members:
                parts = PurePosixPath(member.filename).parts[1:]
                if parts[:2] in WANTED:
                    _copy(file, member, folder.joinpath(*parts))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise DataError(f"{where}: the archive is broken ({quoted(error, 80)}). Fetch it again.") from None
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
            raise DataError(f"{where}: paths must stay inside. Got '{quoted(member.filename, 80)}'. Fetch it again.")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise DataError(f"{where}: it must hold no links. Got '{quoted(member.filename, 80)}'. Fetch it again.")


def _copy(file: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """Unpack one file; never more bytes than it declares are read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with file.open(member) as source, target.open("wb") as sink:
        shutil.copyfileobj(source, sink)


def _check_counts(panel: StockPanel, texts: StockTexts | None, counts: Counts, expected: str) -> None:
    tickers, rows, about = (len(panel.tickers), int(panel.traded.sum()), 0 if texts is None else texts.count)
    if (tickers, rows, about) != counts:
        raise DataError(
            f"{expected}. Got {tickers} tickers, {rows:,} rows of prices, {about:,} texts. Nothing was kept."
        )


def _price_table(panel: StockPanel) -> pd.DataFrame:
    ticker, day = np.nonzero(panel.traded)
    values = panel.prices[ticker, day]
    return pd.DataFrame({
        "ticker": np.array(panel.tickers)[ticker], "date": panel.days[day].astype("datetime64[s]"),
        **{field: values[:, column] for column, field in enumerate(FIELDS)}, "movement": panel.movement[ticker, day],
    })  # fmt: skip


def _text_table(panel: StockPanel, texts: StockTexts) -> pd.DataFrame:
    return pd.DataFrame({
        "ticker": np.array(panel.tickers)[texts.ticker], "date": texts.day.astype("datetime64[s]"),
        "created_at": texts.stamp, "text": texts.text,
    })  # fmt: skip
