"""What a classifier of series went by: the share of each step and each variate."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from torch import Tensor

from multiway.config import Config
from multiway.data.samples import Samples
from multiway.explain import attribute_series, mode_shares
from multiway.tasks.run import Run
from multiway.tasks.samples import SampleFacts

EXPLAINED = 16
"""Series, evenly spread, whose gradients are taken at most."""


class Importance(Config):
    """Share of each step and of each variate in what moved the logits of test series."""

    step: dict[str, float]
    variate: dict[str, float]


class SeriesFacts(SampleFacts):
    """Of labelled series."""

    importance: Importance


def importance(run: Run, samples: Samples[Tensor]) -> dict[str, dict[str, float]]:
    """Share of each step, counted from 1, and of each variate."""
    rows = np.unique(np.linspace(0, len(samples) - 1, EXPLAINED).round().astype(np.int64))
    steps, variates = mode_shares(attribute_series(run.model, samples.take(rows).inputs))
    return {
        "step": {str(step): share for step, share in enumerate(steps.tolist(), 1)},
        "variate": dict(zip(run.state.variates, variates.tolist(), strict=True)),
    }


def importance_frame(importances: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """A row per step and variate, with its share."""
    rows = [(mode, position, share) for mode, shares in importances.items() for position, share in shares.items()]
    return pd.DataFrame(rows, columns=["mode", "position", "share"])
