"""Short monthly series, whose validation is too short for quantiles of its own, and what their intervals hold."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from multiway import ops
from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.held_out import Stretch, errors_of
from multiway.tasks.forecasting.networks import model_of
from multiway.tasks.forecasting.task import TASK

KINDS = ("seasonal", "trend", "walk", "autoregression", "noise", "growth", "retail")
HORIZON, LOOKBACK, LEVELS = 12, 24, (80.0, 95.0)


def cover(seed: int, months: int) -> Iterator[dict[str, object]]:
    """Shares of the test values of one series inside its bands, and inside those of split conformal alone."""
    kind = KINDS[seed % len(KINDS)]
    times = pd.date_range("2010-01-01", periods=months, freq="MS")
    frame = pd.DataFrame({"month": times, "y": series(kind, seed, months)})
    settings = {"lookback": LOOKBACK, "horizon": HORIZON, "network": False, "levels": LEVELS}
    run = lifecycle.fit_in_memory(TASK, ForecastConfig.parse(settings), frame)
    windows, model = run.prepared.windows, model_of(run)
    parts = (Stretch(windows[split], lambda *past: {"answer": model(*past)}) for split in ("validation", "test"))
    known, errors = (np.abs(errors_of([part])["answer"]) for part in parts)
    alone = ops.conformal_radii(known, [level / 100 for level in LEVELS])
    for row, radius in zip(run.facts["coverage"], alone, strict=True):
        inside = float((errors <= radius[..., None]).mean())
        yield {"kind": kind, "level": row["level"], "coverage": row["actual"] / 100, "conformal": inside}


def series(kind: str, seed: int, months: int) -> np.ndarray:
    """One seeded series."""
    rng, month = np.random.default_rng(seed), np.arange(months)
    noise = rng.standard_normal(months)
    season = np.sin(2 * np.pi * month / 12 + rng.uniform(0, 6)) * rng.uniform(0.5, 3)
    return {
        "seasonal": lambda: 10 + season + 0.5 * noise,
        "trend": lambda: 10 + 0.1 * rng.uniform(0.3, 1.5) * month + season + 0.7 * noise,
        "walk": lambda: noise.cumsum(),
        "autoregression": lambda: np.convolve(noise, 0.8 ** np.arange(months))[:months],
        "noise": lambda: noise,
        "growth": lambda: np.exp(4 + 0.01 * month + 0.2 * season + 0.1 * noise),
        "retail": lambda: 50 + 0.3 * rng.standard_normal(months).cumsum() + 2 * season + noise,
    }[kind]()
