"""Our model of a forecasting run: every forecast that the run makes comes from here."""

from typing import cast

from torch import Tensor

from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run


def model_of(run: Run) -> RidgeAndNetwork:
    """Our model of a forecasting run."""
    return cast(RidgeAndNetwork, run.models[OURS])


def all_forecasts(run: Run, past: Tensor, observed: Tensor | None = None) -> dict[str, Tensor]:
    """The chosen forecast, `multiway`, and every baseline's."""
    baselines = {name: model(past, observed) for name, model in run.models.items() if name != OURS}
    return {**model_of(run).all_forecasts(past, observed), **baselines}
