"""How the models of a table are fitted and asked."""

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from multiway.data.tabular import Encoding, PreparedTable, Table
from multiway.models.target_baselines import fit_baseline
from multiway.tasks.protocol import OURS, Context
from multiway.tasks.tabular.config import TabularConfig
from multiway.tasks.targets import TargetLoss, decoded
from multiway.training import History, train


def fit_model(
    model: nn.Module, name: str, prepared: PreparedTable, config: TabularConfig, context: Context
) -> History | dict[str, Any] | None:
    """Fit a model of a run: the network by steps, a baseline in its own way."""
    rows, held, training = prepared.samples("train"), prepared.samples("validation"), config.training
    if name != OURS:
        return fit_baseline(model, rows.inputs, rows.targets, held.inputs, held.targets, training.seed)
    loss = TargetLoss(training, prepared.encoding.columns.classes, rows.targets.numpy())
    return train(model, loss, rows, held, training, run=context.folder, progress=context.progress)


@torch.no_grad()
def outputs_of(model: nn.Module, table: Table, state: Encoding) -> NDArray[np.float64]:
    """Class probabilities `(rows, classes)`, or numbers `(rows,)` in their own units, in float64."""
    x = torch.from_numpy(state.inputs(table)).double()
    return decoded(copy.deepcopy(model).cpu().double().eval()(x), state.target)
