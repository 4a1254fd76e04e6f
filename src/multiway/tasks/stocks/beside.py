"""What stands beside every score of the network, fitted on the training days and no others."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.prepared import Prepared

QUANTILES = "training_quantiles"


class Baseline(Protocol):
    """A fitted baseline: `(rows, stocks)` probabilities of a rise, or with a third axis quantiles."""

    def __call__(self, prepared: Prepared, rows: NDArray[np.int64], /) -> NDArray[np.float64]:
        """What it says of samples of this or other data of the same stocks."""


def fit_baselines(prepared: Prepared, config: StockConfig) -> tuple[dict[str, Baseline], dict[str, Any]]:
    """Fit the baselines of a run; return them by name, and what is to be known of them."""
    if config.target == "quantiles":
        return {QUANTILES: _training_quantiles(prepared, config)}, {}
    return {}, {}


def _training_quantiles(prepared: Prepared, config: StockConfig) -> Baseline:
    """The quantiles of all training movements together, whatever the stock and day."""
    rows = prepared.samples.splits["train"]
    levels = np.quantile(prepared.samples.returns[rows][prepared.asked[rows]].astype(np.float64), config.quantiles)

    def quantiles(prepared: Prepared, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.broadcast_to(levels, (len(rows), len(prepared.samples.tickers), len(levels)))

    return quantiles
