"""Covariates of the Higher-Order Transformer as tokens, as a mode with a position for each, and left out.

Each form is trained on `store_sales` and on four made shops, on the series themselves and on what effects of the
regression leave of them. Errors are squared and scaled, means over seeds, on validation and on test windows.

    python -m benchmarks.covariate_mode --seeds 4 --out results/covariate_mode.jsonl
"""

import argparse
import dataclasses
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch import nn as torch_nn

from benchmarks.classical import facts, keep
from multiway.data.examples import load_example
from multiway.errors import MultiwayWarning
from multiway.models.blocks import build_block
from multiway.models.hot_forecaster import HOTForecaster, HOTForecasterConfig
from multiway.models.regression import Regression, Regressors
from multiway.tasks.forecasting import ForecastConfig, candidates
from multiway.tasks.forecasting.encode import PreparedPanel, learn, prepare_panel, sizes_of
from multiway.tasks.forecasting.network import WindowLoss, train_on_windows
from multiway.tasks.forecasting.regression import left_of
from multiway.tasks.protocol import Context
from multiway.training.validation import mean_loss

FORMS = ("tokens", "mode", "without")
DAYS = 1000
THRESHOLD = 8.0
"""Price below which sales grow."""
SIZES: dict[str, Any] = {"horizon": 14, "lookback": 56, "partner": "none", "calendar": False}
DATA: dict[str, dict[str, Any]] = {
    "store_sales": {"future": ["holiday"]},
    "made shops": {"future": ["holiday", "price"], "static": ["region"]},
}


class CovariateMode(HOTForecaster):
    """The forecaster over variates x covariates x time: the values of a series are the first position of the second.

    Behind the past stand the patches of the horizon, in which the values are a vector that is learnt. Heads read the
    first position alone.
    """

    def __init__(self, config: HOTForecasterConfig) -> None:
        super().__init__(config)
        modes = config.model_copy(update={"attended_modes": (0, 1, 2)})
        blocks = (build_block(modes, num_modes=3, ordered_modes=(2,)) for _ in range(config.num_blocks))
        self.blocks, self.covariates = torch_nn.ModuleList(blocks), None
        self.ahead = torch_nn.Linear(config.patch_length, config.dim)  # of each covariate, in the past too
        self.unknown = torch_nn.Parameter(0.02 * torch.randn(config.dim))
        self.positions = torch_nn.Parameter(0.02 * torch.randn(config.known, 1, config.dim))

    def forward(
        self, past: Tensor, past_observed: Tensor | None = None, covariates: Regressors | None = None
    ) -> Tensor:
        """Forecast the steps after each window."""
        window = self._read(past, past_observed, covariates)
        tokens = self._embed(window)
        for block in self.blocks:
            tokens = block(tokens)
        return self._forecast(window, tokens[:, :, 0])

    def _with_covariates(self, tokens: Tensor, covariates: Regressors) -> Tensor:
        assert self.ahead is not None and self.variates is not None
        width, length = tokens.shape[1], self.config.patch_length
        spare = -covariates.known.shape[1] % length
        rows = torch_nn.functional.pad(covariates.known, (0, 0, 0, 0, 0, spare)).permute(0, 2, 3, 1)
        others = self.ahead(rows.unflatten(3, (-1, length))).expand(-1, width, -1, -1, -1) + self.positions
        unknown = (self.variates + self.unknown).expand(len(tokens), -1, self._patches_ahead, -1)
        own = torch.cat([tokens, unknown], 2)
        return torch.cat([own.unsqueeze(2), others], 2)


def made_shops() -> pd.DataFrame:
    """Four shops: a week and noise; holidays double sales in one region and halve them in the other, low prices act."""
    rng, days, parts = np.random.default_rng(0), pd.date_range("2022-01-01", periods=DAYS), []
    week = np.log([1.0, 0.9, 0.95, 1.0, 1.2, 1.5, 1.4])[days.day_of_week]
    holiday = rng.random(DAYS) < 0.06
    for place in range(4):
        price, sign = rng.uniform(6, 12, DAYS).round(2), 1 if place % 2 else -1
        effects = 0.7 * sign * holiday + 0.6 * (price < THRESHOLD)
        sales = 50 * (place + 1) * np.exp(week + effects + 0.08 * rng.normal(size=DAYS))
        own = {"date": days, "shop": f"shop {place}", "sales": sales, "holiday": holiday, "price": price}
        parts.append(pd.DataFrame({**own, "region": f"region {place % 2}"}))
    return pd.concat(parts, ignore_index=True)


def rows(seeds: int) -> Iterator[dict[str, Any]]:
    """Of each data set, what of it is forecast, and form."""
    for name, roles in DATA.items():
        config = ForecastConfig.parse({**SIZES, **roles})
        prepared = prepare_panel(config, made_shops() if name == "made shops" else load_example(name))
        for values, part in (("series", prepared), ("rest of the regression", rest_of(prepared, config))):
            for form in FORMS:
                means = np.array([measure(form, part, config, seed) for seed in range(seeds)])
                yield {"data": name, "values": values, "covariates": form, "seeds": seeds, **told(means)}


def told(measured: np.ndarray) -> dict[str, float]:
    """Means and deviations over seeds."""
    (validation, test, seconds), (deviation, spread, _) = measured.mean(0), measured.std(0, ddof=1)
    return {
        "validation": round(validation, 4), "validation_sd": round(deviation, 4),
        "test": round(test, 4), "test_sd": round(spread, 4), "cpu seconds": round(seconds, 1),
    }  # fmt: skip


def rest_of(prepared: PreparedPanel, config: ForecastConfig) -> PreparedPanel:
    """The same windows without what effects of the regression explain."""
    regression = candidates.build("regression", sizes_of(config, learn(config, prepared)))
    assert isinstance(regression, Regression)
    candidates.fit_candidate(regression, prepared.windows["train"], prepared.windows["validation"], prepared.floor)
    windows = {split: left_of(part, regression) for split, part in prepared.windows.items()}
    return dataclasses.replace(prepared, windows=windows)


def measure(form: str, prepared: PreparedPanel, config: ForecastConfig, seed: int) -> tuple[float, float, float]:
    """Errors on validation and on test windows, and seconds of the processor, of one training."""
    torch.manual_seed(seed)
    learnt = prepared.covariates
    assert learnt is not None
    known = 0 if form == "without" else sum(learnt.known.values())
    ((_, fields),) = config.kinds(prepared.panel.num_variates, known=known)
    model = (CovariateMode if form == "mode" else HOTForecaster)(HOTForecasterConfig(**fields))
    start = time.process_time()
    train_on_windows(model, prepared, config.training.replace(seed=seed), Context(), config)
    seconds = time.process_time() - start
    validation, test = (mean_loss(model, WindowLoss("mse"), prepared.windows[each]) for each in ("validation", "test"))
    return validation, test, seconds


def main() -> None:
    """Measure each form and print a row."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", MultiwayWarning)
    for row in rows(chosen.seeds):
        keep(row, chosen.out, facts(earlier=False))


if __name__ == "__main__":
    main()
