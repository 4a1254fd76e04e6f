"""One report of each kind with every part filled, small and seeded."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

from multiway.explain import DeletionCurves, lag_labels, mode_maps, slice_labels
from multiway.report import (
    Candidate,
    CaseView,
    CheckFinding,
    ClassificationReport,
    ClassScore,
    Confusion,
    CoverageRow,
    DataCheck,
    DeletionRow,
    ForecastPanel,
    ForecastReport,
    ModelCost,
    ReliabilityBin,
    RocCurve,
    ScoreRow,
    Selection,
    SplitCases,
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


def view(index: int = 0, sizes: tuple[int, int, int] = (7, 8, 10), **changes: object) -> CaseView:
    """A bright ball, attention beside it, gradients of both signs on it."""
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, size) for size in sizes), indexing="ij"))
    ball = np.exp(-4 * ((grid - 0.2 * index) ** 2).sum(axis=0))
    content = {
        "name": f"case-{index}",
        "patient": f"p{index}",
        "group": "Most confident errors" if index % 2 == 0 else "Right",
        "predicted": "benign",
        "actual": "malignant" if index % 2 == 0 else "benign",
        "probability": 0.97,
        "actual_probability": 0.03,
        "volume": (100 * ball).astype(np.int16),
        "spacing": (5.0, 1.0, 1.0),
        "attention": 2 * ball,
        "gradients": ball * np.sign(grid[2]),
        "sums": (1.31, 1.3),
    }
    return CaseView(**{**content, **changes})


def full_classification(classes: Sequence[str] = ("benign", "malignant"), **changes: object) -> ClassificationReport:
    chance = np.random.default_rng(4)
    values = {"multiway": 0.886, "ResNet-18 3D": 0.827, "logistic regression": 0.743, "majority": 0.5}
    rates = np.linspace(0, 1, 11)
    maps = [[chance.dirichlet(np.ones(size), (2, 3, size)) for size in (7, 7, 7)] for _ in range(2)]
    labels = slice_labels(28, 4, 1.5)
    shares = np.array([0, 0.2, 0.5, 1])
    content = {
        "title": "AdrenalMNIST3D",
        "source": "adrenalmnist3d.npz",
        "created": "2026-11-21 05:30 UTC",
        "setting": {"Volumes": "28 × 28 × 28", "Channels": "1"},
        "classes": classes,
        "majority": 0.768,
        "threshold": 0.31,
        "scores": [
            ClassScore(
                model=model, metric=metric, value=value - less, low=value - less - 0.03, high=value - less + 0.03
            )
            for model, value in values.items()
            for metric, less in (("AUC", 0), ("ACC", 0.1), ("ECE", 0.4))
        ],
        "costs": [ModelCost(model="multiway", parameters=629_312, latency_seconds=0.0041)],
        "seeds": (1,),
        "check": DataCheck(facts={"Cases": "1,584"}),
        "splits": [
            SplitCases(name="train", cases=1188, patients=900, classes=dict.fromkeys(classes, 594)),
            SplitCases(name="test", cases=298, patients=200, classes=dict.fromkeys(classes, 149)),
        ],
        "roc": [
            RocCurve(name=model, false_positive=rates, true_positive=rates ** (1 - value), auc=value)
            for model, value in values.items()
        ],
        "confusion": Confusion(classes=classes, counts=np.array([[200, 29], [15, 54]])[: len(classes)]),
        "reliability": [
            ReliabilityBin(confidence=0.55, accuracy=0.5, count=20),
            ReliabilityBin(confidence=0.75, accuracy=float("nan"), count=0),
            ReliabilityBin(confidence=0.95, accuracy=0.91, count=200),
        ],
        "training": [
            TrainingRow(epoch=e, train=1 / e, validation=1 / e + 0.1 * e, score=0.8 + 0.01 * e, seed=1)
            for e in range(1, 6)
        ],
        "cases": [view(index) for index in range(4)],
        "maps": mode_maps(
            maps,
            ["depth", "height", "width"],
            [labels] * 3,
            ordered=["depth", "height", "width"],
            sample="mean over 64",
        ),
        "deletion": DeletionCurves(
            shares,
            {"attention": np.array([0.9, 0.6, 0.4, 0.2]), "gradients": np.array([0.9, 0.3, 0.2, 0.2])},
            np.array([0.9, 0.7, 0.5, 0.2]),
        ),
        "deletion_cases": 16,
        "environment": {"torch": "2.13.0", "data sha256": "f18de3ad"},
        "command": "multiway train volumes --data adrenalmnist3d.npz",
        "notes": ["The test cases were read once."],
    }
    return ClassificationReport(**{**content, **changes})


@pytest.fixture
def make_classification() -> Callable[..., ClassificationReport]:
    return full_classification


@pytest.fixture
def make_view() -> Callable[..., CaseView]:
    return view
