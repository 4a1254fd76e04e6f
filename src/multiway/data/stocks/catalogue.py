"""The public set of stocks: StockNet (Xu & Cohen 2018), as its authors publish it."""

import dataclasses

URL = "https://github.com/yumoxu/stocknet-dataset/archive/refs/heads/master.zip"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class StockDataset:
    """One public set of stocks.

    files: Names of the folder under which a local copy is looked for, the first being that of a download.
    url: Archive of the authors' folder, which carries no hash: a download is accepted by its counts.
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

    @property
    def known_hash(self) -> None:
        """None: an archive made on request has no fixed bytes."""
        return

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{self.tickers} tickers, {self.rows:,} rows of prices, {self.texts:,} texts"


STOCK_DATASETS: dict[str, StockDataset] = {
    "stocknet": StockDataset(
        url=URL, files=("stocks", "stocknet", "stocknet-dataset", "stocknet-dataset-master"), start="2013-12-02",
        end="2016-01-29", tickers=87, rows=46_882, texts=106_338, licence="MIT",
    ),
}  # fmt: skip
