"""Regression on covariates against its sum written out, and what it is where covariates say nothing."""

import torch

from multiway.models.regression import REACH, Regression, Regressors
from tolerances import assert_same

BATCH, LOOKBACK, HORIZON, SERIES, KNOWN, SEEN, RECENT = 2, 7, 5, 3, 2, 2, 3


def made(series: int = SERIES) -> tuple[Regression, torch.Tensor, Regressors]:
    generator = torch.Generator().manual_seed(7)
    model = Regression(LOOKBACK, HORIZON, SERIES, series=SERIES, known=KNOWN, seen=SEEN, recent=RECENT).double()
    for name in ("effect", "recent"):
        getattr(model, name).copy_(torch.randn(getattr(model, name).shape, generator=generator))
    model.floor.weight.copy_(torch.randn(SERIES, HORIZON, LOOKBACK, generator=generator))
    past = torch.randn(BATCH, LOOKBACK, SERIES, generator=generator).double()
    known = torch.randn(BATCH, LOOKBACK + HORIZON, series, KNOWN, generator=generator).double()
    seen = torch.randn(BATCH, LOOKBACK, series, SEEN, generator=generator).double()
    return model, past, Regressors(known, seen, torch.zeros(BATCH, dtype=torch.long))


def slow(model: Regression, past: torch.Tensor, covariates: Regressors) -> torch.Tensor:
    out = torch.zeros(BATCH, HORIZON, SERIES, dtype=torch.float64)
    for window in range(BATCH):
        for series in range(SERIES):
            own = min(series, covariates.known.shape[2] - 1)
            effects = torch.zeros(LOOKBACK + HORIZON, dtype=torch.float64)
            for step in range(LOOKBACK + HORIZON):
                for lag in range(-REACH, REACH + 1):
                    if 0 <= step + lag < LOOKBACK + HORIZON:
                        effect = model.effect[series, lag + REACH]
                        effects[step] += covariates.known[window, step + lag, own] @ effect
            left = past[window, :, series] - effects[:LOOKBACK]
            for step in range(HORIZON):
                ahead = left[-1] + model.floor.weight[series, step] @ (left - left[-1])
                recent = (covariates.seen[window, -RECENT:, own] * model.recent[step]).sum()
                out[window, step, series] = ahead + effects[LOOKBACK + step] + recent
    return out


def test_a_forecast_is_the_sum_as_written():
    for series in (SERIES, 1):
        model, past, covariates = made(series)
        assert_same(model(past, covariates), slow(model, past, covariates))


def test_without_effects_it_is_ridge():
    model, past, covariates = made()
    model.effect.zero_(), model.recent.zero_()
    assert_same(model(past, covariates), model.floor(past))


def test_what_comes_after_the_last_value_is_not_seen_of_the_past():
    model, past, covariates = made()
    earlier = covariates._replace(seen=covariates.seen.clone())
    earlier.seen[:, : LOOKBACK - RECENT] += 1
    assert_same(model(past, earlier), model(past, covariates))
