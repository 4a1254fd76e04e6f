"""Our model of a forecasting run: every forecast that the run makes comes from here."""

from typing import cast

from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run


def model_of(run: Run) -> RidgeAndNetwork:
    """Our model of a forecasting run."""
    return cast(RidgeAndNetwork, run.models[OURS])
