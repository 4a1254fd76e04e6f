"""The public set of stocks: StockNet (Xu & Cohen 2018), as its authors publish it."""

from multiway.data.datasets import Dataset
from multiway.data.stocks.fetching import StockDataset

URL = "https://github.com/yumoxu/stocknet-dataset/archive/refs/heads/master.zip"

DATASETS: dict[str, Dataset] = {
    "stocknet": StockDataset(
        url=URL, files=("stocks", "stocknet", "stocknet-dataset", "stocknet-dataset-master"), start="2013-12-02",
        end="2016-01-29", tickers=87, rows=46_882, texts=106_338, licence="MIT",
        settings={"protocol": {"name": "stocknet"}},
    ),
}  # fmt: skip
