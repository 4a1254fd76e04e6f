"""The two estimators keep scikit-learn's contract, and take frames with words."""

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.utils.estimator_checks import check_estimator

import multiway
from multiway.errors import ConfigError, DataError
from tasks.tabular.rows import patients

QUICK = {"model": {"hidden": [16]}, "training": {"learning_rate": 0.02, "patience": 0}, "draws": 0}

BY_ROWS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
"""Checks that a row of weight two is two rows, which a split may part."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimator Tabular.* does not inherit from:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("kind", [multiway.TabularClassifier, multiway.TabularRegressor])
def test_the_contract_of_scikit_learn(kind):
    estimator = kind(epochs=12, baselines=(), settings=QUICK | {"answer": "network"})
    check_estimator(estimator, expected_failed_checks=dict.fromkeys(BY_ROWS, "splits are of rows, however they count"))


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_frames_with_words(form):
    rows, y = patients(200).drop(columns="ill"), patients(200)["ill"]
    frame = rows if form == "pandas" else polars.from_pandas(rows)
    model = multiway.TabularClassifier(epochs=10, settings=QUICK).fit(frame, y)
    assert model.classes_.tolist() == ["no", "yes"] and model.feature_names_in_.tolist() == list(rows)
    assert model.score(frame, y) > 0.75
    assert model.predict_proba(frame[:5]).shape == (5, 2)
    scores = model.evaluate(frame, y)
    assert set(scores["model"]) - {"blend"} == {"network", "majority", "logistic", "trees"}
    with pytest.raises(DataError, match="matched by name, and city is lacking"):
        model.predict(rows.drop(columns="city"))


def test_classes_that_look_like_numbers_keep_their_order_and_a_run_is_stored(tmp_path):
    rows = patients(200)[["age", "weight"]].to_numpy(float)
    y = np.array(["10", "9"])[(rows[:, 0] > 50).astype(int)]
    model = multiway.TabularClassifier(epochs=10, settings=QUICK).fit(rows, y)
    assert model.classes_.tolist() == ["10", "9"] and model.score(rows, y) > 0.9
    model.save(tmp_path / "run")
    repeated = multiway.TabularClassifier.load(tmp_path / "run")
    assert repeated.classes_.tolist() == [9, 10]
    np.testing.assert_array_equal(repeated.predict(rows).astype(str), model.predict(rows))


def test_missing_numbers_and_an_unknown_layer():
    rows = patients(100)[["age", "weight"]].to_numpy(float)
    rows[::7, 1] = np.nan
    model = multiway.TabularRegressor(layer="linear", epochs=20, settings=QUICK).fit(rows, rows[:, 0] * 2)
    assert np.isfinite(model.predict(rows)).all() and model.score(rows, rows[:, 0] * 2) > 0.5
    with pytest.raises(ConfigError, match="layer"):
        multiway.TabularRegressor(layer="dense").fit(rows, rows[:, 0])
    assert isinstance(pd.DataFrame(model.scores_), pd.DataFrame)


def test_truth_values_that_may_be_missing_are_classes():
    rows, ill = patients(200).drop(columns="ill"), patients(200)["ill"] == "yes"
    model = multiway.TabularClassifier(epochs=1, settings=QUICK).fit(rows, ill.astype("boolean"))
    assert model.classes_.tolist() == [False, True] and model.predict(rows).dtype == bool
    assert model.score(rows, ill) > 0.75
