"""ARIMA of the prices of every stock: statsforecast chooses and fits it once, and its forecasts are a recursion."""

import collections
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.stocks.panel import FIELDS, StockPanel
from multiway.data.stocks.prepared import PreparedStocks
from multiway.extras import load_extra
from multiway.tasks.stocks.baselines import Probabilities, Rows, share_of_rises

ADJUSTED = FIELDS.index("adj_close")
TERMS = 5
"""Autoregressive terms at most, and as many of the moving average: the bounds of the search."""
FEWEST = 30
"""Training rows below which a stock has the random walk."""
Values = NDArray[np.float64]


class Arima(nn.Module):
    """One ARIMA model for each stock, of the logarithm of its adjusted close.

    The order is that of the lowest corrected AIC on the training days, where the parameters are fitted as well;
    both stay. The forecast for a day runs the fitted recursion over the stock's rows before that day:

    w = (1 - B)^d log price - c,  w_t = Σ φ_i w_(t-i) + e_t + Σ θ_i e_(t-i),  w and e 0 before the first row.

    differences: `(stocks,)` d; 1 without terms or a constant, the random walk, until it is fitted.
    constant, deviation: `(stocks,)` c, and the deviation of e.
    ar, ma: `(stocks, TERMS)` φ and θ.
    share: Of rises in training: what is said where the forecast is the last price itself.
    """

    differences: Tensor
    constant: Tensor
    deviation: Tensor
    ar: Tensor
    ma: Tensor
    share: Tensor

    def __init__(self, num_stocks: int) -> None:
        super().__init__()
        self.register_buffer("differences", torch.ones(num_stocks, dtype=torch.int64))
        self.register_buffer("constant", torch.zeros(num_stocks, dtype=torch.float64))
        self.register_buffer("deviation", torch.ones(num_stocks, dtype=torch.float64))
        self.register_buffer("ar", torch.zeros(num_stocks, TERMS, dtype=torch.float64))
        self.register_buffer("ma", torch.zeros(num_stocks, TERMS, dtype=torch.float64))
        self.register_buffer("share", torch.zeros((), dtype=torch.float64))

    def fit(self, prepared: PreparedStocks) -> dict[str, Any]:
        """Choose and fit on the rows up to the last training day."""
        samples, panel = prepared.samples, prepared.panel
        self.share.fill_(share_of_rises(samples))
        training = panel.days <= samples.target_days[samples.splits["train"]].max()
        for stock in range(len(panel.tickers)):
            prices = log_prices(panel, stock)[training[panel.traded[stock]]]
            if len(prices) >= FEWEST:
                self._keep(stock, fitted(prices))
        return {"orders": self._orders()}

    def says(self, prepared: PreparedStocks, rows: Rows) -> Probabilities:
        """How much of the forecast's normal distribution lies above the last price."""
        panel, samples = prepared.panel, prepared.samples
        places = np.searchsorted(panel.days, samples.target_days[rows])
        expected = np.empty((len(rows), len(panel.tickers)))
        for stock, traded in enumerate(panel.traded):
            before = np.append(0, traded.cumsum())[places]
            expected[:, stock] = self.changes(stock, log_prices(panel, stock))[before]
        chance = torch.special.ndtr(torch.from_numpy(expected) / self.deviation).numpy()
        return np.where(expected == 0, float(self.share), chance)

    def changes(self, stock: int, prices: Values) -> Values:
        """Expected change of the logarithm after none of the rows, after the first, …, after all; `(rows + 1,)`."""
        d = int(self.differences[stock])
        if len(prices) <= d:
            return np.zeros(len(prices) + 1)
        constant, ar, ma = (getattr(self, name)[stock].numpy() for name in ("constant", "ar", "ma"))
        found = constant + _recursion(np.diff(prices, d) - constant, ar, ma)
        if d == 0:
            return np.append(0.0, found[1:] - prices)
        return np.append(np.zeros(d), found + np.diff(prices, d - 1) * (d - 1))

    def _keep(self, stock: int, model: dict[str, Any]) -> None:
        coefficients = model["coef"]
        self.differences[stock] = model["arma"][5]
        self.constant[stock] = coefficients.get("intercept", 0.0) + coefficients.get("drift", 0.0)
        self.deviation[stock] = max(model["sigma2"], np.finfo(np.float64).tiny) ** 0.5
        for name in ("ar", "ma"):
            terms = [float(coefficients.get(f"{name}{term}", 0.0)) for term in range(1, TERMS + 1)]
            getattr(self, name)[stock] = torch.tensor(terms, dtype=torch.float64)

    def _orders(self) -> dict[str, int]:
        """How many stocks have each order, the most frequent first."""
        sizes = zip(self.ar, self.differences, self.ma, self.constant, strict=True)
        names = [
            f"({int((ar != 0).sum())}, {int(d)}, {int((ma != 0).sum())}){' and a constant' if constant else ''}"
            for ar, d, ma, constant in sizes
        ]
        return dict(collections.Counter(names).most_common())


def log_prices(panel: StockPanel, stock: int) -> Values:
    """Logarithms of the adjusted close on the days on which the stock traded."""
    found: Values = np.log(panel.prices[stock, panel.traded[stock], ADJUSTED])
    return found


def fitted(prices: Values) -> dict[str, Any]:
    """The model that AutoARIMA chooses, without seasons.

    Raises:
        ConfigError: statsforecast is not installed.
    """
    models = load_statsforecast()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a candidate that does not converge, and is not chosen
        search = models.AutoARIMA(season_length=1, seasonal=False, max_p=TERMS, max_q=TERMS)
        found: dict[str, Any] = search.fit(prices).model_
    return found


def load_statsforecast() -> Any:
    """The models of statsforecast.

    Raises:
        ConfigError: It is not installed.
    """
    return load_extra("statsforecast.models", "the baseline arima", "arima")


def _recursion(values: Values, ar: Values, ma: Values) -> Values:
    """One-step forecasts of every value and of the one after them, each from what is before it."""
    seen, errors = np.zeros((2, TERMS + len(values)))
    found = np.empty(len(values) + 1)
    for step in range(len(found)):
        before = slice(step, step + TERMS)
        found[step] = seen[before] @ ar[::-1] + errors[before] @ ma[::-1]
        if step < len(values):
            seen[TERMS + step], errors[TERMS + step] = values[step], values[step] - found[step]
    return found
