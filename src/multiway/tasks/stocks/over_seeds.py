"""How sure a mean over seeds is: the same days are drawn for every seed, and each draw is scored as the whole is."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multiway.metrics import movements
from multiway.metrics.resampling import Interval, Metric, intervals
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.stocks.evaluation import SEED, labelled_rows


def intervals_of_means(runs: Sequence[Run], split: str = "test") -> dict[str, Interval]:
    """95 % intervals over blocks of days of the mean ACC and MCC over the runs, and of ACC above the majority's.

    The majority is that of the training days, so what it scores on a draw changes with the days drawn, too. A seed
    whose MCC is undefined, as all its predictions are one, counts as 0.
    """
    config, count = runs[0].config, len(runs)
    frames = [labelled_rows(run, OURS, split) for run in runs]
    means: dict[str, Metric] = {
        "acc": partial(_mean, movements.accuracy, count),
        "mcc": partial(_mean, movements.mcc, count),
    }
    if "majority" in config.baselines:
        frames.append(labelled_rows(runs[0], "majority", split))
        means["acc_over_majority"] = partial(_over_last, movements.accuracy, count)
    return intervals(
        means,
        frames[0]["label"].to_numpy(),
        np.stack([frame["p_up"].to_numpy() for frame in frames], axis=1),
        units=frames[0]["date"].to_numpy(),
        block=config.block_days,
        draws=config.draws,
        seed=SEED,
    )


def _mean(metric: Metric, count: int, labels: NDArray[Any], scores: NDArray[Any]) -> float:
    """Mean of a metric over the first columns."""
    return float(np.mean([metric(labels, column) or 0.0 for column in scores.T[:count]]))


def _over_last(metric: Metric, count: int, labels: NDArray[Any], scores: NDArray[Any]) -> float:
    """That mean less the metric of the last column."""
    return _mean(metric, count, labels, scores) - (metric(labels, scores[:, -1]) or 0.0)
