"""StockNet (Xu & Cohen 2018) among the known data sets; what reads it is imported when it is looked for."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.data.catalogue import download, first_in


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
        return first_in(folders, self.files, _holds_stocks)

    def fetch(self, name: str, folder: Path) -> Path:
        """Download the archive and keep two tables of it, unless they are there."""
        target = folder / self.files[0]
        if self.find([folder]) == target:
            return target
        from multiway_papers.protocols.stocknet import make_tables

        archive = download(name, self.url, None, folder / f"{name}.zip")
        try:
            counts = (self.tickers, self.rows, self.texts)
            return make_tables(archive, target, (self.start, self.end), counts, f"{self.url} should hold {self.holds}")
        finally:
            archive.unlink(missing_ok=True)


def _holds_stocks(path: Path) -> bool:
    """Whether prices lie in a folder, as a table or as StockNet gives them out; a list of sets costs no torch."""
    return path.is_dir() and any(path.glob("price*"))


STOCKNET = StockDataset(
    url="https://github.com/yumoxu/stocknet-dataset/archive/refs/heads/master.zip",
    files=("stocks", "stocknet", "stocknet-dataset", "stocknet-dataset-master"),
    start="2013-12-02",
    end="2016-01-29",
    tickers=87,
    rows=46_882,
    texts=106_338,
    licence="MIT",
    settings={"protocol": {"name": "stocknet"}},
)
