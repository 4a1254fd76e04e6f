"""Boosted trees of LightGBM and CatBoost, fitted with early stopping and kept as nodes: a run needs neither library."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.lazy import load_extra
from multiway.models.baselines import Weights
from multiway.models.tree_ensemble import Signs, TreeEnsemble, array_of

RATE, PATIENCE = 0.1, 30
"""Learning rate, and rounds without a gain on the rows that are held out after which no tree is added."""
LEAVES, DEPTH = 15, 6
"""Leaves of a tree of LightGBM, and splits on the way to one of CatBoost's."""

Held = tuple[Tensor, Tensor]


def boost_by_lightgbm(
    model: TreeEnsemble,
    x: Tensor,
    y: Tensor,
    seed: int,
    *,
    held: Held | None = None,
    rounds: int | None = None,
    weights: Weights = (None, None),
    signs: Signs = None,
    **how: Any,
) -> dict[str, Any]:
    """Boost trees on squared errors of numbers or the log loss of classes, and keep their nodes in a model.

    Args:
        model: Has the outputs, and room for the rounds.
        x: Inputs without NaN.
        y: Classes as whole numbers, or numbers.
        seed: Of what is drawn.
        held: Rows that choose the number of rounds.
        rounds: That number, where it is known; as many as there is room for if not.
        weights: How much each row counts, and each that is held out.
        signs: Which way the score may go with each input.
        how: Other parameters of the library.

    Returns:
        The rounds that were kept.
    """
    lightgbm = load_extra("lightgbm", "a model of LightGBM's trees", "lightgbm")
    outputs = len(model.start)
    objective = "regression" if y.is_floating_point() else "binary" if outputs == 1 else "multiclass"
    settings: dict[str, Any] = {"objective": objective, "learning_rate": RATE, "num_leaves": LEAVES, "verbosity": -1}
    settings |= {"seed": seed, "deterministic": True, "force_row_wise": True, "num_threads": torch.get_num_threads()}
    settings |= {"num_class": outputs} if objective == "multiclass" else {}
    settings |= {} if signs is None else {"monotone_constraints": list(signs)}
    own, of_held = map(array_of, weights)
    examples = lightgbm.Dataset(x.numpy(), y.double().numpy(), weight=own)
    checks: dict[str, Any] = {}
    if held is not None:
        checks["valid_sets"] = [examples.create_valid(held[0].numpy(), held[1].double().numpy(), weight=of_held)]
        checks["callbacks"] = [lightgbm.early_stopping(PATIENCE, verbose=False)]
    fitted = lightgbm.train({**settings, **how}, examples, rounds or model.most, **checks)
    trees = [nodes_of_lightgbm(tree["tree_structure"]) for tree in fitted.dump_model()["tree_info"]]  # the best rounds
    model.set_trees([trees[at : at + outputs] for at in range(0, len(trees), outputs)], np.zeros(outputs))
    return {"rounds": len(trees) // outputs}


def boost_by_catboost(
    model: TreeEnsemble,
    x: Tensor,
    y: Tensor,
    seed: int,
    *,
    held: Held | None = None,
    rounds: int | None = None,
    weights: Weights = (None, None),
    signs: Signs = None,
) -> dict[str, Any]:
    """The same by CatBoost, whose trees ask one question of all rows at each depth."""
    catboost = load_extra("catboost", "a model of CatBoost's trees", "boosting")
    outputs = len(model.start)
    if (y == y[0]).all() or (x == x[0]).all():  # which CatBoost refuses
        model.set_trees([], constant_score(y, outputs, array_of(weights[0])))
        return {"rounds": 0}
    is_number = y.is_floating_point()
    objective = "RMSE" if is_number else "Logloss" if outputs == 1 else "MultiClass"
    make = catboost.CatBoostRegressor if is_number else catboost.CatBoostClassifier
    settings = {"loss_function": objective, "learning_rate": RATE, "depth": DEPTH, "iterations": rounds or model.most}
    settings |= {"random_seed": seed, "thread_count": torch.get_num_threads(), "allow_writing_files": False}
    settings |= {"classes_count": outputs} if objective == "MultiClass" else {}
    settings |= {} if signs is None else {"monotone_constraints": list(signs)}
    own, of_held = map(array_of, weights)
    checks: dict[str, Any] = {}
    if held is not None:
        checks = {
            "eval_set": catboost.Pool(held[0].numpy(), held[1].numpy(), weight=of_held),
            "early_stopping_rounds": PATIENCE,
        }
    fitted = make(**settings).fit(x.numpy(), y.numpy(), sample_weight=own, verbose=False, **checks)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees.json"
        fitted.save_model(str(path), format="json")
        stored = json.loads(path.read_text())
    _, start = stored["scale_and_bias"]
    trees = [nodes_of_catboost(tree, outputs) for tree in stored["oblivious_trees"]]
    model.set_trees(trees, np.array(start, np.float64) + np.zeros(outputs))
    return {"rounds": len(trees)}


def constant_score(y: Tensor, outputs: int, weights: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """The mean of numbers, or logits of the shares of classes, each with one row more."""
    if y.is_floating_point():
        return np.array([float(np.average(y.double().numpy(), weights=weights))])
    logits: NDArray[np.float64] = np.log(np.bincount(y.numpy(), weights, minlength=max(outputs, 2)) + 1.0)
    return logits[1:] - logits[:1] if outputs == 1 else logits


def nodes_of_lightgbm(root: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Nodes of one tree as LightGBM dumps it, without categories and missing cells; the root is the first."""
    nodes, rows = [root], []
    for place, node in enumerate(nodes):  # which grows as the children of a node are noted
        if "leaf_value" in node:
            rows.append((0, 0.0, place, place, node["leaf_value"]))
        else:
            rows.append((node["split_feature"], node["threshold"], len(nodes), len(nodes) + 1, 0.0))
            nodes += [node["left_child"], node["right_child"]]
    fields = ("feature", "threshold", "left", "right", "value")
    return dict(zip(fields, map(np.array, zip(*rows, strict=True)), strict=True))


def nodes_of_catboost(tree: Mapping[str, Any], outputs: int) -> list[dict[str, NDArray[Any]]]:
    """Nodes of one tree as CatBoost stores it, for each output: a whole binary tree, those of a depth in a row.

    Bit i of a leaf's number says whether the i-th question was answered by yes.
    """
    splits = tree["splits"] or []
    inner, leaves = 2 ** len(splits) - 1, 2 ** len(splits)
    depths = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
    own = np.arange(inner + leaves)
    features = np.array([split["float_feature_index"] for split in splits], int)
    borders = np.array([split["border"] for split in splits], np.float32).astype(np.float64)
    ways = np.arange(leaves)[:, None] >> np.arange(len(splits))[::-1] & 1  # first question first
    numbers = (ways << np.arange(len(splits))).sum(1)
    values = np.array(tree["leaf_values"], np.float64).reshape(leaves, outputs)[numbers]
    return [
        {
            "feature": np.concatenate([features[depths], np.zeros(leaves, int)]),
            "threshold": np.concatenate([borders[depths], np.zeros(leaves)]),
            "left": np.concatenate([2 * own[:inner] + 1, own[inner:]]),
            "right": np.concatenate([2 * own[:inner] + 2, own[inner:]]),
            "value": np.concatenate([np.zeros(inner), values[:, output]]),
        }
        for output in range(outputs)
    ]
