"""Trees as buffers give what scikit-learn's own predictor gives."""

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from multiway.errors import ShapeError
from multiway.models.tree_ensemble import DEPTH, TreeEnsemble, nodes_of, nodes_of_lightgbm
from tolerances import ROUNDING64


def made_of(fitted, outputs):
    model = TreeEnsemble(40, 31, outputs)
    trees = [[nodes_of(tree.nodes) for tree in row] for row in fitted._predictors]
    model.set_trees(trees, fitted._baseline_prediction)
    return model


@pytest.fixture
def rows():
    chance = np.random.default_rng(3)
    x = chance.normal(size=(700, 5)).astype(np.float32)
    x[:, 4] = chance.integers(0, 3, 700)
    return x, x[:, 0] + x[:, 1] ** 2 * x[:, 4] + chance.normal(0, 0.1, 700)


def test_numbers(rows):
    x, y = rows
    fitted = HistGradientBoostingRegressor(max_iter=40, random_state=0).fit(x, y)
    ours = made_of(fitted, 1)(torch.from_numpy(x))[:, 0].numpy()
    assert ours == pytest.approx(fitted.predict(x), rel=ROUNDING64, abs=ROUNDING64)


@pytest.mark.parametrize("classes", [2, 4])
def test_classes(rows, classes):
    x, y = rows
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    fitted = HistGradientBoostingClassifier(max_iter=25, random_state=0).fit(x, labels)
    ours = made_of(fitted, 1 if classes == 2 else classes)(torch.from_numpy(x)).numpy()
    assert ours.squeeze() == pytest.approx(fitted.decision_function(x), rel=ROUNDING64, abs=ROUNDING64)


def test_a_row_at_a_threshold_goes_left_and_trees_can_be_stored():
    model = TreeEnsemble(3, 2, 1)
    stump = {name: np.array(values) for name, values in {
        "feature": [1, 0, 0], "threshold": [0.5, 0.0, 0.0], "left": [1, 1, 2], "right": [2, 1, 2],
        "value": [0.0, -1.0, 2.0],
    }.items()}  # fmt: skip
    model.set_trees([[stump], [stump]], np.array([10.0]))
    x = torch.tensor([[9.0, 0.5], [9.0, 0.6]])
    assert model(x)[:, 0].tolist() == [8.0, 14.0]
    repeated = TreeEnsemble(3, 2, 1)
    repeated.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(repeated(x), model(x)) and repeated(x[:0]).shape == (0, 1)


def test_trees_without_room_are_refused():
    stump = {name: np.zeros(5) for name in ("feature", "threshold", "left", "right", "value")}
    with pytest.raises(ShapeError, match=r"fit 3 rounds of 1 outputs and 3 nodes\. Got 1 rounds of 1 with up to 5"):
        TreeEnsemble(3, 2, 1).set_trees([[stump]], np.zeros(1))


def test_nodes_of_lightgbm_are_those_of_its_dump():
    leaves = [{"leaf_index": place, "leaf_value": value} for place, value in enumerate((-1.0, 2.0, 5.0))]
    inner = {"split_feature": 1, "threshold": 0.5, "left_child": leaves[0], "right_child": leaves[1]}
    root = {"split_feature": 0, "threshold": 3.0, "left_child": inner, "right_child": leaves[2]}
    model = TreeEnsemble(1, 3, 1)
    model.set_trees([[nodes_of_lightgbm(root)]], np.zeros(1))
    x = torch.tensor([[3.0, 0.5], [3.0, 0.6], [3.1, 0.5]])
    assert model(x)[:, 0].tolist() == [-1.0, 2.0, 5.0]


def test_trees_of_lightgbm_are_those_that_it_forecasts_with(rows):
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is an extra")
    x, y = rows
    model = TreeEnsemble(40, 31, 1)
    model.fit_by_lightgbm(torch.from_numpy(x), torch.from_numpy(y))
    sizes = {"num_leaves": 31, "max_depth": DEPTH, "min_data_in_leaf": 20, "num_threads": 1}
    settings = {"objective": "l2", "verbosity": -1, "deterministic": True, "force_row_wise": True, **sizes}
    fitted = lightgbm.train(settings, lightgbm.Dataset(x, y), 40)
    ours = model(torch.from_numpy(x))[:, 0].numpy()
    assert ours == pytest.approx(fitted.predict(x), rel=ROUNDING64, abs=ROUNDING64)
    assert np.mean((ours - y) ** 2) < 0.2 * np.var(y)
