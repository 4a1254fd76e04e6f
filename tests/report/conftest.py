"""One report with every part filled, small and seeded."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

from multiway.explain import lag_labels, mode_maps
from multiway.report import (
    Candidate,
    CheckFinding,
    CoverageRow,
    DataCheck,
    DeletionRow,
    ForecastPanel,
    ForecastReport,
    ModelCost,
    ScoreRow,
    Selection,
    SplitSpan,
    StepErrors,
    TrainingRow,
    VariateErrors,
)

MODELS = ("blend", "network", "ridge", "seasonal_naive")
SCALES = {"blend": 0.37, "network": 0.39, "ridge": 0.38, "seasonal_naive": 0.51}


def panels(names: Sequence[str], past: pd.Index, ahead: pd.Index) -> list[ForecastPanel]:
    chance = np.random.default_rng(1)
    found = []
    for name in names:
        line, spread = chance.normal(size=len(ahead)), chance.random(len(ahead))
        parts = {
            "name": name,
            "times": ahead,
            "history_times": past,
            "history": chance.normal(size=len(past)),
            "lines": {"blend": line, "ridge": line + 0.1},
            "bands": {80: (line - spread, line + spread), 95: (line - 2 * spread, line + 2 * spread)},
        }
        actual = chance.normal(size=len(ahead))
        found += [ForecastPanel(**parts, group="Last test window", actual=actual)]
        found += [ForecastPanel(**parts, group="Future")]
    return found


def full_report(names: Sequence[str] = ("HUFL", "OT", "LULL"), horizon: int = 12, **changes: object) -> ForecastReport:
    chance = np.random.default_rng(2)
    times = pd.date_range("2016-07-01", periods=3 * horizon, freq="h")
    scores = [
        ScoreRow(
            model=model,
            metric=metric,
            scale=scale,
            value=SCALES[model] * factor + 0.001 * (seed or 0),
            seed=seed,
        )
        for model in MODELS
        for scale, metric, factor in (
            ("scaled", "MSE", 1),
            ("scaled", "MAE", 1.07),
            ("original", "MASE", 2.2),
        )
        for seed in ((1, 2, 3) if model in ("blend", "network") else (None,))
    ]
    maps = [[chance.dirichlet(np.ones(size), (2, 3, size)) for size in (len(names), horizon // 4)] for _ in range(2)]
    content = {
        "title": "ETTh1, 12 hours ahead",
        "source": "ETTh1.csv",
        "created": "2026-11-21 05:30 UTC",
        "setting": {"Look-back": "12 steps"},
        "selection": Selection(
            chosen="blend",
            rule="The lowest validation error is taken if its gain is larger than two standard errors.",
            candidates=[
                Candidate(model="ridge", value=0.66),
                Candidate(model="network", value=0.67, difference=0.01, standard_error=0.0031),
                Candidate(model="blend", value=0.65, difference=-0.01, standard_error=0.0021, note="weight 0.40"),
            ],
        ),
        "scores": scores,
        "costs": [ModelCost(model="blend", parameters=629_312, flops=1.3e8, latency_seconds=0.0041, fit_seconds=171)],
        "seeds": (1, 2, 3),
        "check": DataCheck(
            facts={"Rows": "14,400"},
            findings=[
                CheckFinding(severity="warning", message="23 cells hold the sentinel", where="row 411", value="-9999")
            ],
        ),
        "splits": [
            SplitSpan(name="train", first=times[0], last=times[19], rows=20, windows=9),
            SplitSpan(name="test", first=times[20], last=times[-1], rows=16, windows=5),
        ],
        "forecasts": panels(names, times[:horizon], times[horizon : 2 * horizon]),
        "step_errors": StepErrors(lines={model: chance.random(horizon) for model in MODELS}),
        "variate_errors": VariateErrors(
            names=names, bars={model: np.linspace(0.1, 0.9, len(names)) for model in ("blend", "ridge")}
        ),
        "coverage": [CoverageRow(level=80, actual=76.04, width=1.12, by_step=70 + 10 * chance.random(horizon))],
        "training": [TrainingRow(epoch=e, train=1 / e, validation=1 / e + 0.1 * e, seed=1) for e in range(1, 6)],
        "maps": mode_maps(maps, ["variates", "time"], [names, lag_labels(horizon, 4)]),
        "deletion": [DeletionRow(mode="time", hidden="1 of 3 patches", error=0.43, error_random=0.41)],
        "environment": {"torch": "2.13.0", "data sha256": "f18de3ad"},
        "command": "multiway train forecast --data ETTh1.csv",
        "notes": ["Scaled scores are in standard deviations of the training rows."],
    }
    return ForecastReport(**{**content, **changes})


@pytest.fixture
def make_report() -> Callable[..., ForecastReport]:
    return full_report


@pytest.fixture
def make_panels() -> Callable[..., list[ForecastPanel]]:
    return panels
