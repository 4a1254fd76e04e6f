"""Boosted trees and forests as buffers: fitted by a library, stored and evaluated without it or pickle."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.errors import ShapeError
from multiway.lazy import load_extra
from multiway.models.open_buffers import OpenBuffers

Nodes = Mapping[str, NDArray[Any]] | NDArray[np.void]
"""Nodes of one tree by field: feature, threshold, left, right and value; a leaf is its own child."""
Signs = Sequence[int] | None
"""Of each feature: 1 where the score may only rise with it, -1 where it may only fall, 0 where it is free."""
ROWS = 8192
"""Rows that walk through all trees at once."""
SIZES, SMALLEST, FEATURES = (8, 31), 10, 0.5
"""Leaves of a tree that are tried, rows in a leaf at least, and the share of the features that a split may look at."""
EVERY, LEAST = 20, 1e-6
"""Rounds after which the loss is looked at, and the least chance of a class in it."""
FOREST, SHARE, AT_ONCE = 200, 0.1, 256
"""Of a forest: trees, the share of the features that a split is chosen from (as QUANT has them), and such rows."""


class TreeEnsemble(OpenBuffers):
    """A sum of regression trees for each output: raw scores, such as logits, of rows of numbers.

    A row starts at node 0 of every tree, goes left where its feature is at most the node's threshold and right
    otherwise, and adds up the values of the leaves it reaches. Evaluated in float64.

    Shape:
        Input `(batch, features)` without NaN; output `(batch, num_outputs)` float64.
    """

    open_buffers = ("feature", "threshold", "sides", "value")
    """Their first axis has the rounds that were fitted."""
    feature: Tensor
    threshold: Tensor
    sides: Tensor
    value: Tensor

    def __init__(self, num_trees: int, num_leaves: int, num_outputs: int) -> None:
        super().__init__()
        self.most = num_trees
        for name, tensor in _empty_trees(0, num_outputs, 2 * num_leaves - 1).items():
            self.register_buffer(name, tensor)
        self.start = nn.Buffer(torch.zeros(num_outputs, dtype=torch.float64))

    def fit(
        self,
        x: Tensor,
        y: Tensor,
        seed: int = 0,
        *,
        rounds: int | None = None,
        weights: Tensor | None = None,
        signs: Signs = None,
        **how: Any,
    ) -> None:
        """Boost trees with scikit-learn, and keep their nodes: as many, and as large, as there is room for.

        `weights` say how much each row counts. `how` holds other fields of scikit-learn's class, such as the least
        number of rows in a leaf.
        """
        if y.ndim == 2:
            self._fit_labels(
                lambda trees, own, known: trees.fit(x, own, seed, weights=weights, signs=signs, **known), y, **how
            )
            return
        leaves = {"max_leaf_nodes": (self.value.shape[2] + 1) // 2, "monotonic_cst": signs, **how}
        fitted = _booster(y, seed, max_iter=rounds or self.most, **leaves)
        self._keep(fitted.fit(x.double().numpy(), y.double().numpy(), array_of(weights)), self.most)

    def tune(
        self,
        x: Tensor,
        y: Tensor,
        held_x: Tensor,
        held_y: Tensor,
        seed: int = 0,
        *,
        weights: tuple[Tensor | None, Tensor | None] = (None, None),
        signs: Signs = None,
    ) -> dict[str, Any]:
        """Boost with scikit-learn; rows that are held out choose the size of the trees and their number.

        The loss is the log loss of classes and the squared error of numbers, looked at every few rounds; a size is left
        where it no longer falls. What was chosen is given, as fields of `fit`. `weights` are of either rows.
        """
        if y.ndim == 2:
            columns = iter(held_y.T)
            return self._fit_labels(
                lambda trees, own, _: trees.tune(x, own, held_x, next(columns), seed, weights=weights, signs=signs), y
            )
        inputs, targets, own = x.double().numpy(), y.double().numpy(), array_of(weights[0])
        best: tuple[float, Any, dict[str, Any]] = (float("inf"), None, {})
        for leaves in SIZES:
            how = {"max_leaf_nodes": leaves, "min_samples_leaf": SMALLEST, "max_features": FEATURES}
            booster, losses = _booster(y, seed, warm_start=True, monotonic_cst=signs, **how), dict[int, float]()
            for rounds in range(min(EVERY, self.most), self.most + 1, EVERY):
                fitted = booster.set_params(max_iter=rounds).fit(inputs, targets, own)
                losses[rounds] = _loss_on(fitted, held_x, held_y, array_of(weights[1]))
                if losses[rounds] > min(losses.values()):
                    break
            fewest = min(losses, key=lambda rounds: losses[rounds])
            if losses[fewest] < best[0]:
                best = (losses[fewest], booster, {"rounds": fewest, **how})
        _, booster, chosen = best
        self._keep(booster, chosen["rounds"])
        return chosen

    def _fit_labels(
        self,
        fit: Callable[["TreeEnsemble", Tensor, dict[str, Any]], Any],
        y: Tensor,
        labels: Sequence[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Fit trees to each column of `y`, 0 or 1, by itself, and join them; what was chosen of each, if anything."""
        parts = [TreeEnsemble(self.most, (self.value.shape[2] + 1) // 2, 1) for _ in y.T]
        known = labels or [{}] * len(parts)
        chosen = [fit(*each) for each in zip(parts, y.T, known, strict=True)]
        rounds = max(len(part.value) for part in parts)
        for name, empty in _empty_trees(rounds, len(parts), self.value.shape[2]).items():
            for place, part in enumerate(parts):
                own = getattr(part, name)
                empty[: len(own), place] = own[:, 0]
            setattr(self, name, empty)
        self.start.copy_(torch.cat([part.start for part in parts]))
        return {"labels": chosen}

    def _keep(self, fitted: Any, rounds: int) -> None:
        trees = [[nodes_of(tree.nodes) for tree in group] for group in fitted._predictors[:rounds]]
        self.set_trees(trees, fitted._baseline_prediction)

    @torch.no_grad()
    def set_trees(self, trees: Sequence[Sequence[Nodes]], start: NDArray[np.float64]) -> None:
        """Copy in fitted trees, one per round and output, and what the sum starts from."""
        most, (outputs, room) = self.most, self.value.shape[1:]
        largest = max((len(nodes["value"]) for row in trees for nodes in row), default=0)
        widest = max((len(row) for row in trees), default=outputs)
        if len(trees) > most or widest != outputs or largest > room:
            raise ShapeError(
                f"TreeEnsemble: trees must fit {most} rounds of {outputs} outputs and {room} nodes. Got {len(trees)} "
                f"rounds of {widest} with up to {largest} nodes."
            )
        for name, tensor in _empty_trees(len(trees), outputs, room).items():
            setattr(self, name, tensor)
        for index, row in enumerate(trees):
            for output, nodes in enumerate(row):
                self._set(index, output, nodes)
        self.start.copy_(torch.from_numpy(np.asarray(start, np.float64)).reshape(-1))

    def _set(self, index: int, output: int, nodes: Nodes) -> None:
        count = len(nodes["value"])
        for name in ("feature", "threshold", "value"):
            getattr(self, name)[index, output, :count] = torch.from_numpy(np.array(nodes[name]))
        pair = np.stack([nodes["left"], nodes["right"]], axis=1).astype(np.int64)
        self.sides[index, output, :count] = torch.from_numpy(pair)

    def forward(self, x: Tensor) -> Tensor:
        """Raw scores of every row."""
        return torch.cat([self._rows(rows.double()) for rows in x.split(ROWS)])

    def _rows(self, x: Tensor) -> Tensor:
        trees, outputs, room = self.value.shape
        first = torch.arange(trees * outputs, device=x.device) * room
        feature, threshold = self.feature.flatten(), self.threshold.flatten()
        sides = (self.sides.flatten(0, 1) + first[:, None, None]).flatten(0, 1)
        node = first.expand(len(x), -1)  # (rows, trees × outputs), nodes of all trees in one row
        while True:
            goes_right = x.gather(1, feature[node]) > threshold[node]
            after = sides[node, goes_right.long()]
            if torch.equal(after, node):
                break
            node = after
        values: Tensor = self.value.flatten()[node]
        return self.start + values.reshape(len(x), trees, outputs).sum(1)

    def extra_repr(self) -> str:
        """Trees, outputs and room for nodes."""
        trees, outputs, room = self.value.shape
        return f"{trees} rounds of {outputs} trees with up to {room} nodes"


class Forest(OpenBuffers):
    r"""Shares of classes in the leaves that a row reaches, in the mean over trees, as logits.

    $$z_c = \log \frac{\sum_t p_{tc} + 1 / C}{T + 1}$$

    over T trees and C classes, so that a class without any vote keeps a chance. Trees are whole: they are split until a
    leaf has one class (Geurts et al. 2006).

    Shape:
        Input `(batch, features)` float32; output `(batch, classes)` float32.
    """

    open_buffers = ("feature", "threshold", "sides", "shares", "roots")
    """Their first axes have the nodes, and the trees, of what was fitted."""
    feature: Tensor
    threshold: Tensor
    sides: Tensor
    """Nodes to the left and to the right; a leaf is its own."""
    shares: Tensor
    roots: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        for name, tensor in {
            "feature": torch.zeros(0, dtype=torch.int32),
            "threshold": torch.zeros(0, dtype=torch.float64),
            "sides": torch.zeros(0, 2, dtype=torch.int32),
            "shares": torch.zeros(0, num_classes),
            "roots": torch.zeros(0, dtype=torch.int32),
        }.items():
            self.register_buffer(name, tensor)

    def fit(self, x: Tensor, y: Tensor, seed: int = 0) -> None:
        """Grow trees on classes with scikit-learn, and keep their nodes."""
        sklearn = load_extra("sklearn.ensemble", "a forest of trees", "trees")
        how = {"max_features": SHARE, "criterion": "entropy", "random_state": seed}
        fitted = sklearn.ExtraTreesClassifier(FOREST, **how, n_jobs=torch.get_num_threads()).fit(x.numpy(), y.numpy())
        trees = [each.tree_ for each in fitted.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)])
        own = np.arange(roots[-1])
        is_leaf = np.concatenate([tree.children_left < 0 for tree in trees])
        pairs = [np.stack([tree.children_left, tree.children_right], axis=1) for tree in trees]
        sides = np.concatenate([pair + first for pair, first in zip(pairs, roots[:-1], strict=True)])
        shares = np.zeros((len(own), self.shares.shape[1]))
        shares[:, fitted.classes_] = np.concatenate([tree.value[:, 0] for tree in trees])
        self.feature = torch.from_numpy(np.concatenate([tree.feature for tree in trees]).clip(0).astype(np.int32))
        self.threshold = torch.from_numpy(np.concatenate([tree.threshold for tree in trees]))
        self.sides = torch.from_numpy(np.where(is_leaf[:, None], own[:, None], sides).astype(np.int32))
        self.shares = torch.from_numpy(shares / shares.sum(1, keepdims=True)).float()
        self.roots = torch.from_numpy(roots[:-1].astype(np.int32))

    def forward(self, x: Tensor) -> Tensor:
        """Logits of every row."""
        return torch.cat([self._rows(rows) for rows in x.split(AT_ONCE)])

    def _rows(self, x: Tensor) -> Tensor:
        node = self.roots.long().expand(len(x), -1)  # (rows, trees)
        while True:
            goes_right = x.gather(1, self.feature[node].long()) > self.threshold[node]
            after = self.sides[node, goes_right.long()].long()
            if torch.equal(after, node):
                break
            node = after
        votes: Tensor = self.shares[node].sum(1)
        return ((votes + 1 / votes.shape[1]) / (len(self.roots) + 1)).log()


