"""From the archive of StockNet's folder to two tables: unpacked with care, counted, and written whole or not at all."""

import dataclasses
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from multiway.data import datasets
from multiway.data.findings import quoted
from multiway.data.stocks.layouts import looks_like_stocks
from multiway.data.stocks.options import StockOptions
from multiway.data.stocks.panel import FIELDS, StockPanel
from multiway.data.stocks.reading import read_stocks
from multiway.data.stocks.texts import StockTexts
from multiway.errors import DataError
from multiway.files import write_with

MAX_BYTES, MAX_MEMBERS = 2 * 2**30, 500_000
WANTED = (("price", "raw"), ("price", "preprocessed"), ("tweet", "preprocessed"))


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class StockDataset:
    """One public set of stocks.

    files: Names of the folder under which a local copy is looked for, the first being that of a download.
    url: Archive of the authors' folder, made on request: it carries no hash, and is accepted by its counts.
    start, end: First and last day that are kept.
    tickers, rows, texts: Counts in those days.
    """

    url: str
    files: tuple[str, ...]
    start: str
    end: str
    tickers: int
    rows: int
    texts: int
    licence: str
    settings: dict[str, Any]
    kind: str = "stocks"
    task: str = "stocks"
    known_hash: None = None

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{self.tickers} tickers, {self.rows:,} rows of prices, {self.texts:,} texts"

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first folder of prices of one of its names."""
        return datasets.first_in(folders, self.files, looks_like_stocks)

    def fetch(self, name: str, folder: Path) -> Path:
        """Download the archive and keep two tables of it, unless they are there.

        Raises:
            DataError: The address does not answer, or the archive is not the one expected; nothing is kept then.
        """
        target = folder / self.files[0]
        if looks_like_stocks(target):
            return target
        archive = datasets.download(name, self, folder / f"{name}.zip")
        try:
            return make_tables(archive, target, self)
        finally:
            archive.unlink(missing_ok=True)


def make_tables(archive: Path, folder: Path, known: StockDataset) -> Path:
    """Write `prices.parquet` and `tweets.parquet` into a new folder, if the archive holds what is expected.

    Raises:
        DataError: It does not; nothing is left behind then.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as place:
        root = unpack(archive, Path(place) / "archive")
        panel, texts = read_stocks(root, StockOptions(start=known.start, end=known.end))
        _check_counts(panel, texts, known)
        made = Path(place) / "tables"
        made.mkdir()
        write_with(made / "prices.parquet", _price_table(panel).to_parquet)
        if texts is not None:
            write_with(made / "tweets.parquet", _text_table(panel, texts).to_parquet)
        made.replace(folder)
    return folder


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the prices and tweets of an archive below a new folder; return the folder that holds `price`.

    Raises:
        DataError: It is no ZIP archive, holds a link or a path that leads out, or too much.
    """
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


def _check_counts(panel: StockPanel, texts: StockTexts | None, known: StockDataset) -> None:
    got = (len(panel.tickers), int(panel.traded.sum()), 0 if texts is None else texts.count)
    if got != (known.tickers, known.rows, known.texts):
        raise DataError(
            f"{known.url} should hold {known.holds}. Got {got[0]} tickers, {got[1]:,} rows of prices, {got[2]:,} "
            f"texts. Nothing was kept."
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
