"""What stands beside every score of the network, fitted on the training days and no others."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multiway.tasks.stocks.baselines import MovementBaseline, fit_calendar, fit_majority, fit_previous
from multiway.tasks.stocks.config import StockConfig
from multiway.tasks.stocks.logistic import fit_logistic
from multiway.tasks.stocks.prepared import Prepared

QUANTILES = "training_quantiles"
FITS: dict[str, Callable[[Prepared], MovementBaseline]] = {
    "majority": lambda prepared: fit_majority(prepared.samples),
    "previous": lambda prepared: fit_previous(prepared.samples),
    "logistic": lambda prepared: fit_logistic(prepared.samples, prepared.vectors),
    "calendar": lambda prepared: fit_calendar(prepared.samples),
}


class Baseline(Protocol):
    """A fitted baseline: `(rows, stocks)` probabilities of a rise, or with a third axis quantiles."""

    def __call__(self, prepared: Prepared, rows: NDArray[np.int64], /) -> NDArray[np.float64]:
        """What it says of samples of this or other data of the same stocks."""


def fit_baselines(prepared: Prepared, config: StockConfig) -> tuple[dict[str, Baseline], dict[str, Any]]:
    """Fit the baselines of a run; return them by name, and what is to be known of them."""
    if config.target == "quantiles":
        return {QUANTILES: _training_quantiles(prepared, config)}, {"baselines": {}}
    fitted = {name: FITS[name](prepared) for name in config.baselines}
    return (
        {name: _rises(baseline) for name, baseline in fitted.items()},
        {"baselines": {name: baseline.facts() for name, baseline in fitted.items()}},
    )


def _rises(baseline: MovementBaseline) -> Baseline:
    return lambda prepared, rows: baseline.p_up(prepared.samples, rows, prepared.vectors)


def _training_quantiles(prepared: Prepared, config: StockConfig) -> Baseline:
    """The quantiles of all training movements together, whatever the stock and day."""
    rows = prepared.samples.splits["train"]
    levels = np.quantile(prepared.samples.returns[rows][prepared.asked[rows]].astype(np.float64), config.quantiles)
    return lambda prepared, rows: np.broadcast_to(levels, (len(rows), len(prepared.samples.tickers), len(levels)))
