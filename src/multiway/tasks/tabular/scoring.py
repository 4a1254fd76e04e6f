"""What models say of rows, and how good it is."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.tabular import Columns, Table
from multiway.metrics import classes, regression, resampling
from multiway.metrics.resampling import Metric
from multiway.tasks.classes import class_values, prediction_frame, probability_frame
from multiway.tasks.protocol import Row

Outputs = Mapping[str, NDArray[np.float64]]
"""Of every model: class probabilities `(rows, classes)`, or numbers `(rows,)`."""
OF_CLASSES: dict[str, Metric] = {
    "acc": classes.accuracy, "auc": classes.auc, "balanced_accuracy": classes.balanced_accuracy,
    "ece": classes.calibration_error,
}  # fmt: skip
OF_NUMBERS: dict[str, Metric] = {
    "mse": regression.mse, "rmse": regression.rmse, "mae": regression.mae, "r2": regression.r2
}  # fmt: skip


def score_rows(table: Table, outputs: Outputs, split: str, draws: int) -> list[Row]:
    """A row per model and metric: value, and its 95 % interval over rows, or over groups where they are known."""
    measures = OF_NUMBERS if table.columns.classes is None else OF_CLASSES
    units = None if table.groups is None else np.array(table.groups, dtype=str)
    return [
        {"model": model, "split": split, **row}
        for model, predicted in outputs.items()
        for row in resampling.score_rows(measures, table.truth, predicted, units=units, draws=draws)
    ]


def answers(predicted: NDArray[np.float64], columns: Columns) -> pd.DataFrame:
    """The class and the probability of each, or the number."""
    if columns.classes is None:
        return pd.DataFrame({"predicted": predicted})
    named = class_values(columns.classes)[classes.predicted_classes(predicted)]
    return pd.concat([pd.DataFrame({"predicted": named}), probability_frame(predicted, columns.classes)], axis=1)


def frame_of(table: Table, outputs: Outputs, split: str) -> pd.DataFrame:
    """Row of the file, model, split, label or number, and the answer."""
    if table.columns.classes is not None:
        return prediction_frame({"row": table.rows.tolist()}, table.truth, outputs, split, table.columns.classes)
    head = {"row": table.rows, "split": split, "label": table.truth}
    return pd.concat(
        [pd.DataFrame({**head, "model": m, "predicted": p}) for m, p in outputs.items()], ignore_index=True
    )
