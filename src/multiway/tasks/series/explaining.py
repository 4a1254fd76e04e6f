"""What a classifier of series went by: the share of each step and each variate."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from multiway.data.labelled import Labelled
from multiway.explain import attribute_series, mode_shares
from multiway.tasks.run import Run

EXPLAINED = 16
"""Series, evenly spread, whose gradients are taken at most."""


def importance(run: Run, samples: Labelled) -> dict[str, dict[str, float]]:
    """Share of each step, counted from 1, and of each variate."""
    rows = np.unique(np.linspace(0, len(samples) - 1, EXPLAINED).round().astype(np.int64))
    steps, variates = mode_shares(attribute_series(run.model, samples.take(rows).inputs))
    return {
        "step": {str(step): share for step, share in enumerate(steps.tolist(), 1)},
        "variate": dict(zip(run.state.variates, variates.tolist(), strict=True)),
    }


def importance_frame(found: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """A row per step and variate, with its share."""
    rows = [(mode, position, share) for mode, shares in found.items() for position, share in shares.items()]
    return pd.DataFrame(rows, columns=["mode", "position", "share"])
