"""Trees as buffers give what scikit-learn's own predictor gives."""

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from multiway.errors import ShapeError
from multiway.models.tree_ensemble import EVERY, SIZES, TreeEnsemble, nodes_of
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


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_rows_that_are_held_out_choose_the_size_and_the_number_of_trees(rows, classes):
    x, y = rows
    y = y if classes == 1 else np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    (x, y), fitting = (torch.from_numpy(each) for each in (x, y)), np.arange(700) < 500
    model = TreeEnsemble(100, 31, 1 if classes < 3 else 3)
    chosen = model.tune(x[fitting], y[fitting], x[~fitting], y[~fitting], seed=5)
    kind = HistGradientBoostingRegressor if classes == 1 else HistGradientBoostingClassifier

    def loss(rounds, leaves):
        how = {name: value for name, value in chosen.items() if name != "rounds"} | {"max_leaf_nodes": leaves}
        known = kind(max_iter=EVERY, early_stopping=False, random_state=5, warm_start=True, **how)
        for count in range(EVERY, rounds + 1, EVERY):  # whose features are drawn as they were
            known.set_params(max_iter=count).fit(x[fitting], y[fitting])
        if classes == 1:
            return np.mean((known.predict(x[~fitting]) - y[~fitting].numpy()) ** 2), known
        return log_loss(y[~fitting], known.predict_proba(x[~fitting])), known

    best, known = loss(chosen["rounds"], chosen["max_leaf_nodes"])
    raw = known.predict(x) if classes == 1 else known.decision_function(x)
    np.testing.assert_allclose(model(x).squeeze(1), raw, rtol=ROUNDING64, atol=ROUNDING64)
    others = [loss(chosen["rounds"] + step, chosen["max_leaf_nodes"])[0] for step in (-EVERY, EVERY)]
    other = next(each for each in SIZES if each != chosen["max_leaf_nodes"])
    assert best <= min(*others, *(loss(rounds, other)[0] for rounds in (EVERY, 2 * EVERY)))


def test_noise_has_few_trees_and_they_can_be_stored_and_fitted_to_more_rows():
    draw = torch.Generator().manual_seed(2)
    x, y = torch.randn(400, 3, generator=draw), torch.randn(400, generator=draw)
    model, stored, other = (TreeEnsemble(100, 31, 1) for _ in range(3))
    chosen = model.tune(x[:300], y[:300], x[300:], y[300:])
    assert chosen["rounds"] == EVERY == len(model.value)
    stored.load_state_dict(load(save(model.state_dict())))
    assert torch.equal(stored(x), model(x))
    other.fit(x, y, **chosen)
    assert len(other.value) == EVERY and not torch.equal(other(x), model(x))


def test_a_few_rounds_are_all_that_there_is_room_for():
    x = torch.arange(80.0)[:, None]
    model = TreeEnsemble(5, 31, 1)
    assert model.tune(x, x[:, 0] ** 2, x, x[:, 0] ** 2)["rounds"] == 5 == len(model.value)


def test_a_class_that_training_lacks_has_no_chance_and_no_error():
    x, y = torch.arange(80.0)[:, None], torch.arange(80) // 40
    model = TreeEnsemble(40, 31, 1)
    assert model.tune(x, y, torch.tensor([[5.0]]), torch.tensor([2]))["rounds"] == EVERY
