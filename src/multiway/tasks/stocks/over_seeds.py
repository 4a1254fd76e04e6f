"""How sure a mean over seeds is: the same days are drawn for every seed, and each draw is scored as the whole is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.metrics import movements
from multiway.metrics.resampling import Interval, Metric, intervals
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.stocks.evaluation import SEED

SCORES: dict[str, Metric] = {"acc": movements.accuracy, "mcc": movements.mcc}


def intervals_of_means(runs: Sequence[Run], split: str = "test") -> dict[str, Interval]:
    """95 % intervals over blocks of days of the mean ACC and MCC over the runs, and of ACC above the majority's.

    The majority is that of the training days, so what it scores on a draw changes with the days drawn, too. A seed
    whose MCC is undefined, as all its predictions are one, counts as 0.
    """
    frames = [_rows(run, OURS, split) for run in runs]
    majority = _rows(runs[0], "majority", split) if "majority" in runs[0].config.baselines else None
    columns = [frame["p_up"].to_numpy() for frame in [*frames, *([] if majority is None else [majority])]]
    means: dict[str, Metric] = {name: _mean_of(metric, len(runs)) for name, metric in SCORES.items()}
    if majority is not None:
        means["acc_over_majority"] = _above(means["acc"])
    config = runs[0].config
    return intervals(
        means,
        frames[0]["label"].to_numpy(),
        np.stack(columns, axis=1),
        units=frames[0]["date"].to_numpy(),
        block=config.block_days,
        draws=config.draws,
        seed=SEED,
    )


def _rows(run: Run, model: str, split: str) -> pd.DataFrame:
    rows = run.tables["predictions"]
    return rows[(rows["model"] == model) & (rows["split"] == split) & (rows["label"] >= 0)]


def _mean_of(metric: Metric, count: int) -> Metric:
    """Mean of a metric over the first columns."""

    def mean(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
        return float(np.mean([metric(labels, scores[:, column]) or 0.0 for column in range(count)]))

    return mean


def _above(mean: Metric) -> Metric:
    """A mean accuracy less that of the last column."""

    def difference(labels: NDArray[Any], scores: NDArray[Any]) -> float | None:
        own, other = mean(labels, scores), movements.accuracy(labels, scores[:, -1])
        return None if own is None or other is None else own - other

    return difference