def _empty_trees(rounds: int, outputs: int, room: int) -> dict[str, Tensor]:
    """Trees of nothing but leaves, which add 0."""
    shape = (rounds, outputs, room)
    sides = torch.zeros((*shape, 2), dtype=torch.int64)
    if rounds:  # without memory, any arithmetic would take the import of torch's compiler
        sides += torch.arange(room)[:, None]
    return {
        "feature": torch.zeros(shape, dtype=torch.int64),
        "threshold": torch.zeros(shape, dtype=torch.float64),
        "sides": sides,
        "value": torch.zeros(shape, dtype=torch.float64),
    }


def _booster(y: Tensor, seed: int, **how: Any) -> Any:
    """Scikit-learn's class for such targets."""
    sklearn = load_extra("sklearn.ensemble", "a model of boosted trees", "trees")
    make = getattr(sklearn, f"HistGradientBoosting{'Regressor' if y.is_floating_point() else 'Classifier'}")
    return make(early_stopping=False, random_state=seed, **how)


def array_of(weights: Tensor | None) -> NDArray[Any] | None:
    """Weights as libraries of trees take them."""
    return None if weights is None else weights.double().numpy()


def _loss_on(fitted: Any, x: Tensor, y: Tensor, weights: NDArray[Any] | None = None) -> float:
    """Log loss of classes, squared error of numbers, of rows that were held out."""
    if y.is_floating_point():
        return float(np.average(np.square(fitted.predict(x.double().numpy()) - y.double().numpy()), weights=weights))
    chances = fitted.predict_proba(x.double().numpy())
    places = np.searchsorted(fitted.classes_, y.numpy()).clip(max=len(fitted.classes_) - 1)
    known = fitted.classes_[places] == y.numpy()  # a class without a training row has no chance
    logs = np.log(np.where(known, chances[np.arange(len(y)), places], 0).clip(LEAST))
    return -float(np.average(logs, weights=weights))


def nodes_of(nodes: NDArray[np.void]) -> dict[str, NDArray[Any]]:
    """Nodes of one tree of scikit-learn's histogram gradient boosting, without categories and missing cells."""
    itself = np.arange(len(nodes))
    is_leaf = nodes["is_leaf"].astype(bool)
    return {
        "feature": np.where(is_leaf, 0, nodes["feature_idx"]),
        "threshold": np.where(is_leaf, 0.0, nodes["num_threshold"]),
        "left": np.where(is_leaf, itself, nodes["left"]),
        "right": np.where(is_leaf, itself, nodes["right"]),
        "value": np.where(is_leaf, nodes["value"], 0.0),
    }
