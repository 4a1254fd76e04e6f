"""A small panel and a small network: enough for every path of the task, in a second."""

from typing import Any

import numpy as np
import pandas as pd
import torch

from multiway.tasks import lifecycle
from multiway.tasks.forecasting import ForecastConfig
from multiway.tasks.forecasting.candidate import Facts, names_allowed
from multiway.tasks.forecasting.encode import read_later
from multiway.tasks.forecasting.forecasts import future_frame
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.run import Run

LOOKBACK, HORIZON = 12, 4
TINY = {"dim": 8, "num_blocks": 1, "num_heads": 2, "patch_length": 4}
QUICK = {"epochs": 1, "batch_size": 64, "checkpoint_seconds": 1e9}


def make_frame(rows: int = 300, variates: int = 3, seed: int = 5, freq: str = "h") -> pd.DataFrame:
    """Seasons of different length with noise, each variate on a scale of its own."""
    rng = np.random.default_rng(seed)
    steps = np.arange(rows)[:, None]
    periods, sizes = np.array([6, 12, 24, 8, 5])[:variates], 10.0 ** np.arange(variates)
    values = (np.sin(2 * np.pi * steps / periods) + 0.3 * rng.standard_normal((rows, variates)) + 3) * sizes
    times = pd.date_range("2024-01-01", periods=rows, freq=freq)
    return pd.DataFrame({"date": times, **{f"series {number}": values[:, number] for number in range(variates)}})


def shop(stores: tuple[str, ...] = ("north", "south"), rows: int = 245) -> pd.DataFrame:
    """Sales of a few stores by day, which a holiday doubles, rain takes a third of, and visitors foretell."""
    rng, parts = np.random.default_rng(3), []
    times = pd.date_range("2023-01-01", periods=rows, freq="D")
    for place, name in enumerate(stores):
        holiday, rain = rng.random(rows) < 0.08, rng.random(rows) < 0.3
        holiday[-3] = True
        week = 1 + 0.3 * np.sin(2 * np.pi * np.arange(rows) / 7)
        sales = 100 * (place + 1) * week * np.exp(rng.normal(0, 0.05, rows) + 0.7 * holiday - 0.4 * rain)
        visitors, weather = np.append(sales[1:], sales[-1]) * 3, np.where(rain, "rain", "sun")
        own = {"date": times, "store": name, "sales": sales, "holiday": holiday, "weather": weather}
        parts.append(pd.DataFrame({**own, "visitors": visitors, "region": f"region {place}"}))
    return pd.concat(parts, ignore_index=True)


def weather(days: int = 160, reach: int = 10, seed: int = 0, noise: float = 0.5, step: str = "D") -> pd.DataFrame:
    """Loads that follow the temperature, forecasts of it for the next steps made at each, and what it was, two late."""
    rng, rows, start = np.random.default_rng(seed), [], pd.Timestamp("2022-03-01")
    temp = np.zeros(days + reach)
    for day in range(1, len(temp)):
        temp[day] = 0.8 * temp[day - 1] + rng.normal()
    load = 50 + 5 * temp[:days] + np.array([0, 1, 2, 3, 2, 1, 0])[np.arange(days) % 7] + rng.normal(size=days)
    for made in range(days):
        error = noise * rng.normal(size=reach).cumsum()
        rows += [(made + lead, made, temp[made + lead] + error[lead - 1]) for lead in range(1, reach)]
    rows += [(day, day + 2, temp[day]) for day in range(days)]
    frame = pd.DataFrame(rows, columns=["date", "issued", "temp"])
    frame["load"] = frame["date"].map(dict(enumerate(load)))
    return frame.assign(**{name: start + pd.to_timedelta(frame[name], unit=step) for name in ("date", "issued")})


def allowed(windows: Windows, season: int = 1, *, network: bool = False) -> tuple[str, ...]:
    """Names of the candidates that windows of series around zero allow."""
    nothing = np.zeros(windows.num_targets)
    return names_allowed(Facts.of(windows, season, nothing, nothing, network=network))


def make_config(**changes: Any) -> ForecastConfig:
    sizes = {"lookback": LOOKBACK, "horizon": HORIZON, "season": 12}
    networks = {"model": TINY, "training": QUICK, "partner": "none"}
    alone = {"answer": "ridge"} if changes.get("network") is False else {}
    return ForecastConfig.parse({**sizes, **networks, **alone, **changes})


def fitted(frame: pd.DataFrame, **changes: Any) -> Run:
    return lifecycle.fit_in_memory(TASK, make_config(**changes), frame)


def read(run: Run, source: Any) -> Panel:
    return read_later(run.config, run.state, source)


def forecast(run: Run, source: Any, levels: tuple[float, ...] | None = None, layout: str = "long") -> pd.DataFrame:
    return future_frame(run, read(run, source), levels, layout)


def scores_on(run: Run, source: Any) -> list[dict[str, Any]]:
    later = TASK.prepare(run.config, source, run.state)
    return TASK.score(run, TASK.predict(run, later, "test"), "test")


def make_windows(
    rows: int, variates: int, lookback: int, horizon: int, *, missing: float = 0.0, seed: int = 3
) -> Windows:
    """Windows over a random walk, with a share of its cells missing."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(rows, variates, generator=generator).cumsum(0) * 0.3
    observed = torch.rand(rows, variates, generator=generator) >= missing if missing else None
    if observed is not None:
        values = torch.where(observed, values, 0)
    return Windows(values, observed, start=0, stop=rows, lookback=lookback, horizon=horizon)
