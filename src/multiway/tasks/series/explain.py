"""What a classifier of series went by: the share of each step and each variate."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from torch import Tensor

from multiway.config import Config, Plain
from multiway.data.samples import Samples
from multiway.data.scaling import evenly
from multiway.explain import attribute_series, mode_shares, occlude_series
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.sample_task import SampleFacts
from multiway.tasks.target_task import answer_samples

EXPLAINED = 16
"""Series, evenly spread, that are looked at at most."""


class Importance(Config):
    """Share of each step and of each variate in what moved the answer to test series, and whose answer that is."""

    model: str
    step: dict[str, float]
    variate: dict[str, float]


class SeriesFacts(SampleFacts):
    """Of labelled series."""

    importance: Importance


def importance(run: Run, samples: Samples[Tensor]) -> Plain:
    """Share of each step, counted from 1, and of each variate: gradients of the network, else by hiding them."""
    some = samples.take(evenly(len(samples), EXPLAINED))
    if run.answer.name == NETWORK:
        steps, variates = mode_shares(attribute_series(run.model, some.inputs))
    else:
        steps, variates = occlude_series(
            lambda x: answer_samples(run, Samples(inputs=x, source=some.source)), some.inputs
        )
    return {
        "model": run.answer.name,
        "step": {str(step): share for step, share in enumerate(steps.tolist(), 1)},
        "variate": dict(zip(run.state.variates, variates.tolist(), strict=True)),
    }


def how(model: str) -> str:
    """What shares are of, in words."""
    if model == NETWORK:
        return "the absolute integrated gradients of the network's class, from the mean of the training on"
    return "how far the probability of the answer's class moves where a span of steps, or a variate, is hidden"


def importance_frame(importances: Mapping[str, Any]) -> pd.DataFrame:
    """A row per step and variate, with its share."""
    modes = {mode: importances[mode] for mode in ("step", "variate")}
    rows = [(mode, position, share) for mode, shares in modes.items() for position, share in shares.items()]
    return pd.DataFrame(rows, columns=["mode", "position", "share"])
