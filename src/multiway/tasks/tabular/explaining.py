"""What the network of a table went by: how much worse it is without each column."""

import pandas as pd

from multiway.data.tabular import Table, permutation_importance
from multiway.metrics.classes import accuracy
from multiway.metrics.regression import mse
from multiway.tasks.run import Run
from multiway.tasks.tabular.fitting import outputs_of


def importance(run: Run, rows: Table) -> pd.DataFrame:
    """How much worse the network is on labelled rows with each column shuffled."""
    metric, sign = (accuracy, 1.0) if run.state.target is None else (mse, -1.0)
    return permutation_importance(
        rows, lambda some: sign * (metric(some.truth, outputs_of(run.model, some, run.state)) or 0.0)
    )
