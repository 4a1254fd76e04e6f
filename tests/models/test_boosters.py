"""Trees of LightGBM and CatBoost as nodes give what their libraries give."""

import itertools

import numpy as np
import pytest
import torch

from multiway.models.boosters import (
    boost_by_catboost,
    boost_by_lightgbm,
    constant_score,
    nodes_of_catboost,
    nodes_of_lightgbm,
)
from multiway.models.tree_ensemble import TreeEnsemble
from tolerances import ROUNDING64


def test_nodes_of_lightgbm_are_those_of_its_dump():
    leaves = [{"leaf_index": place, "leaf_value": value} for place, value in enumerate((-1.0, 2.0, 5.0))]
    inner = {"split_feature": 1, "threshold": 0.5, "left_child": leaves[0], "right_child": leaves[1]}
    root = {"split_feature": 0, "threshold": 3.0, "left_child": inner, "right_child": leaves[2]}
    model = TreeEnsemble(1, 3, 1)
    model.set_trees([[nodes_of_lightgbm(root)]], np.zeros(1))
    x = torch.tensor([[3.0, 0.5], [3.0, 0.6], [3.1, 0.5]])
    assert model(x)[:, 0].tolist() == [-1.0, 2.0, 5.0]


def test_a_leaf_of_catboost_is_numbered_by_its_answers_the_first_as_the_lowest_bit():
    questions = [(2, 0.1), (0, -0.3), (2, 0.7)]
    values = np.random.default_rng(5).normal(size=(8, 2))
    splits = [{"float_feature_index": feature, "border": border} for feature, border in questions]
    model = TreeEnsemble(1, 8, 2)
    model.set_trees([nodes_of_catboost({"splits": splits, "leaf_values": values.flatten().tolist()}, 2)], np.zeros(2))
    x = torch.tensor([*itertools.product((-0.3, 0.2), (9.0,), (0.1, 0.5, 0.9))])
    for row, found in zip(x.numpy(), model(x).numpy(), strict=True):
        leaf = sum((row[feature] > np.float32(border)) << bit for bit, (feature, border) in enumerate(questions))
        assert found == pytest.approx(values[leaf])


def test_a_tree_of_catboost_without_a_question_is_one_leaf():
    model = TreeEnsemble(1, 8, 1)
    model.set_trees([nodes_of_catboost({"splits": None, "leaf_values": [0.75]}, 1)], np.array([2.0]))
    assert model(torch.zeros(3, 2))[:, 0].tolist() == [2.75] * 3


@pytest.mark.parametrize("library", ["lightgbm", "catboost"])
@pytest.mark.parametrize("classes", [1, 2, 5])
def test_scores_are_those_of_the_library_and_rows_held_out_choose_the_rounds(library, classes, monkeypatch):
    module = pytest.importorskip(library, reason=f"{library} is an extra")
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(701, 7, generator=draw)
    x[:, 3] = (x[:, 3] > 0).float()
    score = torch.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(701, generator=draw)
    y = score if classes == 1 else torch.bucketize(score, score.quantile(torch.arange(1, classes) / classes))
    outputs, fitted = 1 if classes == 2 else classes, []
    if library == "lightgbm":
        boost, leaves, train = boost_by_lightgbm, 15, module.train
        monkeypatch.setattr(module, "train", lambda *given, **more: fitted.append(train(*given, **more)) or fitted[-1])
    else:
        boost, leaves = boost_by_catboost, 64
        kind = module.CatBoostRegressor if classes == 1 else module.CatBoostClassifier
        fit = kind.fit
        monkeypatch.setattr(kind, "fit", lambda *given, **more: fitted.append(fit(*given, **more)) or fitted[-1])
    model = TreeEnsemble(300, leaves, outputs)
    found = boost(model, x[:500], y[:500], 0, held=(x[500:], y[500:]))
    if library == "lightgbm":
        expected, best = fitted[0].predict(x.double().numpy(), raw_score=True), fitted[0].best_iteration
    else:
        expected = fitted[0].predict(x.numpy(), prediction_type="RawFormulaVal")
        best = fitted[0].get_best_iteration() + 1
    np.testing.assert_allclose(model(x).numpy().reshape(expected.shape), expected, rtol=ROUNDING64, atol=ROUNDING64)
    assert found == {"rounds": best} and len(model.value) == best
    longer = TreeEnsemble(300, leaves, outputs)
    assert boost(longer, x, y, 0, **found) == found and not torch.equal(longer(x), model(x))


@pytest.mark.parametrize("y", [torch.full((5,), 2.5), torch.ones(5, dtype=torch.long)])
def test_one_value_is_a_constant(y):
    pytest.importorskip("catboost", reason="catboost is an extra")
    model = TreeEnsemble(10, 64, 1)
    assert boost_by_catboost(model, torch.randn(5, 2), y, 0, held=(torch.randn(3, 2), y[:3])) == {"rounds": 0}
    assert model(torch.zeros(1, 2)).item() == pytest.approx(constant_score(y, 1)[0])


def test_a_constant_is_the_mean_or_the_logits_of_shares_that_leave_no_class_without_a_chance():
    assert constant_score(torch.tensor([1.0, 4.0]), 1).tolist() == [2.5]
    assert constant_score(torch.tensor([1, 1, 1]), 1).tolist() == pytest.approx([np.log(4.0)])
    shares = np.exp(constant_score(torch.tensor([0, 2, 2]), 3))
    assert (shares / shares.sum()).tolist() == pytest.approx([2 / 6, 1 / 6, 3 / 6])
