"""What a source is: one table, a table for each ticker, StockNet's folders, or tables of prices and texts together."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from multiway.data.findings import quoted
from multiway.data.stocks.objects import LINES
from multiway.data.stocks.tables import column_names, find_column, is_table
from multiway.data.stocks.tweets import tweets_folder
from multiway.errors import DataError

PRICE_TABLES = ("prices.parquet", "prices.pq", "prices.csv", "prices.csv.gz")
TEXT_NAMES = ("tweets", "texts", "news")
MAX_FILES = 100_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Where prices and texts lie.

    prices: The frame, or the files.
    texts: What the data set brings, if anything.
    """

    kind: Literal["table", "tables", "files", "stocknet"]
    prices: tuple[Any, ...]
    texts: Path | None = None


def layout_of(source: Any) -> Layout:
    """Look at a source without reading it.

    Raises:
        DataError: It does not exist, or holds no prices.
    """
    if not isinstance(source, str | Path):
        return Layout(kind="table", prices=(source,))
    path = Path(source)
    if not path.exists():
        raise DataError(f"{quoted(path, 200)} does not exist. Give a table of prices, or a folder of them.")
    if path.is_file():
        return Layout(kind="table", prices=(path,))
    table = next((path / name for name in PRICE_TABLES if (path / name).is_file()), None)
    if table is not None:
        return Layout(kind="tables", prices=(table,), texts=_texts_beside(path))
    if (path / "price").is_dir():
        return Layout(kind="stocknet", prices=_stocknet_prices(path), texts=tweets_folder(path))
    files = tuple(sorted(file for file in path.iterdir() if file.is_file() and is_table(file)))
    if not files:
        raise DataError(
            f"{quoted(path, 200)}: there are no prices in it. Give prices.csv or prices.parquet, one table for each "
            f"ticker, or StockNet's folder."
        )
    if len(files) > MAX_FILES:
        raise DataError(f"{quoted(path, 200)}: at most {MAX_FILES:,} files are read. Got {len(files):,}.")
    return Layout(kind="files", prices=files)


def looks_like_stocks(source: Any) -> bool:
    """Whether it is a folder of prices, or a table or frame with tickers, days, closing prices and another price."""
    if not isinstance(source, str | Path):
        return _are_prices([str(name) for name in getattr(source, "columns", ())], ("ticker", "date", "close"))
    path = Path(source)
    if path.is_file():
        return is_table(path) and _has(path, ("ticker", "date", "close"))
    if not path.is_dir():
        return False
    if (path / "price" / "raw").is_dir() or any((path / name).is_file() for name in PRICE_TABLES):
        return True
    first = next((file for file in sorted(path.iterdir()) if file.is_file() and is_table(file)), None)
    return first is not None and _has(first, ("date", "close"))


def _has(table: Path, kinds: tuple[str, ...]) -> bool:
    return _are_prices(column_names(table), kinds)


def _are_prices(names: list[str], kinds: tuple[str, ...]) -> bool:
    others = [find_column(names, field) for field in ("open", "high", "low", "adj_close", "volume")]
    return all(find_column(names, kind) is not None for kind in kinds) and any(others)


def _texts_beside(folder: Path) -> Path | None:
    endings = (".parquet", ".pq", ".csv", ".csv.gz", *LINES)
    names = (f"{name}{ending}" for name in TEXT_NAMES for ending in endings)
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _stocknet_prices(folder: Path) -> tuple[Path, ...]:
    raw = folder / "price" / "raw"
    files = tuple(sorted(raw.glob("*.csv"))) if raw.is_dir() else ()
    if not files:
        raise DataError(
            f"{quoted(folder, 200)}: StockNet's prices lie in price/raw as one CSV for each ticker, and there are "
            f"none; the normalised ones alone do not say prices. Fetch the whole data set."
        )
    listed = {file.stem for file in (folder / "price" / "preprocessed").glob("*.txt")}
    return tuple(file for file in files if not listed or file.stem in listed)
