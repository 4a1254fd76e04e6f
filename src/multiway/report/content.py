"""What a forecast report says, as plain values: the task fills it, `render_forecast_report` sets it.

Every part but the title may be absent: its section is then left out. Model names are free text and tie the
parts together: use the same name ("ridge", "network", "blend", "seasonal naive", "naive") everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from multiway.explain.maps import ModeMap

Floats = npt.NDArray[np.floating]
Time = pd.Timestamp | int | str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Candidate:
    """One model that took part in the choice on validation.

    value: Its validation error.
    difference: Its error minus the reference's (below 0 is better); `None` for the reference itself.
    standard_error: Uncertainty of that difference.
    note: Anything to add, such as "weight 0.35 on the network".
    """

    model: str
    value: float
    difference: float | None = None
    standard_error: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Selection:
    """Which model was chosen on validation, and by how much.

    chosen: Name of the model that makes the forecasts.
    reference: The model that the others had to beat.
    rule: How the choice is made, in one sentence.
    sentence: Said instead of the sentence the report would write.
    """

    chosen: str
    candidates: Sequence[Candidate] = ()
    reference: str = "ridge"
    metric: str = "MSE"
    rule: str = ""
    sentence: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModelCost:
    """What one model costs.

    flops: Floating-point operations for one window.
    latency_seconds: Measured time for one window alone.
    fit_seconds: Measured time to fit.
    """

    model: str
    parameters: int | None = None
    flops: float | None = None
    latency_seconds: float | None = None
    fit_seconds: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoreRow:
    """One score, lower is better; rows that differ in `seed` alone are shown as a mean with its interval."""

    model: str
    metric: str
    value: float
    split: str = "test"
    scale: Literal["scaled", "original"] = "scaled"
    seed: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CheckFinding:
    """One finding of the data check: how grave, where, what, and what was or can be done about it."""

    severity: Literal["error", "warning", "note"]
    message: str
    where: str = ""
    value: str = ""
    fix: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DataCheck:
    """What the data check saw.

    facts: Short facts in order: {"Rows": "17 420", "Frequency": "hourly"}.
    findings: Empty when there was nothing to report.
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[CheckFinding] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplitSpan:
    """One split: its target rows, first and last included, and the number of windows cut from it."""

    name: str
    first: Time
    last: Time
    rows: int
    windows: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ForecastPanel:
    """The forecast of one variate at one place in time, in original units.

    name: The variate.
    group: Which forecast: "Last test window", "Future". Panels of one group are shown together.
    history_times, history: What came before, `(past,)` each; NaN where missing.
    times: `(horizon,)`, the forecast's own time stamps or integers.
    lines: Forecast `(horizon,)` per model.
    actual: What happened, `(horizon,)`, NaN where missing; `None` where nobody knows yet.
    bands: Lower and upper `(horizon,)` per level in percent, {80: (low, high)}.
    """

    name: str
    times: pd.Index
    lines: Mapping[str, Floats]
    group: str = "Forecast"
    history_times: pd.Index | None = None
    history: Floats | None = None
    actual: Floats | None = None
    bands: Mapping[float, tuple[Floats, Floats]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StepErrors:
    """Test error at each step of the horizon, `(horizon,)` per model."""

    lines: Mapping[str, Floats]
    metric: str = "MSE, scaled"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class VariateErrors:
    """Test error of each variate, `(variates,)` per model, in the order of `names`."""

    names: Sequence[str]
    bars: Mapping[str, Floats]
    metric: str = "MSE, scaled"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CoverageRow:
    """How often the interval held the actual value on test rows.

    level: Claimed, in percent.
    actual: Measured, in percent.
    width: Mean width of the interval, scaled.
    by_step: Measured at each step of the horizon, in percent, `(horizon,)`.
    """

    level: float
    actual: float
    width: float | None = None
    by_step: Floats | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrainingRow:
    """One point of the training curve; `epoch` may be a fraction, `train` or `validation` may be absent.

    score: What chose the best weights in place of the validation loss, higher is better.
    """

    epoch: float
    train: float | None = None
    validation: float | None = None
    seed: int | None = None
    score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DeletionRow:
    """Error after hiding inputs from the model: those attended most, against as many drawn at random."""

    mode: str
    hidden: str
    error: float
    error_random: float
    error_intact: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunReport:
    """What the report of every run says, whatever its task.

    title: Name of the run or of the data.
    source: File the data came from.
    created: When the run finished, in words.
    setting: Short facts beside the title: {"Look-back": "96 steps", "Horizon": "96 steps"}.
    costs: Parameters, FLOPs and times per model.
    seeds: Seeds the network was trained with.
    check: Data check.
    training: Training curve.
    maps: Attention, one map per layer and mode, and stream where there are several.
    environment: Versions, seed, hash of the data: {"python": "3.11.9", "data sha256": "…"}.
    command: Command that makes this run again.
    notes: Anything else to say under the scores, one sentence each.
    """

    title: str
    source: str = ""
    created: str = ""
    setting: Mapping[str, str] = field(default_factory=dict)
    costs: Sequence[ModelCost] = ()
    seeds: Sequence[int] = ()
    check: DataCheck | None = None
    training: Sequence[TrainingRow] = ()
    maps: Sequence[ModeMap] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ForecastReport(RunReport):
    """Everything in the report of a forecast.

    selection: Which model was chosen on validation.
    scores: One row per model, metric, scale, split and seed.
    splits: Train, validation and test in order of time.
    forecasts: Panels, in the order of the variates.
    step_errors, variate_errors: Where the error lies.
    coverage: One row per interval level.
    deletion: What hiding the attended inputs does.
    """

    selection: Selection | None = None
    scores: Sequence[ScoreRow] = ()
    splits: Sequence[SplitSpan] = ()
    forecasts: Sequence[ForecastPanel] = ()
    step_errors: StepErrors | None = None
    variate_errors: VariateErrors | None = None
    coverage: Sequence[CoverageRow] = ()
    deletion: Sequence[DeletionRow] = ()
