"""StockNet (Xu & Cohen 2018) among the known data sets; what reads it is imported when it is looked for."""

from collections.abc import Sequence
from pathlib import Path

from multiway.data.catalogue import Dataset, download, first_in


class StockDataset(Dataset):
    """One public set of stocks, whose archive is made on request: it carries no hash, and is accepted by its counts."""

    kind: str = "stocks"
    task: str = "stocks"
    start: str
    """First day that is kept."""
    end: str
    """Last day that is kept."""
    counts: tuple[int, int, int]
    """Tickers, rows of prices, and texts in those days."""

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
            expected = f"{self.url} should hold {self.holds}"
            return make_tables(archive, target, (self.start, self.end), self.counts, expected)
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
    counts=(87, 46_882, 106_338),
    holds="87 tickers, 46,882 rows of prices, 106,338 texts",
    licence="MIT",
    settings={"protocol": {"name": "stocknet"}},
)
