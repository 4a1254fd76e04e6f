"""The network and the baselines of a table: built, fitted, asked."""

import copy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.tabular import Encoding, PreparedTable, Samples, Table
from multiway.extras import load_extra
from multiway.models import create_model
from multiway.models.tree_ensemble import TreeEnsemble, nodes_of
from multiway.tasks.baselines import Linear, Majority, Mean, fit_logistic, fit_ridge
from multiway.tasks.classes import class_loss, class_weights
from multiway.tasks.protocol import OURS, Context
from multiway.tasks.tabular.config import TabularConfig
from multiway.training import LOSSES, Batch, History, TrainingConfig, train

NAMES = {"constant": ("majority", "mean"), "linear": ("logistic", "ridge"), "trees": ("trees", "trees")}
"""What a baseline is called where the target is a class, and where it is a number."""
ROUNDS, LEAVES = 100, 31
"""Of the boosted trees: what scikit-learn has by default."""


def build_model(config: TabularConfig, state: Encoding, name: str) -> nn.Module:
    """Draw the network, or make a baseline, by its name in a run."""
    inputs, outputs = len(state.names), state.columns.num_outputs
    if name == OURS:
        return create_model(config.model_name, **config.network_fields(inputs, outputs))
    if name == "trees":
        load_extra("sklearn", "the baseline trees", "trees")
        return TreeEnsemble(ROUNDS, LEAVES, 1 if outputs == 2 else outputs)
    if name in NAMES["linear"]:
        return Linear(inputs, outputs)
    return Majority(outputs) if name == "majority" else Mean(outputs)


def fit_model(
    model: nn.Module, prepared: PreparedTable, config: TabularConfig, context: Context
) -> History | dict[str, Any] | None:
    """Fit a model of a run: the network by steps, a baseline in its own way."""
    rows, held = prepared.samples("train"), prepared.samples("validation")
    is_class = prepared.encoding.target is None
    if isinstance(model, TreeEnsemble):
        return _fit_trees(model, rows, is_class, config.training.seed)
    if not isinstance(model, Majority | Mean | Linear):
        columns = prepared.encoding.columns
        weights = class_weights(rows.targets.numpy(), columns.num_outputs, config.training) if is_class else None
        return train(
            model,
            RowLoss(config.training, weights, is_class),
            rows,
            held,
            config.training,
            run=context.folder,
            progress=context.progress,
        )
    targets = [part.targets if is_class else part.targets[:, None] for part in (rows, held)]
    if isinstance(model, Linear):
        solve = fit_logistic if is_class else fit_ridge
        return solve(model, rows.inputs, targets[0], held.inputs, targets[1])
    return model.fit(targets[0])


class RowLoss:
    """Cross-entropy of classes, or the config's loss of scaled numbers."""

    def __init__(self, training: TrainingConfig, weights: Tensor | None, is_class: bool) -> None:
        self.training, self.weights, self.is_class = training, weights, is_class

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over the rows, and their number; weights and smoothing are for training alone."""
        outputs, target = model(batch["inputs"]), batch["target"]
        if not self.is_class:
            return LOSSES[self.training.loss](outputs[:, 0], target, None)
        if not model.training:
            return class_loss(outputs, target)
        return class_loss(outputs, target, self.weights, self.training.label_smoothing)


def _fit_trees(model: TreeEnsemble, rows: Samples, is_class: bool, seed: int) -> dict[str, Any]:
    """Boost trees with scikit-learn and keep their nodes."""
    sklearn = load_extra("sklearn.ensemble", "the baseline trees", "trees")
    kind = sklearn.HistGradientBoostingClassifier if is_class else sklearn.HistGradientBoostingRegressor
    fitted = kind(max_iter=ROUNDS, max_leaf_nodes=LEAVES, early_stopping=False, random_state=seed)
    fitted.fit(rows.inputs.double().numpy(), rows.targets.double().numpy())
    trees = [[nodes_of(tree.nodes) for tree in each] for each in fitted._predictors]
    model.set_trees(trees, fitted._baseline_prediction)
    return {"rounds": len(trees)}


@torch.no_grad()
def outputs_of(model: nn.Module, table: Table, state: Encoding) -> NDArray[np.float64]:
    """Class probabilities `(rows, classes)`, or numbers `(rows,)` in their own units, in float64."""
    x = torch.from_numpy(state.inputs(table)).double()
    raw = copy.deepcopy(model).cpu().double().eval()(x)
    if state.target is not None:
        return state.target.inverse(raw.numpy())[:, 0]
    logits = torch.cat([torch.zeros_like(raw), raw], dim=1) if raw.shape[1] == 1 else raw
    return np.asarray(logits.softmax(1).numpy())
