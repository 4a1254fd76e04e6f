"""What tasks on numbers share: metrics, the table of predictions, and the report's part on errors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.metrics import regression
from multiway.metrics.resampling import Metric as Function
from multiway.report import text
from multiway.report.sections import Part, Table
from multiway.tasks.protocol import Metric

NUMBERS: dict[str, Function] = {
    "mse": regression.mse, "rmse": regression.rmse, "mae": regression.mae, "r2": regression.r2
}  # fmt: skip
METRICS = (
    Metric(name="mse", title="MSE", higher=False, spread=True),
    Metric(name="rmse", title="RMSE", higher=False),
    Metric(name="mae", title="MAE", higher=False, spread=True),
    Metric(name="r2", title="R²"),
)
GROUPS = 10


def prediction_frame(
    samples: Mapping[str, Sequence[Any]], truth: NDArray[Any], outputs: Mapping[str, NDArray[Any]], split: str
) -> pd.DataFrame:
    """Columns that name each sample, then split, label, model and the number predicted."""
    head = {**samples, "split": split, "label": truth}
    frames = [pd.DataFrame({**head, "model": model, "predicted": each}) for model, each in outputs.items()]
    return pd.concat(frames, ignore_index=True)


def errors_part(test: pd.DataFrame, rows: str) -> Part:
    """Truth beside prediction, over tenths of the test rows by what is predicted.

    Args:
        test: Columns `label` and `predicted` of one model.
        rows: What is counted, in words.
    """
    ranked = test.sort_values("predicted", kind="stable")
    decimals = text.decimals_for(test["label"])
    tenth = np.arange(len(ranked)) * min(GROUPS, len(ranked)) // len(ranked)
    means = ranked.groupby(tenth).agg(predicted=("predicted", "mean"), true=("label", "mean"), spread=("label", "std"))
    cells = [[text.number(float(value), decimals) for value in row] for row in means.fillna(0.0).to_numpy()]
    table = Table(columns=["Predicted", "True", "Deviation of the true"], rows=cells)
    side = [f"Test {rows} in tenths, from the lowest to the highest prediction: means, and how far the truth spreads."]
    return Part(id="errors", title="Truth by prediction", side=side, content=[table])
