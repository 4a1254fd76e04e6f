"""ARIMA of the prices of every stock, as the chance of a rise."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from multiway.data.stocks.panel import FIELDS, StockPanel
from multiway.data.stocks.prepared import PreparedStocks
from multiway.models.arima import Arima, Values
from multiway.tasks.stocks.baselines import Probabilities, Rows, share_of_rises

ADJUSTED = FIELDS.index("adj_close")


class PriceArima(Arima):
    """ARIMA of the logarithm of each stock's adjusted close over the days on which it traded.

    share: Of rises in training: what is said where the forecast is the last price itself.
    """

    share: Tensor

    def __init__(self, num_stocks: int) -> None:
        super().__init__(num_stocks)
        self.register_buffer("share", torch.zeros((), dtype=torch.float64))

    def fit(self, prepared: PreparedStocks) -> dict[str, Any]:
        """Choose and fit on the rows up to the last training day."""
        samples, panel = prepared.samples, prepared.panel
        self.share.fill_(share_of_rises(samples))
        training = panel.days <= samples.target_days[samples.splits["train"]].max()
        self.fit_series(_log_prices(panel, stock)[training[traded]] for stock, traded in enumerate(panel.traded))
        return {"orders": self.orders()}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """How much of the forecast's normal distribution lies above the last price."""
        panel, samples = prepared.panel, prepared.samples
        places = np.searchsorted(panel.days, samples.target_days[rows])
        expected = np.empty((len(rows), len(panel.tickers)))
        for stock, traded in enumerate(panel.traded):
            before = np.append(0, traded.cumsum())[places]
            expected[:, stock] = self.changes(stock, _log_prices(panel, stock))[before]
        chance = torch.special.ndtr(torch.from_numpy(expected) / self.deviation).numpy()
        return np.where(expected == 0, float(self.share), chance)


def _log_prices(panel: StockPanel, stock: int) -> Values:
    """Logarithms of the adjusted close on the days on which the stock traded."""
    found: Values = np.log(panel.prices[stock, panel.traded[stock], ADJUSTED])
    return found
